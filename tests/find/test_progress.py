"""How a run says how far it is: sentences, or a function of the caller's."""

import itertools

import pytest

from boxthirding import Progress
from boxthirding._progress import in_words
from boxthirding.errors import InvalidInput
from boxthirding.find import find_best
from boxthirding.find.budget import Budget, BudgetTracker
from boxthirding.find.progress import RunReporter, progress_of
from boxthirding.session import Glance, Recommendation

QUIET = {"progress": False}


def test_a_function_hears_of_every_result_and_nothing_is_printed(capsys):
    heard = []
    found = find_best(50, float, budget=30, workers=3, progress=heard.append)
    assert capsys.readouterr() == ("", "")
    assert [progress.done for progress in heard] == list(range(1, 31))
    assert {(progress.total, progress.unit) for progress in heard} == {(30, "pulls")}
    assert all(isinstance(progress, Progress) and progress.seconds_left >= 0 for progress in heard)
    assert (heard[-1].share, heard[-1].seconds_left) == (1.0, 0.0)
    mean, pulls = found.recommendation.mean, found.recommendation.pulls
    assert heard[-1].note == f"best so far {found.label}, mean {mean:.4g} over {pulls} pulls"


def test_a_cost_is_heard_of_in_its_own_unit():
    heard = []
    find_best(50, lambda arm: (arm, 2.5), cost=10, progress=heard.append)
    assert [(progress.done, progress.total, progress.unit) for progress in heard] == [
        (spent, 10, "cost") for spent in (2.5, 5.0, 7.5, 10.0)
    ]


def test_seconds_are_heard_of_as_seconds(clock):
    heard = []
    find_best(50, float, seconds=0.05, progress=lambda progress: heard.append(progress) or clock.go())
    assert {(progress.total, progress.unit) for progress in heard} == {(0.05, "seconds")}
    assert all(progress.done == progress.seconds for progress in heard)


@pytest.mark.parametrize(
    ("limits", "pulls", "cost", "left"),
    [
        (Budget(pulls=100), 25, 0.5, 30.0),  # 25 in 10 s, so 75 in 30 s
        (Budget(cost=50.0), 4, 5.0, 15.0),  # 20 in 10 s, so 30 in 15 s
        (Budget(seconds=25.0), 4, 1.0, 15.0),
        (Budget(pulls=100, seconds=25.0), 25, 1.0, 15.0),  # the deadline comes first
        (Budget(pulls=100, seconds=90.0), 25, 1.0, 30.0),
        (Budget(pulls=100), 0, 1.0, None),
    ],
)
def test_the_time_that_is_left_follows_from_what_was_spent_here(limits, pulls, cost, left):
    now = itertools.chain([0.0], itertools.repeat(10.0))
    account, heard = BudgetTracker(limits, lambda: next(now)), []
    for _ in range(pulls):
        account.result(cost)
    RunReporter(heard.append).update(account, Glance(pulls, pulls, 0, 0, Recommendation("a", 1.0, pulls, None)))
    assert heard[0].seconds_left == (None if left is None else pytest.approx(left))


@pytest.mark.parametrize("limits", [Budget(pulls=3), Budget(cost=3.0)])
def test_the_time_that_is_left_counts_down_while_nothing_comes_in(limits):
    now = [0.0]
    account = BudgetTracker(limits, lambda: now[-1])
    now.append(2.5)
    account.result(1.0)
    left = []
    for second in (2.5, 3.5, 4.5, 9.0):
        now.append(second)
        left.append(progress_of(account, Glance(1, 1, 0, 0, None)).seconds_left)
    assert left == pytest.approx([5.0, 4.0, 3.0, 0.0])


def test_nothing_is_left_to_say_at_the_end():
    account = BudgetTracker(Budget(pulls=1))
    account.result(1.0)
    assert " left" not in in_words(progress_of(account, Glance(1, 1, 0, 0, None)))


def test_what_a_study_had_before_counts_as_done_and_not_as_fast():
    now = itertools.chain([0.0], itertools.repeat(10.0))
    account, heard = BudgetTracker(Budget(pulls=100), lambda: next(now)), []
    account.elsewhere = 50
    for _ in range(25):
        account.result(1.0)
    RunReporter(heard.append).update(account, Glance(75, 75, 0, 0, None))
    assert (heard[0].done, heard[0].seconds_left, heard[0].note) == (75, pytest.approx(10.0), "")


def test_a_study_is_heard_of_as_a_whole(tmp_path):
    study, heard = tmp_path / "run.db", []
    find_best(50, float, budget=20, study=study, **QUIET)
    find_best(50, float, budget=30, study=study, progress=heard.append)
    assert [progress.done for progress in heard] == list(range(21, 31))


def test_an_error_in_the_function_ends_the_run():
    def burst(_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        find_best(50, float, budget=20, progress=burst)


@pytest.mark.parametrize("progress", [None, 1, "yes"])
def test_anything_else_is_refused(progress):
    with pytest.raises(InvalidInput, match="must be True, False or a function that takes a Progress"):
        find_best(5, lambda _: pytest.fail("evaluated"), budget=20, progress=progress)
