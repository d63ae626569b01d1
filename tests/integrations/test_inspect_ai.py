"""inspect_ai: races of prompts, solvers and models, with its own mock model, in real logs."""

import asyncio
import random

import pytest
from inspect_ai import eval as evaluate
from inspect_ai import eval_retry, task
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, match, scorer
from inspect_ai.solver import solver

from boxthirding.errors import InvalidInput
from boxthirding.integrations.inspect_ai import racing, standings, summary

# Its own packages warn of each other, and leave streams to the garbage collector.
pytestmark = [
    pytest.mark.usefixtures("tidy"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DATASET = [Sample(input=f"What is {n} + {n}?", target=str(2 * n), id=f"case {n}") for n in range(40)]
PROMPTS = {"good": "Be right.", "fair": "Be right now and then.", "bad": "Be wrong."}
RUN = {"display": "none", "log_format": "json", "log_realtime": False}


def output(text):
    """Return what a model says, with its usage: the mock model would count tokens with a file from the network."""
    said = ModelOutput.from_content("mockllm/model", text)
    said.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return said


def answer(messages, *_):
    """Answer as the prompt says: what the mock model calls."""
    prompt = messages[0].text
    number = int(messages[-1].text.split()[2])
    right = prompt == PROMPTS["good"] or (prompt == PROMPTS["fair"] and number % 2)
    return output(str(2 * number) if right else "none")


def mock():
    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def run(one, tmp_path, **options):
    (log,) = evaluate(one, model=mock(), log_dir=str(tmp_path), **RUN, **options)
    return log


def test_prompts_are_raced_in_one_log_within_the_budget(tmp_path):
    log = run(racing(DATASET, PROMPTS, budget=40, scorer=match()), tmp_path)
    assert log.status == "success"
    assert len(log.samples) == 40
    best = standings(log)[0]
    assert (best.label, best.mean) == ("good", 1.0)
    text = summary(log)
    assert text.startswith("Best: 'good', the best of 3 arms tried on 40 samples")
    assert "mean 1 over" in text
    assert next(iter(log.results.scores[0].metrics)) == "good"  # the metrics of the log are the means of the best arms


def test_a_pair_of_arm_and_sample_is_run_once(tmp_path):
    log = run(racing(DATASET, list(PROMPTS.values()), budget=50, scorer=match(), workers=4), tmp_path)
    ids = [sample.id for sample in log.samples]
    assert len(set(ids)) == len(ids)


def test_a_dataset_that_runs_out_ends_the_race(tmp_path):
    log = run(racing(DATASET[:4], PROMPTS, budget=500, scorer=match()), tmp_path)
    assert log.status == "success"
    assert len(log.samples) <= 12


@solver
def says(text):
    async def solve(state, generate):  # noqa: ARG001  # what every solver is given
        state.output = output(text)
        return state

    return solve


def test_solvers_and_models_are_arms_too(tmp_path):
    dataset = [Sample(input="Say yes", target="yes", id=n) for n in range(20)]
    log = run(racing(dataset, {"yes": says("yes"), "no": says("no")}, budget=24, scorer=match()), tmp_path)
    assert standings(log)[0].label == "yes"
    models = {
        text: get_model("mockllm/model", custom_outputs=lambda *_, text=text: output(text), memoize=False)
        for text in ("yes", "no")
    }
    log = run(racing(dataset, models, budget=24, scorer=match()), tmp_path)
    assert standings(log)[0].label == "yes"


CALLS = []
BROKEN = []


@scorer(metrics=[accuracy()])
def counting():
    async def score(state, target):
        CALLS.append(state.sample_id)
        if len(CALLS) == 25 and not BROKEN:
            BROKEN.append(True)
            raise RuntimeError("the service is down")
        return Score(value=1.0 if state.output.completion == target.text else 0.0)

    return score


@task
def prompts():
    return racing(DATASET, PROMPTS, budget=40, scorer=counting(), workers=5)


def test_a_log_that_ended_with_an_error_resumes_by_retry_without_running_samples_again(tmp_path):
    CALLS.clear()
    BROKEN.clear()
    log = run(prompts(), tmp_path)
    assert log.status == "error"
    done = {sample.id for sample in log.samples if sample.scores}
    assert len(done) >= 15
    CALLS.clear()
    (again,) = eval_retry(log, log_dir=str(tmp_path), display="none", log_format="json")
    assert again.status == "success"
    assert len(again.samples) == 40
    assert done <= {sample.id for sample in again.samples}
    assert not done.intersection(CALLS)  # nothing that had a score was run again
    assert standings(again)[0].label == "good"


@pytest.mark.parametrize("seed", range(5))
def test_what_is_asked_for_does_not_depend_on_the_order_of_completion(seed):
    def asked(draw):
        arms = {str(n): f"Be right {n} times of 10." for n in range(10)}
        race = racing(DATASET, arms, budget=150, scorer=match(), seed=seed)
        flying, ids = list(race.dataset), []
        while flying:
            sample = flying.pop(draw(len(flying)))
            ids.append(sample.id)
            chance = 0.2 + 0.07 * int(sample.metadata["arm"])
            value = float(random.Random(f"{seed} {sample.id}").random() < chance)
            done = EvalSample(id=sample.id, epoch=1, input="", target="", scores={"match": Score(value=value)})
            flying += asyncio.run(race.sample_source.sample_complete(done)) or ()
        return ids

    assert set(asked(lambda _: 0)) == set(asked(random.Random(seed).randrange))


@scorer(metrics=[accuracy()])
def faulty():
    async def score(state, target):
        if state.metadata["arm"] == "bad":
            return Score(value=float("nan"))
        return Score(value=1.0 if state.output.completion == target.text else 0.0)

    return score


def test_an_arm_whose_metric_returns_nan_is_given_up(tmp_path):
    log = run(racing(DATASET, PROMPTS, budget=60, scorer=faulty()), tmp_path)
    assert log.status == "success"
    assert [arm.label for arm in standings(log)] == ["good", "fair"]
    assert sum(sample.metadata["arm"] == "bad" for sample in log.samples) <= 10 + 3


def test_several_scores_need_the_one_that_decides(tmp_path):
    log = run(racing(DATASET, PROMPTS, budget=30, scorer=[match(), counting()]), tmp_path)
    assert log.status == "error"
    assert "name the one that decides, score=" in log.error.message
    log = run(racing(DATASET, PROMPTS, budget=30, scorer=[match(), counting()], score="match"), tmp_path)
    assert log.status == "success"


@scorer(metrics=[accuracy()])
def worthless():
    async def score(*_):
        return Score(value=0.0)

    return score


def test_a_summary_goes_by_the_score_of_its_race(tmp_path):
    log = run(racing(DATASET, PROMPTS, budget=30, scorer=[worthless(), match()], score="match"), tmp_path)
    assert standings(log)[0][:2] == ("good", 1.0)
    assert standings(log, score="worthless")[0].mean == 0.0


def test_a_summary_goes_by_the_direction_of_its_race(tmp_path):
    task = racing(DATASET, PROMPTS, budget=40, scorer=match(), direction="minimize", metadata={"team": "ours"})
    log = run(task, tmp_path)
    assert summary(log).startswith("Best: 'bad'")
    assert summary(log, direction="maximize").startswith("Best: 'fair'")  # "good" has one sample, and "fair" many
    assert log.eval.metadata["team"] == "ours"


def test_an_arm_with_the_same_mean_over_more_samples_is_the_better_one():
    def sample(arm, n):
        right = {"match": Score(value="C")}
        return EvalSample(id=f"{arm} on {n}", epoch=1, input="", target="", metadata={"arm": arm}, scores=right)

    samples = [sample("once", 0), sample("twice", 0), *(sample("often", n) for n in range(10)), sample("twice", 1)]
    made = EvalSpec(created="2026-01-01T00:00:00Z", task="race", dataset=EvalDataset(), model="m", config=EvalConfig())
    log = EvalLog(eval=made, samples=samples)
    assert [(arm.label, arm.pulls) for arm in standings(log)] == [("often", 10), ("twice", 2), ("once", 1)]


def test_metrics_of_the_user_come_after_those_of_the_race(tmp_path):
    log = run(racing(DATASET, PROMPTS, budget=20, scorer=match(), metrics=[accuracy()]), tmp_path)
    assert log.status == "success"
    assert list(log.results.scores[0].metrics)[::3] == ["good", "accuracy"]


def test_epochs_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="epochs is 2, but a race runs a sample once with an arm"):
        racing(DATASET, PROMPTS, budget=20, scorer=match(), epochs=2)
    assert run(racing(DATASET, PROMPTS, budget=20, scorer=match(), epochs=1), tmp_path).status == "success"
    log = run(racing(DATASET, PROMPTS, budget=20, scorer=match()), tmp_path, epochs=2)
    assert log.status == "error"
    assert "epochs is 2, but a race runs a sample once with an arm" in log.error.message


def test_samples_of_one_id_are_refused():
    with pytest.raises(InvalidInput, match="2 samples of the dataset have the id 'case 7', but ids must be unique"):
        racing([*DATASET, DATASET[7]], PROMPTS, budget=20, scorer=match())


@scorer(metrics=[accuracy()])
def several():
    async def score(*_):
        return Score(value={"a": 1.0, "b": 0.0})

    return score


def test_a_score_of_several_values_is_refused(tmp_path):
    log = run(racing(DATASET, PROMPTS, budget=20, scorer=several()), tmp_path)
    assert log.status == "error"
    assert "a score is {'a': 1.0, 'b': 0.0}, but must be one value" in log.error.message
    assert summary(log) == "Nothing found: no sample has a score"


def test_an_arm_that_is_no_prompt_solver_or_model_is_refused():
    with pytest.raises(InvalidInput, match="arm 'b' is 3, but must be a prompt"):
        racing(DATASET, {"a": "Be right.", "b": 3}, budget=5, scorer=match())


@pytest.mark.parametrize("arms", [[], {}, "a prompt"])
def test_arms_that_are_none_are_refused(arms):
    with pytest.raises(InvalidInput, match="must be a mapping or a list of prompts, solvers or models"):
        racing(DATASET, arms, budget=5, scorer=match())
