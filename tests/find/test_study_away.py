"""`find_best` with a study that cannot be reached for a while, or is locked: results are kept, and nothing hangs."""

import asyncio
import itertools
import os
import signal
import sqlite3
import threading
from contextlib import closing
from importlib import import_module

import pytest
from stories import QUIET, score, story

from boxthirding import open_study
from boxthirding.errors import (
    StudyUnavailable,
    UnreadableData,
)
from boxthirding.find import find_best
from boxthirding.storage.sqlite import SqliteJournal
from boxthirding.storage.sqlite_connection import SqliteConnection
from boxthirding.study import Study
from boxthirding.study.events import Failed


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Outage:
    """A database that cannot be reached from now on, for so many calls."""

    def __init__(self, monkeypatch):
        self.calls = 0
        self.left = 0
        self.during = lambda _: None
        for method in (SqliteConnection.fetch, SqliteConnection.writing):
            monkeypatch.setattr(SqliteConnection, method.__name__, self.instead_of(method))

    def instead_of(self, method):
        def away(connection, *args):
            if self.left > 0:
                self.left -= 1
                self.calls += 1
                self.during(self.calls)
                raise StudyUnavailable("run.db: it is away", advice="nothing is lost, try again", transient=True)
            return method(connection, *args)

        return away


@pytest.fixture
def outage(monkeypatch):
    monkeypatch.setattr("boxthirding.find.search._PAUSES", (0.001, 0.01))
    return Outage(monkeypatch)


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("fails", [False, True])
def test_results_are_kept_while_the_database_is_away(outage, workers, fails):
    calls, lock = [], threading.Lock()

    def evaluate(arm, example):
        with lock:
            calls.append((arm, example))
            if len(calls) in (10, 20):
                outage.left = 12
                if fails:
                    raise OSError
        return score(arm, example)

    options = {"budget": 30, "examples": range(99), "workers": workers, "on_error": "withdraw", **QUIET}
    found = find_best(50, evaluate, study="run.db", **options)
    failures = 2 if fails else 0
    assert (found.stopped, found.spending.failures, found.session.pulls) == ("budget", failures, 30 - failures)
    assert (found.session.open, found.spending.abandoned) == (0, 0)
    assert len(calls) == 30
    assert len(set(calls)) == 30 - failures  # nothing was evaluated twice but what had failed
    assert outage.calls == 24


def test_coroutines_are_kept_while_the_database_is_away(outage):
    async def evaluate(arm):
        await asyncio.sleep(0)
        calls.append(arm)
        if len(calls) == 10:
            outage.left = 12
        return score(arm)

    calls = []
    found = find_best(50, evaluate, budget=30, workers=3, study="run.db", **QUIET)
    assert (found.stopped, found.session.pulls, len(calls), outage.calls) == ("budget", 30, 30, 12)


def test_a_database_that_stays_away_ends_the_run_and_says_what_was_not_written(outage, monkeypatch, capfd):
    monkeypatch.setattr("boxthirding.find.search.UNREACHABLE", 0.05)

    def evaluate(arm):
        if next(calls) == 10:
            outage.left = 1_000_000
        return score(arm)

    calls = itertools.count(1)
    with pytest.raises(StudyUnavailable) as lost:
        find_best(50, evaluate, budget=30, study="run.db")
    assert str(lost.value) == (
        "run.db: it is away; 1 result could not be written: that of ticket 9, to be evaluated again when the study "
        "is resumed"
    )
    assert capfd.readouterr().err.count("The study cannot be reached, trying again: run.db: it is away") == 1
    outage.left = 0
    found = find_best(50, score, budget=30, study="run.db", **QUIET)
    assert (found.spending.elsewhere, found.session.pulls) == (9, 30)
    assert found.recommendation == find_best(50, score, budget=30, **QUIET).recommendation


def test_threads_that_could_not_be_told_are_all_named(outage, monkeypatch):
    monkeypatch.setattr("boxthirding.find.search.UNREACHABLE", 0.05)

    def evaluate(arm):
        together.wait()
        outage.left = 1_000_000
        return score(arm)

    together = threading.Barrier(3)
    with pytest.raises(StudyUnavailable, match=r"3 results could not be written: those of tickets \d, \d, \d, to be"):
        find_best(50, evaluate, budget=30, workers=3, study="run.db", **QUIET)


def test_a_database_that_is_away_from_the_start_is_not_waited_for(outage):
    find_best(50, score, budget=3, study="run.db", **QUIET)
    outage.left = 1_000_000
    with pytest.raises(StudyUnavailable, match="nothing is lost, try again"):
        find_best(50, score, budget=30, study="run.db", **QUIET)
    assert outage.calls < 5


def test_ctrl_c_ends_the_wait_for_a_database(outage):
    def evaluate(arm):
        outage.left = 1_000_000
        return score(arm)

    outage.during = lambda call: os.kill(os.getpid(), signal.SIGINT) if call == 5 else None
    with pytest.raises(StudyUnavailable, match="1 result could not be written: that of ticket 0"):
        find_best(50, evaluate, budget=30, study="run.db", **QUIET)
    assert outage.calls < 20


def test_a_deadline_ends_the_wait_for_a_database(outage, clock):
    def evaluate(arm):
        clock.go()
        outage.left = 1_000_000
        return score(arm)

    with pytest.raises(StudyUnavailable, match="1 result could not be written: that of ticket 0"):
        find_best(50, evaluate, budget=30, seconds=0.5, study="run.db", **QUIET)


def test_a_result_that_was_written_after_all_is_counted_once(monkeypatch):
    def tell(study, ticket, reward, **options):
        whole(study, ticket, reward, **options)
        if ticket.id == 9 and not broken:
            broken.append(ticket)
            raise StudyUnavailable("the commit was broken off", transient=True)

    whole, broken = Study.tell, []
    monkeypatch.setattr(Study, "tell", tell)
    found = find_best(50, score, budget=30, study="run.db", **QUIET)
    assert (found.spending.pulls, found.spending.elsewhere, found.session.pulls) == (30, 0, 30)


def test_a_failure_that_was_written_after_all_is_noted_once_and_tried_again(monkeypatch):
    def fail(study, ticket):
        whole(study, ticket)
        if not broken:
            broken.append(ticket)
            raise StudyUnavailable("the commit was broken off", transient=True)

    def evaluate(arm):
        if next(calls) == 9:
            raise OSError("the network is away")
        return score(arm)

    whole, broken, calls = Study.fail, [], itertools.count()
    monkeypatch.setattr(Study, "fail", fail)
    found = find_best(50, evaluate, budget=30, on_error="withdraw", study="run.db", **QUIET)
    assert (found.stopped, found.spending.pulls, found.session.pulls, found.session.open) == ("budget", 30, 29, 0)
    assert sum(isinstance(event, Failed) for event in story("run.db")) == len(broken) == 1


def test_a_failure_that_was_not_written_is_noted_when_it_can_be(monkeypatch):
    def fail(study, ticket):
        tries.append(ticket)
        if len(tries) < 3:
            raise StudyUnavailable("the commit was broken off", transient=True)
        whole(study, ticket)

    def evaluate(arm):
        if next(calls) == 9:
            raise OSError("the network is away")
        return score(arm)

    whole, tries, calls = Study.fail, [], itertools.count()
    monkeypatch.setattr(Study, "fail", fail)
    found = find_best(50, evaluate, budget=30, on_error="withdraw", study="run.db", **QUIET)
    assert (found.stopped, found.session.pulls, found.session.open, len(tries)) == ("budget", 29, 0, 3)


def test_a_ticket_that_failed_and_was_given_to_somebody_else_does_not_fail_there(monkeypatch):
    def fail(study, ticket):
        whole(study, ticket)
        if not given:
            with open_study("run.db", "main", holder="the lab") as other:
                given.extend(other.ask())
            raise StudyUnavailable("the commit was broken off", transient=True)

    def evaluate(arm):
        if next(calls) == 0:
            raise OSError("the network is away")
        return score(arm)

    whole, given, calls = Study.fail, [], itertools.count()
    monkeypatch.setattr(Study, "fail", fail)
    find_best(50, evaluate, budget=5, on_error="withdraw", policy="us", study="run.db", **QUIET)
    with open_study("run.db", "main") as study:
        assert study.held("the lab") == given
        assert study.view().open == 1
    assert sum(isinstance(event, Failed) for event in story("run.db")) == 1


def test_a_database_that_is_damaged_under_a_run_ends_it_and_says_what_was_not_written():
    def evaluate(arm):
        if next(calls) == 9:
            with closing(sqlite3.connect("run.db")) as connection:
                connection.execute("DROP TABLE boxthirding_events")
        return score(arm)

    calls = itertools.count()
    with pytest.raises(UnreadableData, match=r"run\.db is damaged.*; 1 result could not be written: that of ticket 9"):
        find_best(50, evaluate, budget=30, study="run.db", **QUIET)


@pytest.fixture
def locked(monkeypatch):
    """Return a connection to the file of a study that is there, for locking it."""
    monkeypatch.setattr("boxthirding.find.search._PAUSES", (0.001, 0.01))
    monkeypatch.setattr(import_module("boxthirding.find.find_best"), "_SHORT", 0.01)
    find_best(50, score, budget=3, study="run.db", **QUIET)
    with closing(sqlite3.connect("run.db", isolation_level=None)) as connection:
        yield connection


def test_ctrl_c_ends_the_wait_for_a_file_that_is_locked(locked, monkeypatch):
    def writing(journal):
        if locked.in_transaction:
            tries.append(journal)
            if len(tries) == 5:
                os.kill(os.getpid(), signal.SIGINT)
        return whole(journal)

    def evaluate(arm):
        locked.execute("BEGIN IMMEDIATE")
        return score(arm)

    whole, tries = SqliteJournal.writing, []
    monkeypatch.setattr(SqliteJournal, "writing", writing)
    with pytest.raises(StudyUnavailable, match=r"locked by another process.*; 1 result could not be written") as lost:
        find_best(50, evaluate, budget=30, study="run.db", **QUIET)
    assert (lost.value.found.session.pulls, len(tries)) == (3, 6)  # the last when it was over


def test_a_file_that_is_locked_from_the_start_is_waited_for(locked, monkeypatch):
    def writing(journal):
        tries.append(journal)
        if len(tries) == 3:
            locked.execute("ROLLBACK")
        return whole(journal)

    whole, tries = SqliteJournal.writing, []
    monkeypatch.setattr(SqliteJournal, "writing", writing)
    locked.execute("BEGIN IMMEDIATE")
    found = find_best(50, score, budget=30, study="run.db", **QUIET)
    assert (found.stopped, found.session.pulls) == ("budget", 30)


def test_a_result_that_somebody_else_was_faster_with_is_counted_once():
    def evaluate(arm):
        if next(calls) in (3, 4):
            with open_study("run.db", "main") as other:
                other.tell(other.held("find_best-0")[0], 0.5)
        return score(arm)

    calls = itertools.count()
    found = find_best(50, evaluate, budget=30, study="run.db", **QUIET)
    assert (found.spending.pulls, found.spending.elsewhere, found.session.pulls) == (28, 2, 30)
    assert (found.spending.cost, str(found.spending).startswith("30 of 30 pulls (28 here)")) == (30, True)
