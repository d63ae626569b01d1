"""`find_best` with a study: it goes on where it was, shares the budget with other processes, and loses nothing."""

import asyncio
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from stories import QUIET, score, story, story_of

from boxthirding import open_study
from boxthirding.errors import (
    EvaluationFailed,
    InvalidInput,
    StudyDiffers,
    StudyUnavailable,
    UnknownLabel,
)
from boxthirding.find import find_best, find_best_async
from boxthirding.find.budget import Budget, BudgetTracker
from boxthirding.find.search import TicketSource
from boxthirding.find.summary import format_holders
from boxthirding.session.tickets import is_worker
from boxthirding.storage.sqlite import FileNames
from boxthirding.storage.sqlite_locks import FileLock
from boxthirding.study.events import Finished


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Stopping:
    """A score that is interrupted at its calls with these numbers."""

    def __init__(self, *numbers):
        self.numbers, self.calls = numbers, itertools.count(1)

    def __call__(self, arm, example=0):
        if next(self.calls) in self.numbers:
            raise KeyboardInterrupt
        return score(arm, example)


# It goes on where it was


@pytest.mark.parametrize("policy", ["b3", "chase", "sh", "prose:sigma=0.3", "us"])
def test_a_run_that_was_interrupted_and_goes_on_equals_an_undisturbed_one(policy):
    options = {"budget": 120, "policy": policy, "examples": range(50), "seed": 4, **QUIET}
    undisturbed = find_best(300, score, study="one.db", **options)
    evaluate = Stopping(1, 2, 40, 90)
    for _ in range(4):
        assert find_best(300, evaluate, study="two.db", **options).interrupted
    found = find_best(300, evaluate, study="two.db", **options)
    assert found.recommendation == undisturbed.recommendation == find_best(300, score, **options).recommendation
    assert (found.top(9), found.session.boxes()) == (undisturbed.top(9), undisturbed.session.boxes())
    assert story("one.db") == story("two.db")


def test_a_run_that_is_finished_returns_at_once():
    first = find_best(50, score, budget=60, study="run.db", **QUIET)
    again = find_best(50, lambda _: pytest.fail("evaluated"), budget=60, study="run.db", **QUIET)
    assert (again.best, again.recommendation, again.stopped) == (first.best, first.recommendation, "budget")
    spending = again.spending
    assert (spending.pulls, spending.elsewhere, spending.left) == (0, 60, 0)
    assert str(spending).startswith("60 of 60 pulls (0 here), 0 left, in ")


def test_a_larger_budget_goes_on():
    find_best(50, score, budget=60, study="run.db", **QUIET)
    found = find_best(50, score, budget=100, study="run.db", **QUIET)
    assert (found.spending.pulls, found.spending.elsewhere, found.session.pulls) == (40, 60, 100)
    assert found.recommendation == find_best(50, score, budget=100, **QUIET).recommendation
    assert found.history[-1][1] == found.label


def test_cost_and_seconds_are_those_of_the_call():
    for total in (5, 10):
        found = find_best(50, lambda arm: (score(arm), 2.0), cost=10, study="run.db", **QUIET)
        assert (found.spending.pulls, found.spending.cost, found.session.pulls) == (5, 10, total)


def test_an_arm_that_was_evaluated_before_is_returned_as_it_was_given():
    arms = {"good": {"size": 9}, "bad": {"size": 1}}
    find_best(arms, lambda arm: arm["size"], budget=20, study="run.db", **QUIET)
    found = find_best(arms, lambda _: pytest.fail("evaluated"), budget=20, study="run.db", **QUIET)
    assert (found.best, found.arm("bad"), found.label) == ({"size": 9}, {"size": 1}, "good")
    with pytest.raises(UnknownLabel, match="ugly"):
        found.arm("ugly")
    listed = [(9,), (1,)]
    find_best(listed, lambda arm: arm[0], budget=20, study=("run.db", "listed"), **QUIET)
    assert find_best(listed, None.__class__, budget=20, study=("run.db", "listed"), **QUIET).best == (9,)


def test_fresh_pulls_meet_examples_that_no_call_has_seen():
    def evaluate(_, example):
        seen.append(example)
        return 0.5

    seen = []
    find_best(2, evaluate, budget=20, examples=range(40), study="run.db", **QUIET)
    found = find_best(2, evaluate, budget=20, examples=range(40), study="run.db", **QUIET)
    met = set(seen)
    seen.clear()
    assert found.confirm(2, pulls=10).seen == 0
    assert not met & set(seen)


def test_arms_from_an_iterator_are_drawn_once():
    drawn = []

    def arms():
        for number in itertools.count():
            drawn.append(number)
            yield number

    evaluate = Stopping(30)
    assert find_best(arms(), evaluate, budget=80, study="run.db", **QUIET).interrupted
    drawn.clear()
    found = find_best(arms(), evaluate, budget=80, study="run.db", **QUIET)
    assert found.recommendation == find_best(itertools.count(), score, budget=80, **QUIET).recommendation
    assert len(drawn) == len(set(drawn))


def test_a_study_can_be_named_and_be_anywhere_that_open_study_knows():
    for place in ("run.db", ("run.db", "other"), Path("path.db"), "sqlite:///url.db", "memory:find"):
        assert find_best(9, float, budget=30, study=place, **QUIET).best == 8
    with open_study("run.db", "other") as study:
        assert study.pulls == 30


# What is said


def test_the_plan_says_where_it_goes_on(capfd):
    find_best(50, Stopping(21), budget=60, study="run.db")
    assert "Study run.db: new.\n" in capfd.readouterr().err
    find_best(50, score, budget=60, study="run.db")
    said = capfd.readouterr().err
    assert "Study run.db: resuming from 20 pulls, 1 ticket open.\n" in said
    assert "spent 60 of 60 pulls (40 here), 0 left" in said


# Threads, coroutines, failures


def test_threads_share_a_study_and_nothing_is_evaluated_for_nothing():
    told = []
    lock = threading.Lock()

    def evaluate(arm, example):
        with lock:
            told.append((arm, example))
            if len(told) == 50:
                os.kill(os.getpid(), signal.SIGINT)
        return score(arm, example)

    options = {"budget": 200, "workers": 4, "examples": range(300), "study": "run.db", **QUIET}
    assert find_best(300, evaluate, **options).interrupted
    found = find_best(300, evaluate, **options)
    assert (found.session.pulls, found.session.open, found.stopped) == (200, 0, "budget")
    assert len(set(told)) == 200  # what was under way at Ctrl-C came again, with the same example
    assert len(told) <= 204


def test_coroutines_share_a_study():
    async def evaluate(arm):
        await asyncio.sleep(0)
        return score(arm)

    async def main():
        return await asyncio.gather(
            *(find_best_async(50, evaluate, budget=90, workers=3, study="run.db", **QUIET) for _ in range(2))
        )

    founds = asyncio.run(main())
    assert sum(found.spending.pulls for found in founds) == 90
    assert {found.session.pulls for found in founds} == {90}
    assert find_best(50, evaluate, budget=95, study="run.db", **QUIET).spending.pulls == 5


def test_an_arm_that_fails_is_withdrawn_from_the_study():
    def evaluate(arm):
        return score(arm) / (arm != 3)

    found = find_best(5, evaluate, budget=40, on_error="withdraw", study="run.db", **QUIET)
    assert found.spending.failures == 3
    assert found.session.why(3).place == "withdrawn"


def test_an_evaluation_that_failed_comes_again():
    with pytest.raises(EvaluationFailed) as failed:
        find_best(5, lambda arm: 1 / (arm - 3) if arm != 3 else None, budget=40, study="run.db", **QUIET)
    view = failed.value.found.session.view()
    assert (view.open, view.holders) == (1, {})  # let go, though the result is still here
    found = find_best(5, score, budget=40, study="run.db", **QUIET)
    assert (found.session.pulls, found.session.open) == (40, 0)


# Others


def test_a_paused_study_is_waited_for(monkeypatch):
    said = io.StringIO()  # what capfd reads while somebody writes may be lost
    monkeypatch.setattr("sys.stderr", said)

    def resume():
        while "paused: waiting" not in said.getvalue():
            time.sleep(0.01)
        with open_study("run.db", "main") as study:
            study.resume()

    def evaluate(arm):
        if next(calls) == 10:
            with open_study("run.db", "main") as study:
                study.pause()
            resuming.start()
        return score(arm)

    calls, resuming = itertools.count(1), threading.Thread(target=resume)
    found = find_best(50, evaluate, budget=30, study="run.db")
    resuming.join()
    assert (found.session.pulls, found.stopped) == (30, "budget")


@pytest.mark.parametrize("workers", [1, 3])
def test_a_study_that_is_finished_ends_the_run_with_what_there_is(workers):
    def evaluate(arm):
        if next(calls) == 10:
            with open_study("run.db", "main") as study:
                study.finish()
        return score(arm)

    calls = itertools.count(1)
    found = find_best(50, evaluate, budget=2000, workers=workers, study="run.db", **QUIET)
    assert (found.stopped, found.best is not None) == ("study finished", True)
    with open_study("run.db", "main") as study:
        assert isinstance([*study.events()][-1].event, Finished)  # the tenth, and what was under way, came too late
    assert 0 < found.spending.pulls - found.session.pulls <= workers  # and was paid for
    assert "the study is finished" in repr(found)


def test_a_deadline_ends_a_wait():
    with open_study("run.db", "main", arms=9, policy="b3", seed=0, direction="maximize") as study:
        study.pause()
    found = find_best(9, score, budget=30, seconds=0.3, study="run.db", **QUIET)
    assert (found.stopped, found.best) == ("deadline", None)


def test_tickets_that_somebody_has_elsewhere_count():
    with open_study("run.db", "main", arms=50, holder="the lab") as study:
        mine = study.ask(10)
        found = find_best(50, score, budget=30, study="run.db", **QUIET)
        assert (found.session.pulls, found.session.open, found.stopped) == (20, 10, "waiting")
        assert "Spent 20 of 30 pulls, 10 left" in repr(found)
        assert "others have the other 10: the lab has 10" in repr(found)
        study.tell_all([(ticket, 0.5) for ticket in mine])
    assert find_best(50, score, budget=30, study="run.db", **QUIET).spending.pulls == 0


def test_a_wait_for_people_names_them_and_says_what_to_do_if_they_are_gone(capfd, clock, monkeypatch):
    wait = TicketSource.reason_to_wait
    monkeypatch.setattr(TicketSource, "reason_to_wait", lambda *args, **room: clock.go() or wait(*args, **room))
    with open_study("run.db", "tea time", arms=9, policy="sh:budget=30", holder="plate 1.csv") as study:
        study.ask(3)
    found = find_best(9, score, budget=30, seconds=0.3, policy="sh", study=("run.db", "tea time"))
    assert found.stopped == "deadline"
    said = capfd.readouterr().err
    assert said.count("Waiting for results that others have under way: plate 1.csv has 3.") == 1
    assert "boxthirding study release run.db --name 'tea time' --holder 'plate 1.csv'" in said


def test_many_holders_are_counted():
    assert format_holders({"a": 5, "b": 2, "c": 1}) == "a has 5, b has 2, c has 1"
    many = {"a": 5_000, "b": 2, "c": 1, "d": 1, "e": 1}
    assert format_holders(many) == "a has 5,000, b has 2, c has 1, 2 others have 2"


def test_two_searches_of_one_process_have_names_of_their_own(folder):
    places = ("run.db", str(folder / "run.db"))
    one, two = (open_study(place, "main", arms=50) for place in places)
    assert (one.worker(), two.worker()) == ("find_best-0", "find_best-1")
    one.ask(3, holder="find_best-0")
    one.ask(2, holder="the lab")
    assert two.reclaim() == 0
    one.close()
    assert two.reclaim() == 3
    assert two.view().holders == {"the lab": 2}
    two.close()
    assert [file.name for file in folder.iterdir()] == ["run.db"]


def test_another_study_of_the_same_file_has_names_of_its_own():
    with open_study("run.db", "main", arms=50) as one, open_study("run.db", "other", arms=50) as two:
        assert one.worker() == two.worker() == "find_best-0"


def test_a_lock_that_was_removed_is_made_again(folder):
    Path("run.db").touch()
    one, two = (FileNames("run.db", "main") for _ in range(2))
    assert one.acquire("a")
    assert not two.acquire("a")
    (lock,) = folder.glob("run.db-*")
    lock.unlink()
    assert one.acquire("a")
    assert not two.acquire("a")
    assert list(folder.glob("run.db-*")) == [lock]
    one.release()
    two.release()


def test_where_no_lock_can_be_had_the_run_goes_on_without(monkeypatch):
    class NoLock(FileLock):
        def try_acquire(self, *_, **__):
            raise PermissionError

    monkeypatch.setattr("boxthirding.storage.sqlite.FileLock", NoLock)
    with open_study("run.db", "main", arms=9) as study:
        names = {study.worker() for _ in range(2)}
        assert len(names) == 2
        assert not any(map(is_worker, names))
        study.ask(2, holder="find_best-7")
        assert study.reclaim() == 0  # no one can say whether it has ended
        study.release(holder="find_best-7")
    assert find_best(9, float, budget=30, study="run.db", **QUIET).best == 8


def test_a_folder_that_is_away_for_a_moment_costs_no_name():
    Path("place").mkdir()
    with open_study("place/run.db", arms=50) as study:
        source = TicketSource(study, BudgetTracker(Budget(pulls=9)))
        (one,) = source.ask(1)
        Path("place").rename("away")
        with pytest.raises(StudyUnavailable, match=r"run\.db was moved or deleted"):
            source.ask(1)
        Path("away").rename("place")
        (two,) = source.ask(1)
        assert study.held("find_best-0") == [one, two]


def test_tickets_of_a_run_that_ends_while_we_wait_are_ours():
    dying = open_study("run.db", arms=50, policy="sh:budget=60")
    left = dying.ask(2, holder=dying.worker())
    with open_study("run.db") as study:
        source = TicketSource(study, BudgetTracker(Budget(pulls=60)))
        assert source.reason_to_wait(room=True) == "Waiting for results that other runs have under way."
        dying.close()
        assert source.reason_to_wait(room=True) == "Taking over tickets that were left behind."
        assert source.ask(2) == left


def test_failures_are_paid_for_when_others_have_asked_meanwhile():
    with open_study("run.db", arms=50) as study, open_study("run.db", holder="the lab") as others:
        account = BudgetTracker(Budget(pulls=5))
        source = TicketSource(study, account)
        (ticket,) = source.ask(1)
        source.fail(ticket)
        for _ in range(3):
            account.failure()
        assert len(others.ask(2)) == 2
        assert source.ask(2) == []  # of 5 pulls, 3 have failed, and the others have 2


def test_a_fork_does_not_give_a_name_back(folder):
    Path("run.db").touch()
    names = FileNames("run.db", "main")
    assert names.acquire("a")
    child = os.fork()
    if child == 0:
        names.release()
        os._exit(FileNames("run.db", "main").acquire("a"))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list(folder.glob("run.db-*"))) == 1
    names.release()


def test_an_evaluation_that_outlives_its_lease_is_not_started_again():
    def evaluate(arm, example):
        calls.append((arm, example))
        began = time.time()
        while time.time() < began + 0.05:
            time.sleep(0.01)
        return score(arm, example)

    calls = []
    open_study("run.db", "main", arms=50, lease=0.01, examples=99).close()
    found = find_best(50, evaluate, budget=12, examples=range(99), workers=3, study="run.db", **QUIET)
    assert (found.session.pulls, found.stopped) == (12, "budget")
    assert len(calls) == len(set(calls)) == 12


# Refused


@pytest.mark.parametrize(
    ("changed", "fragment"),
    [
        ({"arms": 51}, "50 arms, not 51"),
        ({"policy": "us"}, "policy chase, not us"),
        ({"seed": 1}, "seed 0, not 1"),
        ({"direction": "minimize"}, "direction maximize, not minimize"),
    ],
)
def test_other_settings_than_the_study_has_are_refused(changed, fragment):
    find_best(50, score, budget=20, study="run.db", **QUIET)
    before = story("run.db")
    options = {"arms": 50, "budget": 30, "study": "run.db", **QUIET, **changed}
    with pytest.raises(StudyDiffers, match=fragment):
        find_best(options.pop("arms"), lambda _: pytest.fail("evaluated"), **options)
    assert story("run.db") == before


@pytest.mark.parametrize(
    "study", [("run.db",), ("a", "b", "c"), "ftp://nowhere", "", 5, (5, "b"), ("a", 5), {"a", "b"}]
)
def test_a_study_that_is_none_is_refused(study):
    with pytest.raises(InvalidInput, match=r"study is|url is"):
        find_best(5, score, budget=20, study=study, **QUIET)


def test_what_a_study_was_made_with_may_be_left_out():
    options = {"budget": 40, "examples": range(50), **QUIET}
    made = {"seed": 5, "direction": "minimize", "policy": "b3"}
    whole = find_best(300, score, **options, **made)
    evaluate = Stopping(10)
    assert find_best(300, evaluate, study="run.db", **options, **made).interrupted
    assert find_best(300, evaluate, study="run.db", **options).recommendation == whole.recommendation
    assert story("run.db") == story_of(300, study="whole.db", **options, **made)


def test_without_a_study_seed_and_direction_have_their_defaults():
    options = {"budget": 60, "examples": range(50), **QUIET}
    given = find_best(300, score, seed=0, direction="maximize", **options)
    assert given.top(9) == find_best(300, score, **options).top(9)
    for wrong in ({"seed": -1}, {"direction": "up"}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            find_best(300, score, **options, **wrong)


def test_failures_are_paid_in_their_call_and_results_are_what_the_study_counts():
    def evaluate(arm):
        if next(calls) < 3:
            raise OSError("the network is away")
        return score(arm)

    calls = itertools.count()
    options = {"budget": 5, "on_error": "withdraw", "study": "run.db", **QUIET}
    for pulls, results in ((5, 2), (3, 5), (0, 5)):
        found = find_best(50, evaluate, **options)
        assert (found.spending.pulls, found.session.pulls, found.stopped) == (pulls, results, "budget")


# Processes


PROGRAM = """
import itertools, json, os, pathlib, random, signal, sys, time
from boxthirding.find import find_best

name, last, options = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
calls = itertools.count(1)

def evaluate(arm, example):
    if next(calls) == last:
        pathlib.Path(f"{name}-hangs").touch()
        time.sleep(3600)
    time.sleep(0.002)
    with open(f"{name}-calls", "a") as log:
        log.write(f"{arm} {example}\\n")
    return random.Random(f"{arm}/{example}").gauss(arm % 97 / 97, 0.3)

found = find_best(300, evaluate, examples=range(500), progress=False, **options)
print(json.dumps([found.label, found.spending.pulls, found.session.pulls, found.session.open]))
"""


def started(name, last, **options):
    """Start a process that evaluates, and hangs at its call number `last`."""
    source = str(Path(find_best.__code__.co_filename).parents[2])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, name, str(last), json.dumps(options)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def ended(process):
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    return json.loads(output)


def killed(name, last, **options):
    """Start a process and kill it at its call number `last`."""
    with started(name, last, **options) as process:
        while not Path(f"{name}-hangs").exists():
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()


def evaluated(*names):
    calls = []
    for name in names:
        with suppress(FileNotFoundError):
            calls += Path(f"{name}-calls").read_text(encoding="utf-8").splitlines()
    return calls


@pytest.mark.parametrize("policy", ["b3", "sh"])
def test_a_process_that_is_killed_again_and_again_equals_an_undisturbed_one(policy):
    options = {"budget": 90, "policy": policy}
    for name, last in (("first", 1), ("second", 30), ("third", 31)):
        killed(name, last, study="run.db", **options)
    undisturbed = find_best(300, score, examples=range(500), study="undisturbed.db", **options, **QUIET)
    total = undisturbed.session.pulls  # sh may leave a few
    assert ended(started("fourth", 0, study="run.db", **options)) == [undisturbed.label, total - 59, total, 0]
    assert story("run.db") == story("undisturbed.db")
    calls = evaluated("first", "second", "third", "fourth")
    assert len(calls) == len(set(calls)) == total  # each pull met an example of its own, once


@pytest.mark.parametrize("policy", ["b3", "sh"])
def test_several_processes_share_the_budget_to_the_last_pull(policy):
    names = ["one", "two", "three"]
    processes = [started(name, 0, study="run.db", budget=150, policy=policy, workers=2) for name in names]
    answers = [ended(process) for process in processes]
    total = {"b3": 150, "sh": find_best(300, score, budget=150, policy="sh", **QUIET).spending.pulls}[policy]
    assert sum(own for _, own, _, _ in answers) == len(evaluated(*names)) == total
    assert {pulls for _, _, pulls, _ in answers} == {total}
    with open_study("run.db", "main") as study:
        assert study.open == 0
    assert len({label for label, _, _, _ in answers}) == 1


def test_the_last_result_of_a_round_may_come_between_asking_and_looking_who_has_the_rest(monkeypatch):
    with open_study("run.db", arms=8, policy="sh:budget=48") as study:
        other = study.worker()
        (ticket,) = study.ask(holder=other)
        view = study.view

        def view_too_late():
            if study.held(other):
                study.tell(ticket, 0.5, holder=other)
            return view()

        monkeypatch.setattr(study, "view", view_too_late)
        found = find_best(None, float, budget=48, study=study, **QUIET)
        assert found.spending.pulls > 16  # those of the first round
        assert study.open == 0


def test_tickets_of_a_process_that_dies_are_taken_over_by_those_that_live():
    options = {"study": "run.db", "budget": 60, "policy": "sh", "workers": 2}
    with started("dying", 3, **options) as dying:
        while not Path("dying-hangs").exists():
            assert dying.poll() is None
            time.sleep(0.005)
        with started("living", 0, **options) as living:  # sh needs every result of a round
            while len(evaluated("dying", "living")) < 10:
                assert living.poll() is None
                time.sleep(0.005)
            dying.kill()
            _, _, pulls, waiting = ended(living)
    assert (pulls, waiting) == (find_best(300, score, budget=60, policy="sh", **QUIET).spending.pulls, 0)
