"""`find_best` with plain functions: what is found, what is spent, what is said, what is refused."""

import itertools
import math
import re
import threading
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from boxthirding.errors import ArmsUnavailable, EvaluationFailed, InvalidInput, UnknownLabel
from boxthirding.find import Examples, find_best, find_best_async
from boxthirding.policies import BoxThirding, SequentialHalving, Uniform
from boxthirding.session import Session

QUIET = {"progress": False}
MEANS = {"ann": 0.1, "bob": 0.9, "cid": 0.5}


def noisy(means, seed=0):
    """Return an evaluate with Gaussian noise on these means, indexed by arm."""
    rng = np.random.default_rng(seed)
    return lambda arm: means[arm] + rng.normal(0, 0.1)


class Tensor:
    """A number as other packages have it: no number to Python, but float() takes it."""

    shape = ()

    def __float__(self):
        return 0.5


class Counting:
    """An evaluate that counts its calls."""

    def __init__(self, evaluate):
        self.evaluate, self.calls = evaluate, 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.evaluate(*arguments)


# What is found


def test_the_best_arm_is_found_and_reported():
    found = find_best(list(MEANS), noisy(MEANS), budget=60, **QUIET)
    assert (found.best, found.label, found.stopped) == ("bob", "bob", "budget")
    assert found.recommendation == found.session.recommend()
    assert [arm.label for arm in found.top(3)] == ["bob", "cid", "ann"]
    assert not found.interrupted
    assert found.arm("cid") == "cid"


@pytest.mark.parametrize("policy", [None, Uniform(), SequentialHalving(60), "us", "b3:reuse=topup", "sh"])
def test_every_way_to_name_a_policy_works(policy):
    assert find_best(list(MEANS), noisy(MEANS), budget=60, policy=policy, **QUIET).best == "bob"


def test_one_worker_takes_the_decisions_of_a_session_that_is_driven_by_hand():
    means, by_hand, seen = np.random.default_rng(1).random(50), [], []
    session = Session(50, seed=7)
    for _ in range(300):
        (ticket,) = session.ask()
        by_hand.append(ticket.label)
        session.tell(ticket, means[ticket.label])
    found = find_best(50, lambda arm: (seen.append(arm), means[arm])[1], budget=300, seed=7, **QUIET)
    assert seen == by_hand
    assert found.recommendation == session.recommend()


def test_arms_reach_evaluate_as_they_were_given():
    arms = [{"lr": 0.1}, {"lr": 0.9}, {"lr": 0.5}]
    found = find_best(arms, lambda arm: arm["lr"], budget=20, **QUIET)
    assert found.best is arms[1]
    assert found.label == 1
    named = find_best({"low": 0.1, "high": 0.9}, lambda arm: arm, budget=20, **QUIET)
    assert (named.best, named.label) == (0.9, "high")
    assert find_best(5, float, budget=30, **QUIET).best == 4


def test_arms_may_come_from_an_iterator_without_end():
    found = find_best(itertools.count(), lambda arm: -abs(arm - 20), budget=100, **QUIET)
    assert found.best == 20
    assert "of the arms" not in repr(found)


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("minimize", True, 'direction="minimize"'),
        ("maximize", True, 'direction="maximize"'),
        ("n_jobs", 8, "workers=8"),
        ("n_jobs", -1, "workers=, the number of parallel evaluations"),
    ],
)
def test_a_parameter_that_other_tools_have_is_answered_by_ours(name, value, advice):
    with pytest.raises(TypeError, match=rf"find_best\(\) has no parameter '{name}': write {advice}"):
        find_best(list(MEANS), noisy(MEANS), budget=60, **{name: value})
    with pytest.raises(TypeError, match=rf"find_best_async\(\) has no parameter '{name}': write {advice}"):
        find_best_async(list(MEANS), noisy(MEANS), budget=60, **{name: value})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda find: find([1], float, budjet=60), r"has no parameter 'budjet': did you mean 'budget'\?"),
        (
            lambda find: find([1], float, budget=60, q=1),
            "has no parameter 'q': it has arms, evaluate, budget, seconds,",
        ),
        (lambda find: find([1], budget=60), "missing a required argument: 'evaluate'"),
        (lambda find: find([1], float, 60), "too many positional arguments"),
    ],
)
@pytest.mark.parametrize("find", [find_best, find_best_async])
def test_a_call_that_does_not_fit_is_said_to_be_one_of_the_function_that_was_called(find, call, said):
    with pytest.raises(TypeError, match=rf"^{find.__name__}\(\) {said}"):
        call(find)


def test_small_numbers_can_be_good():
    found = find_best(list(MEANS), noisy(MEANS), budget=60, direction="minimize", **QUIET)
    assert found.best == "ann"
    assert found.recommendation.mean == pytest.approx(0.1, abs=0.1)


@pytest.mark.parametrize(
    "value",
    [
        1,
        0.5,
        True,
        np.float32(0.5),
        np.int64(3),
        np.True_,
        (0.5, 2),
        (1, np.float64(0.25)),
        np.array(0.5),
        Decimal("0.5"),
        Tensor(),
        (Tensor(), Tensor()),
    ],
)
def test_every_kind_of_number_is_a_result(value):
    assert find_best(3, lambda _: value, budget=5, **QUIET).spending.failures == 0


def test_history_has_the_recommendation_whenever_it_changed():
    means, session, expected = np.random.default_rng(3).random(40), Session(40), []
    for _ in range(200):
        (ticket,) = session.ask()
        session.tell(ticket, means[ticket.label])
        best = session.recommend()
        if not expected or expected[-1][1] != best.label:
            expected.append((session.pulls, best.label, best.mean))
    found = find_best(40, lambda arm: means[arm], budget=200, **QUIET)
    assert found.history == expected
    assert len(expected) > 2
    assert found.history[-1][1] == found.label


# What is spent


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("budget", [1, 2, 7, 100])
def test_a_budget_of_pulls_is_spent_to_the_last_and_not_beyond(workers, budget):
    evaluate = Counting(lambda _: 0.5)
    found = find_best(10, evaluate, budget=budget, workers=workers, **QUIET)
    assert evaluate.calls == found.spending.pulls == found.session.pulls == budget
    assert (found.spending.unit, found.spending.limit, found.spending.left) == ("pulls", budget, 0)
    assert (found.stopped, found.spending.failures, found.spending.abandoned) == ("budget", 0, 0)


def test_a_policy_that_ends_early_leaves_the_rest_of_the_budget():
    found = find_best(8, float, budget=100, policy=SequentialHalving(24), **QUIET)
    assert (found.stopped, found.best, found.spending.pulls, found.spending.left) == ("finished", 7, 24, 76)


def test_a_cost_is_what_evaluate_says():
    found = find_best(10, lambda arm: (arm, 0.25), cost=5, **QUIET)
    assert (found.stopped, found.spending.pulls, found.spending.cost, found.spending.left) == ("budget", 20, 5, 0)
    assert (found.spending.unit, found.spending.limit) == ("cost", 5)


def test_a_result_without_a_cost_costs_one():
    assert find_best(10, float, cost=5, **QUIET).spending.pulls == 5


@pytest.mark.parametrize("workers", [1, 4])
def test_a_cost_is_exceeded_by_less_than_what_was_in_flight(workers):
    found = find_best(10, lambda arm: (arm, 0.9), cost=5, workers=workers, **QUIET)
    assert 5 <= found.spending.cost < 5 + 0.9
    assert found.spending.left == 0


def test_costs_are_counted_beside_a_budget_of_pulls():
    assert find_best(10, lambda arm: (arm, 0.5), budget=8, **QUIET).spending.cost == 4


def test_a_deadline_beside_a_budget_that_ends_first():
    found = find_best(10, float, budget=20, seconds=3600, **QUIET)
    assert (found.stopped, found.spending.pulls, found.spending.unit) == ("budget", 20, "pulls")


def test_seconds_alone_end_a_run(clock):
    found = find_best(10, float, seconds=0.05, callbacks=[lambda _: clock.go()], **QUIET)
    assert found.stopped == "deadline"
    assert found.best is not None
    assert (found.spending.unit, found.spending.limit, found.spending.left) == ("seconds", 0.05, 0)


# Who evaluates


def test_one_worker_is_the_calling_thread():
    threads = set()
    find_best(3, lambda arm: (threads.add(threading.current_thread()), arm)[1], budget=9, **QUIET)
    assert threads == {threading.current_thread()}


def test_several_workers_are_threads_that_run_side_by_side():
    together = threading.Barrier(4, timeout=600)  # breaks unless four evaluations wait at the same time
    lock, now, most = threading.Lock(), [0], [0]

    def evaluate(arm):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait()
        with lock:
            now[0] -= 1
        return arm

    found = find_best(100, evaluate, budget=40, workers=4, **QUIET)
    assert (most[0], found.spending.pulls) == (4, 40)


def test_pull_k_of_every_arm_sees_the_same_example():
    seen = {}

    def evaluate(arm, example):
        seen.setdefault(arm, []).append(example)
        return arm * example

    find_best(30, evaluate, budget=200, examples=Examples(range(1, 12), repeat=True), seed=4, **QUIET)
    longest = max(seen.values(), key=len)
    assert len(longest) > 11
    assert sorted(longest[:11]) == list(range(1, 12)) != longest[:11]
    assert longest[11:] == longest[: len(longest) - 11]  # and round again
    assert all(examples == longest[: len(examples)] for examples in seen.values())


def test_the_order_of_examples_follows_from_the_seed():
    def order(seed):
        seen = []
        find_best(1, lambda _, example: seen.append(example) or 0, budget=9, examples=range(9), seed=seed, **QUIET)
        return seen

    assert order(1) == order(1) != order(2)


def test_a_retry_sees_the_example_of_the_first_attempt():
    seen = []

    def evaluate(_, example):
        seen.append(example)
        return math.nan if len(seen) == 2 else 0

    find_best(1, evaluate, budget=5, examples=range(9), on_error="withdraw", **QUIET)
    assert seen[1] == seen[2]
    assert len(set(seen)) == 4


# When an evaluation fails


def broken(arm):
    if arm == "bob":
        raise OSError(28, "disk full")
    return MEANS[arm]


def test_an_error_ends_the_run_and_nothing_is_lost():
    with pytest.raises(EvaluationFailed, match=r"arm 'bob': evaluate raised OSError: \[Errno 28\] disk full") as caught:
        find_best(list(MEANS), broken, budget=60, seed=1, **QUIET)
    assert isinstance(caught.value.__cause__, OSError)
    found = caught.value.found
    assert found.stopped == "error"
    assert found.best in {"ann", "cid"}
    assert found.spending.failures == 1
    assert found.spending.pulls == found.session.pulls + 1


def test_what_is_under_way_when_an_evaluation_fails_still_counts():
    failed, others = threading.Event(), threading.Barrier(3, timeout=600)

    def evaluate(arm):
        others.wait()
        if arm == 1:
            failed.set()
            raise ValueError
        failed.wait(60)
        return arm

    with pytest.raises(EvaluationFailed, match=r"arm 1: evaluate raised ValueError; on_error") as caught:
        find_best(3, evaluate, budget=60, workers=3, **QUIET)
    assert caught.value.found.session.pulls == 2
    assert caught.value.found.best in {0, 2}


def test_a_failing_arm_is_tried_three_times_and_withdrawn():
    evaluate = Counting(broken)
    found = find_best(list(MEANS), evaluate, budget=60, on_error="withdraw", **QUIET)
    assert (found.best, found.stopped) == ("cid", "budget")
    assert (found.spending.failures, found.spending.pulls, evaluate.calls) == (3, 60, 60)
    assert found.last_failure == "arm 'bob': evaluate raised OSError: [Errno 28] disk full"
    assert "3 evaluations failed; the last: arm 'bob': evaluate raised OSError" in repr(found)
    assert found.session.why("bob").place == "withdrawn"


def test_a_failure_that_passes_costs_its_pull_and_no_more():
    answers = iter([0.5, None, 0.5, None, None, 0.5])
    found = find_best(1, lambda _: next(answers), budget=6, on_error="withdraw", **QUIET)
    assert (found.spending.pulls, found.spending.failures, found.session.pulls) == (6, 3, 3)


def test_a_failure_costs_what_evaluations_cost_on_the_average():
    answers = iter([(1, 0.5), None, (1, 0.5), (1, 0.5)])
    found = find_best(1, lambda _: next(answers), cost=2, on_error="withdraw", **QUIET)
    assert (found.spending.pulls, found.spending.failures, found.spending.cost) == (4, 1, 2)


def test_no_arm_is_left_when_all_have_failed():
    found = find_best(4, lambda _: 1 / 0, budget=100, on_error="withdraw", **QUIET)
    assert (found.stopped, found.best, found.label, found.top(3), found.history) == ("no arms left", None, None, [], [])
    assert (found.spending.failures, found.spending.left) == (12, 88)
    assert repr(found).startswith("Nothing found: no evaluation gave a result\n  Spent 12 of 100 pulls, 88 left")
    with pytest.raises(InvalidInput, match="nothing to confirm"):
        found.confirm(1, 5)


@pytest.mark.parametrize("workers", [1, 5])
def test_an_evaluate_that_always_fails_does_not_use_up_everything(workers):
    evaluate = Counting(lambda _: 1 / 0)
    with pytest.raises(EvaluationFailed, match="the first 100 evaluations all failed; the last: arm"):
        find_best(itertools.count(), evaluate, cost=1000, on_error="withdraw", workers=workers, **QUIET)
    assert 100 <= evaluate.calls < 100 + workers


UNUSABLE = {
    "None": (None, "returned None, but must return a number or .*: is a `return` missing"),
    "NaN": (math.nan, "returned nan \\(float\\), but must return a finite number"),
    "infinity": (-math.inf, "returned -inf \\(float\\), but must return a finite number"),
    "an integer beyond floats": (10**400, "but must return a finite number"),
    "a huge number": (1e200, "the reward is 1e\\+200, but must be a finite number below 1e150"),
    "a string": ("0.5", "returned '0.5' \\(str\\), but must return a number"),
    "an array with a dimension": (np.array([0.5]), r"returned array\(\[0.5\]\) .*, but must return a number"),
    "an array of texts": (np.array("0.5"), "but must return a number"),
    "a complex number": (1j, "returned 1j \\(complex\\), but must return a number"),
    "a list": ([0.5], r"returned \[0.5\] \(list\), but must return a number"),
    "a triple": ((1, 2, 3), r"returned \(1, 2, 3\) \(tuple\), but a tuple must be \(number, cost\)"),
    "a cost below 0": ((1, -2), "returned the cost -2 \\(int\\), but it must be a finite number above 0"),
    "a cost of 0": ((1, 0), "returned the cost 0 \\(int\\), but it must be a finite number above 0"),
    "a cost that is no number": ((1, None), "returned the cost None, but it must be a finite number"),
    "an endless cost": ((1, math.inf), "returned the cost inf \\(float\\), but it must be a finite number"),
}


@pytest.mark.parametrize("case", UNUSABLE)
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_no_result_is_a_failure_that_says_what_came_back(case, workers):
    value, message = UNUSABLE[case]
    with pytest.raises(EvaluationFailed, match=f"arm 0: .*{message}"):
        find_best(1, lambda _: value, budget=5, workers=workers, **QUIET)
    found = find_best(1, lambda _: value, budget=5, on_error="withdraw", workers=workers, **QUIET)
    assert (found.stopped, found.spending.failures) == ("no arms left", 3)


def test_a_coroutine_that_nobody_awaits_is_named():
    async def score(arm):
        return arm

    with pytest.raises(EvaluationFailed, match=r"returned a coroutine, .* `async def`"):
        find_best(1, lambda arm: score(arm), budget=5, **QUIET)  # noqa: PLW0108  # hides the coroutine function


def test_a_program_that_exits_inside_evaluate_exits():
    for workers in (1, 2):
        with pytest.raises(SystemExit, match="3") as caught:
            find_best(3, lambda _: exit(3), budget=5, workers=workers, on_error="withdraw", **QUIET)  # noqa: PLR1722
        assert caught.value.found.stopped == "error"


QUESTIONS = [{"question": f"q{number}", "answer": number} for number in range(6)]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(QUESTIONS),
        pd.DataFrame(QUESTIONS, index=[7, 7, 3, 2, 1, 0]),
        pl.DataFrame(QUESTIONS),
        pa.Table.from_pylist(QUESTIONS),
    ],
    ids=["pandas", "an index", "polars", "pyarrow"],
)
def test_the_rows_of_a_table_are_examples(table):
    seen = []
    find_best(2, lambda _, row: seen.append(row) or row["answer"], budget=12, policy="us", examples=table, **QUIET)
    assert sorted(seen[::2], key=lambda row: row["answer"]) == QUESTIONS


def test_the_values_of_a_series_are_examples_whatever_its_index_is():
    seen = []
    texts = pd.Series(["a", "b", "c"], index=[2, 0, 9])
    find_best(1, lambda _, text: seen.append(text) or 0.5, budget=3, examples=texts, **QUIET)
    assert sorted(seen) == ["a", "b", "c"]


def test_a_table_that_has_no_rows_yet_is_refused_as_examples():
    with pytest.raises(InvalidInput, match=r"examples is a polars LazyFrame, .*: give examples\.collect\(\)"):
        find_best(2, lambda *_: 1.0, budget=12, examples=pl.LazyFrame(QUESTIONS), **QUIET)


def test_an_example_that_cannot_be_had_is_a_failed_evaluation():
    class Missing(list):
        def __getitem__(self, index):
            raise KeyError(index)

    with pytest.raises(EvaluationFailed, match="evaluate raised KeyError"):
        find_best(3, lambda *_: 0, budget=5, examples=Missing([1]), **QUIET)


# Arms that stop coming


def test_an_iterator_that_raises_ends_the_run_and_nothing_is_lost():
    def arms():
        yield from range(5)
        raise OSError("connection lost")

    with pytest.raises(ArmsUnavailable, match="connection lost") as caught:
        find_best(arms(), float, budget=50, **QUIET)
    found = caught.value.found
    assert found.stopped == "error"
    assert found.best is not None
    assert found.session.pulls == found.spending.pulls > 0
    assert "ask again" not in str(caught.value)


def test_an_iterator_that_gives_a_label_twice_ends_the_run_and_nothing_is_lost():
    with pytest.raises(ArmsUnavailable, match="the iterator gave 'b'") as caught:
        find_best(iter("abcb"), ord, budget=50, workers=2, **QUIET)
    assert caught.value.found.best in set("abc")
    assert "ask again" not in str(caught.value)


def test_an_iterator_that_raises_at_once_is_refused():
    def arms():
        raise OSError("no connection")
        yield

    with pytest.raises(ArmsUnavailable, match="no connection") as caught:
        find_best(arms(), float, budget=50, **QUIET)
    assert caught.value.found is None
    assert "ask again" not in str(caught.value)


# What is said


def test_the_plan_and_what_was_spent_go_to_stderr(capsys):
    found = find_best(5513, float, budget=2_000, workers=1, policy="b3")
    printed = capsys.readouterr()
    assert printed.out == ""
    plan, end = printed.err.splitlines()
    assert plan == "5,513 arms, 2,000 pulls, 1 worker."
    mean, pulls = found.recommendation.mean, found.recommendation.pulls
    assert end.startswith(
        f"Best: {found.label}, mean {mean:,.0f} over {pulls} pulls; spent 2,000 of 2,000 pulls, 0 left, in "
    )
    assert end.endswith(" s; the budget is spent.")


def test_a_policy_that_plans_for_more_is_announced(capsys):
    assert find_best(8, float, budget=20, policy=SequentialHalving(24)).stopped == "budget"
    assert "\nThe policy plans for 24 pulls, and will be cut short.\n" in capsys.readouterr().err


def test_too_many_workers_are_advised_against(capsys):
    find_best(100, float, budget=500, workers=8)
    assert "\nFor 500 pulls at most 5 workers would be better: " in capsys.readouterr().err
    find_best(100, float, budget=500, workers=5)
    assert "would be better" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("limits", "arms", "plan"),
    [
        ({"cost": 5}, 10, "10 arms, a total cost of 5, 1 worker."),
        ({"seconds": 0.01}, 10, "10 arms, at most 0.01 s, 1 worker."),
        ({"cost": 5, "seconds": 60}, 10, "10 arms, a total cost of 5, at most 60 s, 1 worker."),
        ({"budget": 5}, iter(range(9)), "arms from an iterator, 5 pulls, 1 worker.\n"),
    ],
)
def test_the_plan_says_what_is_known(limits, arms, plan, capsys):
    find_best(arms, float, **limits)
    assert capsys.readouterr().err.startswith(plan)


def test_quiet_is_quiet(capsys):
    find_best(10, float, budget=50, workers=4, **QUIET)
    assert capsys.readouterr() == ("", "")


def test_failures_and_an_error_are_said(capsys):
    find_best(list(MEANS), broken, budget=60, on_error="withdraw")
    assert capsys.readouterr().err.endswith(
        "3 evaluations failed; the last: arm 'bob': evaluate raised OSError: [Errno 28] disk full\n1 arm is withdrawn\n"
    )
    with pytest.raises(EvaluationFailed):
        find_best(["bob"], broken, budget=60)
    assert "No result; spent 1 of 60 pulls, 59 left" in capsys.readouterr().err


@pytest.mark.usefixtures("clock")
def test_a_terminal_gets_a_line_that_is_kept_up_to_date(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("boxthirding._progress._PAUSE", 0)
    monkeypatch.setenv("COLUMNS", "90")
    find_best({"a" * 200: 0, "b" * 200: 1}, float, budget=5)
    err = capsys.readouterr().err
    assert re.search(r"\r [ \d]\d%\|.*\| \d/5 pulls \[00:00, about 1 s left, best so far '(a{5}|b{5})", err)
    assert all(len(line) < 95 for line in err.split("\r") if "best so far" in line)
    assert err.split("\r")[-1].startswith("Best: 'bbbb")


@pytest.mark.parametrize("limits", [{"budget": 1}, {"cost": 1}])
def test_one_pull_is_not_called_pulls(limits):
    assert not re.search(r"\b1 pulls", repr(find_best(3, float, **limits, **QUIET)))


# Bad input


REFUSED = {
    "no budget": ({"budget": None}, r"no budget: pass budget= \(pulls\), cost= .* or seconds="),
    "budget 0": ({"budget": 0}, "budget is 0, but must be at least 1"),
    "a budget below 0": ({"budget": -3}, "budget is -3"),
    "half a pull": ({"budget": 2.5}, "budget is 2.5, but must be a whole number"),
    "two budgets": ({"cost": 3}, "budget is 9 pulls and cost is 3, .* one budget in one unit: leave one out"),
    "cost 0": ({"budget": None, "cost": 0}, "cost is 0, but must be a finite number above 0"),
    "an endless cost": ({"budget": None, "cost": math.inf}, "cost is inf"),
    "a cost in words": ({"budget": None, "cost": "5"}, "cost is '5'"),
    "seconds 0": ({"seconds": 0}, "seconds is 0, but must be a finite number above 0"),
    "seconds below 0": ({"seconds": -1.5}, "seconds is -1.5"),
    "seconds that are no number": ({"seconds": math.nan}, "seconds is nan"),
    "no workers": ({"workers": 0}, "workers is 0, but must be at least 1"),
    "half a worker": ({"workers": 1.5}, "workers is 1.5, but must be a whole number"),
    "a number for an executor": ({"executor": 4}, r"executor is 4 \(int\), but must be a concurrent.futures.Executor"),
    "an unknown policy": ({"policy": "best"}, "policy is 'best', but must be one of"),
    "a number for a policy": ({"policy": 42}, r"policy is 42, but must be a policy such as BoxThirding\(\) or a SPEC"),
    "a policy class": ({"policy": BoxThirding}, r"but must be a policy such as BoxThirding\(\) or a SPEC"),
    "a budget that is not known": ({"budget": None, "seconds": 1, "policy": "sh"}, "sh must be told budget"),
    "a seed below 0": ({"seed": -1}, "seed is -1"),
    "another direction": ({"direction": "up"}, "direction is 'up', but must be maximize or minimize"),
    "another on_error": ({"on_error": "ignore"}, "on_error is 'ignore', but must be raise or withdraw"),
    "an evaluate that is no function": ({"evaluate": 3}, "evaluate is 3 \\(int\\), but must be a function"),
    "no examples": ({"examples": []}, "examples is empty"),
    "examples that pass by": ({"examples": iter([1])}, "examples is of type list_iterator, but must be a sequence"),
    "a text for examples": ({"examples": "abc"}, "examples is of type str, but must be a sequence"),
    "examples by name": ({"examples": {"a": 1}}, "examples is of type dict, but must be a sequence"),
    "no arms": ({"arms": []}, "no arms"),
    "a text for arms": ({"arms": "abc"}, "arms is the text 'abc'"),
    "duplicate labels": ({"arms": ["a", "b", "a"]}, "0 and 2, but a label must be unique: leave one out, or"),
    "an iterator without arms": ({"arms": iter([])}, "the iterator gave no arm"),
    "an iterator for a policy that must count": ({"arms": iter("ab"), "policy": "sh"}, "must know how many arms"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_before_anything_runs(case, capsys):
    changed, message = REFUSED[case]
    options = {"arms": 3, "evaluate": lambda *_: pytest.fail("something ran"), "budget": 9} | changed
    with pytest.raises(InvalidInput, match=message):
        find_best(**options)
    assert capsys.readouterr() == ("", "")


def test_a_label_that_no_arm_has_is_unknown():
    with pytest.raises(UnknownLabel, match="'zoe' does not exist"):
        find_best(list(MEANS), noisy(MEANS), budget=9, **QUIET).arm("zoe")
