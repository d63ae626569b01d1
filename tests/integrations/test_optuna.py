"""Optuna: the sampler, the recommendation, and a race of a study's candidates."""

import random
import subprocess
import sys

import optuna
import pytest

from boxthirding.integrations import race
from boxthirding.integrations.optuna import ARM, BoxThirdingSampler, from_objective, from_optuna, recommend

optuna.logging.set_verbosity(optuna.logging.ERROR)


def noisy(seed=1):
    draw = random.Random(seed)

    def objective(trial):
        return (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + draw.gauss(0, 0.3)

    return objective


def truth(params):
    return (params["x"] - 0.3) ** 2


def candidates_of(study):
    return {trial.system_attrs[ARM] for trial in study.trials}


# The sampler


def test_promising_candidates_are_repeated_and_the_rest_is_not():
    study = optuna.create_study(sampler=BoxThirdingSampler(50, seed=1))
    study.optimize(noisy(), n_trials=300)
    by_candidate = {}
    for trial in study.trials:
        by_candidate.setdefault(trial.system_attrs[ARM], []).append(trial.params)
    assert all(params == same[0] for same in by_candidate.values() for params in same)
    assert len(by_candidate) == 50
    assert max(map(len, by_candidate.values())) > 20
    assert min(map(len, by_candidate.values())) <= 3


def test_what_is_recommended_is_better_than_the_luckiest_of_as_many_trials():
    regrets = []
    for seed in range(12):  # fixed seeds: the same every time
        ours = optuna.create_study(sampler=BoxThirdingSampler(40, seed=seed))
        ours.optimize(noisy(seed), n_trials=200)
        others = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
        others.optimize(noisy(seed), n_trials=200)
        regrets.append((truth(recommend(ours).params), truth(others.best_params)))
    ours, lucky = (sum(part) / 12 for part in zip(*regrets, strict=True))
    assert ours < 0.75 * lucky


def test_given_parameter_sets_are_raced():
    sets = [{"x": value / 10} for value in range(11)]
    study = optuna.create_study(direction="maximize", sampler=BoxThirdingSampler(sets, seed=3))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=60)
    best = recommend(study)
    assert best.params == {"x": 1.0}
    assert best.value == 1.0
    assert {trial.params["x"] for trial in study.trials} <= {one["x"] for one in sets}
    assert len(best.trials) == len([trial for trial in study.trials if trial.params == best.params])


def test_jobs_in_parallel_give_each_candidate_one_set_of_parameters():
    study = optuna.create_study(sampler=BoxThirdingSampler(9, seed=1))

    def objective(trial):
        return trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 0, 100)

    study.optimize(objective, n_trials=120, n_jobs=4)
    sets = {(trial.system_attrs[ARM], *trial.params.values()) for trial in study.trials}
    assert len(study.trials) == 120
    assert len(sets) == len(candidates_of(study)) <= 9


WORKER = """
import optuna, sys
from boxthirding.integrations.optuna import BoxThirdingSampler
study = optuna.load_study(study_name="shared", storage=sys.argv[1], sampler=BoxThirdingSampler(12))
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=30)
"""


def test_several_processes_share_a_storage_and_another_resumes(tmp_path):
    storage = f"sqlite:///{tmp_path}/shared.db"
    optuna.create_study(study_name="shared", storage=storage, direction="maximize")
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, storage]) for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    study = optuna.load_study(study_name="shared", storage=storage, sampler=BoxThirdingSampler(12))
    assert len(study.trials) == 60
    before = {tuple(trial.params.items()) for trial in study.trials}
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=20)
    again = {tuple(trial.params.items()) for trial in study.trials[60:]}
    assert again <= before  # all candidates were known: it goes on with theirs
    assert recommend(study).params == study.best_params  # no noise


def test_trials_of_other_samplers_are_candidates_too():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(noisy(), n_trials=20)
    study.sampler = BoxThirdingSampler(20, seed=1)
    study.optimize(noisy(2), n_trials=100)
    first = {trial.params["x"] for trial in study.trials[:20]}
    assert {trial.params["x"] for trial in study.trials[20:]} <= first


def test_an_enqueued_trial_keeps_its_parameters():
    study = optuna.create_study(sampler=BoxThirdingSampler(5, seed=1))
    study.optimize(noisy(), n_trials=3)
    study.enqueue_trial({"x": 0.125})
    study.optimize(noisy(), n_trials=30)
    enqueued = study.trials[3]
    assert enqueued.params == {"x": 0.125}
    assert all(
        trial.params == study.trials[trial.system_attrs[ARM]].params
        for trial in study.trials
        if trial.number != enqueued.number
    )


@pytest.mark.parametrize("candidates", [[{"x": 1}, {"x": 2}], 2])
def test_an_enqueued_trial_is_a_candidate_and_its_value_is_of_no_other(candidates):
    study = optuna.create_study(direction="maximize", sampler=BoxThirdingSampler(candidates, seed=1))
    for _ in range(3):
        study.enqueue_trial({"x": 9})
    study.optimize(lambda trial: float(trial.suggest_int("x", 0, 9)), n_trials=20)
    tried = [trial.params["x"] for trial in study.trials]
    assert tried[:3] == [9, 9, 9]
    assert tried[3:].count(9) > 10  # the best is repeated
    by_candidate = {}
    for trial in study.trials[3:]:
        by_candidate.setdefault(trial.system_attrs[ARM], set()).add(trial.value)
    assert all(len(values) == 1 for values in by_candidate.values())


def test_a_trial_that_comes_with_its_parameters_keeps_its_candidate():
    study = optuna.create_study(direction="maximize", sampler=BoxThirdingSampler([{"x": 1}, {"x": 2}], seed=1))
    distributions = {"x": optuna.distributions.IntDistribution(0, 9)}
    waiting = optuna.trial.TrialState.WAITING
    again = optuna.trial.create_trial(  # as RetryFailedTrialCallback adds it
        state=waiting, params={"x": 1}, distributions=distributions, system_attrs={ARM: "set 0"}
    )
    study.add_trials([again] * 3)
    study.optimize(lambda trial: float(trial.suggest_int("x", 0, 9)), n_trials=10)
    assert [trial.system_attrs[ARM] for trial in study.trials[:3]] == ["set 0"] * 3
    assert all(trial.system_attrs[ARM] == f"set {trial.params['x'] - 1}" for trial in study.trials)


def test_a_seeded_study_that_resumes_draws_new_candidates():
    storage = optuna.storages.InMemoryStorage()
    for _ in range(10):
        study = optuna.create_study(
            storage=storage, study_name="a", load_if_exists=True, sampler=BoxThirdingSampler(20, seed=1)
        )
        study.optimize(noisy(), n_trials=5)
    assert len({trial.params["x"] for trial in study.trials}) == 20


@pytest.mark.parametrize("error", [optuna.TrialPruned, RuntimeError])
def test_a_study_that_resumes_remembers_the_failures_of_its_candidates(error):
    storage = optuna.storages.InMemoryStorage()

    def objective(trial):
        x = trial.suggest_float("x", -1, 1)
        if x < 0:
            raise error
        return x + trial.suggest_float("y", 0, 1)

    for _ in range(20):
        study = optuna.create_study(
            storage=storage, study_name="a", load_if_exists=True, sampler=BoxThirdingSampler(5, seed=1)
        )
        study.optimize(objective, n_trials=3, catch=(RuntimeError,))
    tried = [trial.params["x"] for trial in study.trials]
    assert len(set(tried)) == 5
    assert any(x < 0 for x in tried)
    assert all(tried.count(x) == 3 for x in tried if x < 0)


def test_a_study_that_resumes_with_another_list_takes_no_trial_for_one_of_another_set():
    storage = optuna.storages.InMemoryStorage()

    def objective(trial):
        if trial.suggest_int("x", 0, 9) == 1:
            raise optuna.TrialPruned
        return 0.0

    for sets in ([{"x": 1}], [{"x": 2}]):
        study = optuna.create_study(
            storage=storage, study_name="a", load_if_exists=True, sampler=BoxThirdingSampler(sets, seed=1)
        )
        study.optimize(objective, n_trials=2)
    study.sampler = BoxThirdingSampler([{"x": 2}], seed=1)
    study.optimize(objective, n_trials=2)
    assert [trial.params["x"] for trial in study.trials] == [1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("candidates", [[{"x": 0.25}, {"x": 0.5}], 2])
@pytest.mark.parametrize("jobs", [1, 3])
def test_a_study_stops_with_a_warning_when_every_candidate_was_given_up(candidates, jobs):
    study = optuna.create_study(sampler=BoxThirdingSampler(candidates, seed=1))

    def objective(trial):
        trial.suggest_float("x", 0, 1)
        raise optuna.TrialPruned

    with pytest.warns(UserWarning, match="Every candidate failed 3 times in a row") as heard:
        study.optimize(objective, n_trials=30, n_jobs=jobs)
    assert len(heard) <= jobs
    assert 6 <= len(study.trials) <= 6 + jobs - 1
    assert len({trial.params["x"] for trial in study.trials}) == 2
    with pytest.warns(UserWarning, match="Every candidate failed 3 times in a row"):
        study.optimize(objective, n_trials=30)
    with pytest.warns(UserWarning, match="Every candidate failed 3 times in a row"):
        study.ask().suggest_float("x", 0, 1)  # in the user's own loop, it only warns
    assert len({trial.params["x"] for trial in study.trials}) == 2


def test_a_full_sampler_takes_all_that_is_in_the_storage():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1), direction="maximize")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=9)
    study.sampler = BoxThirdingSampler(3, seed=1)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=20)
    assert study.trials[-1].params == study.best_params  # whichever of the nine it is
    assert len({trial.params["x"] for trial in study.trials}) == 9


def test_equal_parameter_sets_are_one_candidate():
    study = optuna.create_study(sampler=BoxThirdingSampler([{"x": 1}, {"x": 1}, {"x": 2}], seed=1))
    study.optimize(lambda trial: float(trial.suggest_int("x", 0, 9)), n_trials=20)
    assert candidates_of(study) == {"set 0", "set 1"}


def test_failed_and_pruned_trials_are_failures_of_their_candidate():
    study = optuna.create_study(
        direction="maximize", sampler=BoxThirdingSampler([{"x": 0}, {"x": 1}, {"x": 2}], seed=1)
    )

    def objective(trial):
        x = trial.suggest_int("x", 0, 2)
        if x == 2:
            raise optuna.TrialPruned
        return float(x) if x == 1 else float("nan")

    study.optimize(objective, n_trials=40)
    assert recommend(study).params == {"x": 1}
    states = [trial.state.name for trial in study.trials if trial.params["x"] != 1]
    assert len(states) == 6  # each of the others failed three times, and was given up


def test_the_sampler_can_be_pickled_and_sent_to_a_process():
    import pickle

    study = optuna.create_study(sampler=BoxThirdingSampler(5, seed=1))
    study.optimize(noisy(), n_trials=10)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))  # noqa: S301  # its own
    study.optimize(noisy(), n_trials=20)
    assert len({tuple(trial.params.items()) for trial in study.trials}) == 5


# Bad input


def test_several_objectives_are_refused():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=BoxThirdingSampler(5))
    with pytest.raises(ValueError, match="2 objectives, but the best on average is defined for one"):
        study.ask()
    with pytest.raises(ValueError, match="2 objectives"):
        recommend(study)
    with pytest.raises(ValueError, match="2 objectives"):
        from_optuna(study)


def test_a_study_without_results_has_nothing_to_recommend():
    study = optuna.create_study()
    for asked in (recommend, from_optuna):
        with pytest.raises(ValueError, match="No trials are completed yet"):
            asked(study)


def test_a_parameter_that_a_given_set_lacks_is_drawn_once_and_said():
    study = optuna.create_study(sampler=BoxThirdingSampler([{"x": 0.5}], seed=1))
    with pytest.warns(UserWarning, match="The parameter 'y' of trial 0 is not in its candidate") as heard:
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1), n_trials=4)
    assert len(heard) == 1
    assert len({trial.params["y"] for trial in study.trials}) == 1


def test_a_candidate_out_of_range_is_said_and_given_up_after_three_trials():
    study = optuna.create_study(sampler=BoxThirdingSampler([{"x": 5.0}, {"x": 0.5}], seed=1))
    with pytest.warns(UserWarning, match="is 5.0 in its candidate, which is out of range") as heard:
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=12)
    assert len(heard) == 3
    assert [trial.params["x"] for trial in study.trials].count(0.5) == 12 - 3
    assert all(trial.state.name == "COMPLETE" for trial in study.trials)


def test_infinite_values_end_no_study_and_their_candidates_are_left_out_with_a_warning():
    study = optuna.create_study(sampler=BoxThirdingSampler([{"x": 0}, {"x": 1}, {"x": 2}], seed=1))
    study.optimize(lambda trial: [float("-inf"), 1.0, float("inf")][trial.suggest_int("x", 0, 2)], n_trials=30)
    assert [trial.params["x"] for trial in study.trials].count(1) == 30 - 3 - 3
    study.sampler = BoxThirdingSampler([{"x": 0}, {"x": 1}, {"x": 2}], seed=1)
    study.optimize(lambda trial: float(trial.suggest_int("x", 0, 2)), n_trials=1)  # which takes all trials before it
    with pytest.warns(UserWarning, match="2 of 3 candidates are left out: they have infinite values"):
        assert recommend(study).params == {"x": 1}
    with pytest.warns(UserWarning, match="2 of 3 candidates are left out"):
        assert list(from_optuna(study).arms.values()) == [{"x": 1}]


def test_a_study_of_infinite_values_alone_has_nothing_to_recommend():
    study = optuna.create_study()
    study.optimize(lambda trial: trial.suggest_int("x", 0, 2) + float("inf"), n_trials=5)
    with pytest.raises(ValueError, match="candidates of the study have infinite values"):
        recommend(study)


def test_no_candidates_are_refused():
    with pytest.raises(ValueError, match=r"candidates is \[\], but must be a whole number, or a list"):
        BoxThirdingSampler([])
    with pytest.raises(ValueError, match="candidates is 0, but must be at least 1"):
        BoxThirdingSampler(0)


def test_a_policy_that_takes_no_known_results_is_refused_before_the_first_trial():
    with pytest.raises(ValueError, match=r"policy is 'sh:budget=60', but must be .* one of b3, chase"):
        BoxThirdingSampler(9, policy="sh:budget=60")
    study = optuna.create_study()
    study.optimize(noisy(), n_trials=3)
    with pytest.raises(ValueError, match="policy is 'sh:budget=60', but must be"):
        recommend(study, "sh:budget=60")


@pytest.mark.parametrize("candidates", ["40", [3], {"x": [0.1, 0.2]}, 2.5])
def test_what_is_no_list_of_parameter_sets_is_refused(candidates):
    with pytest.raises(ValueError, match=r"candidates is .*, but must be a whole number, or a list of parameter sets"):
        BoxThirdingSampler(candidates)


def test_what_is_no_study_is_refused():
    for asked in (recommend, from_optuna):
        with pytest.raises(TypeError, match=r"study is 'study.db', but must be an optuna.Study"):
            asked("study.db")


# A race of a study's candidates


def test_the_trials_of_a_study_are_candidates_whose_values_are_known():
    study = optuna.create_study(direction="maximize")
    study.add_trials(
        [
            optuna.trial.create_trial(
                params={"x": x}, distributions={"x": optuna.distributions.FloatDistribution(0, 1)}, value=value
            )
            for x, value in [(0.1, 1.0), (0.2, 2.0), (0.1, 3.0)]
        ]
    )
    study.add_trial(optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL))
    candidates = from_optuna(study)
    assert candidates.arms == {0: {"x": 0.1}, 1: {"x": 0.2}}
    assert candidates.known == {0: [1.0, 3.0], 1: [2.0]}
    assert candidates.direction == "maximize"


def test_a_race_after_a_study_finds_what_is_truly_best_and_confirms_it():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(noisy(3), n_trials=60)
    found = race(from_optuna(study), from_objective(noisy(4)), budget=400, progress=False)
    assert found.session.direction == "minimize"
    assert truth(found.best) < truth(study.best_params)
    assert found.session.view().pulls == 460
    confirmed = found.confirm(2, pulls=20)
    assert [arm.pulls for arm in confirmed.arms] == [20, 20]


def test_a_race_names_trials_by_their_parameters():
    draw = random.Random(1)

    def objective(trial):
        trial.suggest_categorical("model", ["small"])
        return trial.suggest_float("rate", 0, 1) / 100 + trial.suggest_int("depth", 1, 3) / 100 + draw.gauss(0, 0.3)

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(objective, n_trials=40)
    found = race(from_optuna(study), from_objective(objective), budget=120, progress=False)
    _, *others = [found.arm(arm.label) for arm in found.top(4)]
    named = [f"(rate={params['rate']:.4g}, depth={params['depth']})" for params in others]
    trust = next(line for line in str(found).splitlines() if "may be as good or better" in line)
    assert [trust.count(name) for name in named] == [1, 1, 1]
    assert all(name in found._repr_html_() for name in named)


def test_parameters_that_differ_between_trials_are_said():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))

    def objective(trial):
        kind = trial.suggest_categorical("kind", ["a", "b"])
        return trial.suggest_float(f"of_{kind}", 0, 1)

    study.optimize(objective, n_trials=10)
    with pytest.warns(UserWarning, match="of_a, of_b are not in all of them"):
        candidates = from_optuna(study)
    found = race(candidates, from_objective(objective), budget=30, progress=False)
    assert set(found.best) in ({"kind", "of_a"}, {"kind", "of_b"})
