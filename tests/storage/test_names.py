"""Names beside a file: they are kept while its folder is away, cross no fork, and leave nothing where locks fail."""

import errno
import os
import signal
import sys

import pytest

from boxthirding import StudyUnavailable
from boxthirding.storage import sqlite as names
from boxthirding.storage.sqlite import FileNames

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of this kind")


@pytest.fixture
def place(tmp_path):
    """Return a folder with a database in it."""
    folder = tmp_path / "place"
    folder.mkdir()
    (folder / "run.db").touch()
    return folder


def named(place):
    return FileNames(str(place / "run.db"), "main")


def test_a_folder_that_is_moved_away_and_put_back_has_the_names_that_were_taken(place):
    one, two = named(place), named(place)
    assert one.acquire("a")
    away = place.rename(place.with_name("away"))
    for each in (one, two):
        with pytest.raises(
            StudyUnavailable, match=r"run\.db cannot be found \(.*\); nothing is lost: put it back and try"
        ):
            each.acquire("a")
    away.rename(place)
    (lock,) = place.glob("run.db-worker-*")
    inode = lock.stat().st_ino
    assert not two.acquire("a")
    assert one.acquire("a")
    assert lock.stat().st_ino == inode
    one.release()
    assert [file.name for file in place.iterdir()] == ["run.db"]


def test_names_are_given_back_while_the_folder_is_away(place):
    one = named(place)
    assert one.acquire("a")
    away = place.rename(place.with_name("away"))
    one.release()
    away.rename(place)
    two = named(place)
    assert two.acquire("a")
    two.release()


def test_a_process_can_take_names_that_was_forked_while_a_thread_was_about_to(place):
    with names._mutex:
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if named(place).acquire("a") else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_where_locks_fail_no_files_are_left(place, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", fail)
    with pytest.raises(OSError, match="No locks available"):
        named(place).acquire("a")
    assert [file.name for file in place.iterdir()] == ["run.db"]


def test_a_file_of_somebody_else_is_left_where_locks_fail(place, monkeypatch):
    one = named(place)
    assert one.acquire("a")

    def fail(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as another_process:
        another_process.setattr("fcntl.flock", fail)
        with pytest.raises(OSError, match="No locks available"):
            named(place).acquire("a")
    assert len(list(place.glob("run.db-worker-*"))) == 1
    one.release()


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EACCES])
def test_a_lock_that_is_held_is_a_name_that_is_taken(place, monkeypatch, number):
    def fail(*_):
        raise OSError(number, "somebody else has it")

    monkeypatch.setattr("fcntl.flock", fail)
    assert not named(place).acquire("a")


def test_names_may_be_given_back_while_one_is_taken(tmp_path, monkeypatch):
    """As when a result is garbage, whose study is closed in the middle of anything."""
    path = tmp_path / "run.db"
    path.touch()
    mine, other = FileNames(str(path), "main"), FileNames(str(path), "main")
    assert other.acquire("other")
    looked = FileNames._mode
    monkeypatch.setattr(FileNames, "_mode", lambda self: (other.release(), looked(self))[1])
    assert mine.acquire("mine")
    monkeypatch.undo()
    assert mine.acquire("other")
    mine.release()
