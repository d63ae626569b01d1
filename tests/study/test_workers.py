"""Names of workers: `worker()` gives one that no living process has, `reclaim()` releases what the dead ones held."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from boxthirding import open_study
from boxthirding.study.journal import HeldNames


class Lost:
    """The names of a database that can be away: while it is, a name that we had may go to another."""

    def __init__(self):
        self.free, self.is_away = set(), False

    def acquire(self, name):
        if self.is_away:
            raise OSError("the connection is lost")
        return name in self.free

    def release(self):
        self.free.clear()


class Journal:
    def __init__(self, names):
        self._names = names

    def names(self):
        return self._names


def test_each_worker_of_a_study_has_a_name_of_its_own(tmp_path):
    place = str(tmp_path / "s.db")
    with open_study(place, arms=9) as one, open_study(place) as other:
        names = [one.worker(), other.worker(), one.worker()]
        assert len(set(names)) == 3


def test_what_a_worker_held_is_released_once_it_has_ended(tmp_path):
    place = str(tmp_path / "s.db")
    with open_study(place, arms=9) as one, open_study(place) as other:
        name = one.worker()
        held = one.ask(2, holder=name)
        one.ask(holder="a person")
        assert other.reclaim() == 0  # it lives
        one.close()
        assert other.reclaim() == len(held)
        assert [ticket.id for ticket in other.ask(2)] == [ticket.id for ticket in held]
        assert other.view().holders["a person"] == 1


def test_a_worker_does_not_reclaim_what_is_its_own(tmp_path):
    with open_study(str(tmp_path / "s.db"), arms=9) as study:
        study.ask(2, holder=study.worker())
        assert study.reclaim() == 0
        assert study.view().open == 2


def test_a_name_that_was_lost_is_not_taken_for_ours():
    names = Lost()
    names.free = {"find_best-0"}
    workers = HeldNames(Journal(names))
    name = workers.new()
    assert workers.is_held(name)
    names.free.clear()  # another process has it now
    assert not workers.is_held(name)
    names.is_away = True
    assert not workers.is_held(name)


def test_without_a_database_to_ask_a_name_is_one_that_no_process_takes_for_dead():
    names = Lost()
    names.is_away = True
    workers = HeldNames(Journal(names))
    assert workers.new() != workers.new()
    assert workers.new().startswith("find_best-alone-")


def test_all_names_are_given_back():
    names = Lost()
    names.free = {"find_best-0"}
    workers = HeldNames(Journal(names))
    name = workers.new()
    workers.release()
    assert not workers.is_held(name)


class Slow(Lost):
    """Names that are free, each given only when two threads want one, or after a while."""

    def __init__(self):
        super().__init__()
        self.both = threading.Barrier(2)

    def acquire(self, name):  # noqa: ARG002  # any name is free
        with suppress(threading.BrokenBarrierError):
            self.both.wait(timeout=0.2)
        return True


def test_threads_that_take_a_name_at_once_have_one_each():
    workers = HeldNames(Journal(Slow()))
    with ThreadPoolExecutor(2) as pool:
        names = [future.result() for future in [pool.submit(workers.new) for _ in range(2)]]
    assert len(set(names)) == 2
