"""A file that is moved or deleted under an open study: nothing more is acknowledged, and what was is with the file."""

import errno
import fcntl
import shutil

import pytest

from boxthirding import StudyUnavailable, open_study
from boxthirding.storage import sqlite_locks

FILES = ("a.db", "a.db-wal", "a.db-shm")


def tell(study, pulls):
    for _ in range(pulls):
        for ticket in study.ask():
            study.tell(ticket, 0.5)


def pulls(path):
    with open_study(path, "s") as study:
        return study.pulls


def refused(study, ticket):
    """See that neither results nor questions are taken any more."""
    for verb in (lambda: study.tell(ticket, 0.5), study.ask, study.recommend, lambda: list(study.events())):
        with pytest.raises(
            StudyUnavailable, match=r"a\.db was moved or deleted while study 's' was open; put it back, or .*a\.db-wal"
        ):
            verb()


def test_put_back_it_resumes(tmp_path):
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study:
        tell(study, 5)
        (ticket,) = study.ask()
        path.rename(tmp_path / "b.db")
        refused(study, ticket)
        (tmp_path / "b.db").rename(path)
        study.tell(ticket, 0.5)
        tell(study, 4)
    assert pulls(path) == 10


def test_put_back_after_the_study_was_let_go_of_it_has_everything(tmp_path):
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study:
        tell(study, 5)
        (ticket,) = study.ask()
        path.rename(tmp_path / "b.db")
        refused(study, ticket)
    (tmp_path / "b.db").rename(path)
    assert pulls(path) == 5


def test_moved_with_what_belongs_to_it_it_has_everything_there(tmp_path):
    place = tmp_path / "elsewhere"
    place.mkdir()
    with open_study(tmp_path / "a.db", "s", arms=50) as study:
        tell(study, 5)
        (ticket,) = study.ask()
        for name in FILES:
            (tmp_path / name).rename(place / name)
        refused(study, ticket)
    assert pulls(place / "a.db") == 5


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_deleted_it_is_not_written_to_and_a_new_one_of_its_name_is_another(tmp_path, durability):
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50, durability=durability) as study:
        tell(study, 5)
        (ticket,) = study.ask()
        for name in FILES:
            (tmp_path / name).unlink()
        refused(study, ticket)
        with open_study(path, "s", arms=50) as new:
            tell(new, 2)
            refused(study, ticket)
    assert pulls(path) == 2


def test_moved_between_the_decision_and_the_commit_it_is_not_acknowledged(tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study:
        (ticket,) = study.ask()
        journal = study._transactions.journal
        append = journal.append

        def moved(after, texts):
            append(after, texts)
            path.rename(tmp_path / "b.db")

        monkeypatch.setattr(journal, "append", moved)
        with pytest.raises(StudyUnavailable, match="was moved or deleted"):
            study.tell(ticket, 0.5)


def test_the_working_folder_may_change(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_study("a.db", "s", arms=50) as study:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        tell(study, 3)
        assert study.pulls == 3
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_copy_may_be_made_of_it(tmp_path):
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study:
        tell(study, 3)
        shutil.copy(path, tmp_path / "copy.db")
        tell(study, 3)
    assert pulls(path) == 6


def test_a_file_of_two_names_is_refused_under_either(tmp_path):
    path, other = tmp_path / "a.db", tmp_path / "other" / "b.db"
    other.parent.mkdir()
    with open_study(path, "s", arms=50) as study:
        tell(study, 5)
        other.hardlink_to(path)
        with pytest.raises(
            StudyUnavailable, match=r"b\.db has 2 names \(hard links\), but must have one.*copy the file"
        ):
            open_study(other, "s")
        tell(study, 5)  # it goes on under its own name
    with pytest.raises(StudyUnavailable, match=r"a\.db has 2 names"):
        open_study(path, "s")
    other.unlink()
    assert pulls(path) == 10


def unlockable(monkeypatch):
    class Fcntl:
        LOCK_UN = fcntl.LOCK_UN

        @staticmethod
        def flock(_file, _how):
            raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(sqlite_locks, "_fcntl", Fcntl)


def test_where_no_file_can_be_locked_it_is_read_and_not_written(tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study:
        tell(study, 5)
    with monkeypatch.context() as patched:
        unlockable(patched)
        with open_study(path, "s") as study:
            assert study.pulls == 5
            with pytest.raises(StudyUnavailable, match=r"cannot be locked \(No locks available\), so study 's' can be"):
                study.ask()
            assert study.pulls == 5
        with pytest.raises(StudyUnavailable, match="cannot be locked"):
            open_study(tmp_path / "new.db", "s", arms=50)
    assert pulls(path) == 5


def test_where_locks_fail_later_nothing_is_written(tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study:
        (ticket,) = study.ask()
        with monkeypatch.context() as patched:
            unlockable(patched)
            with pytest.raises(StudyUnavailable, match="cannot be locked"):
                study.tell(ticket, 0.5)
        assert study.pulls == 0
        study.tell(ticket, 0.5)
    assert pulls(path) == 1
