"""What lies beside an SQLite file: locks that no one drops, and a log and an index that may be deleted while open."""

import sqlite3
import subprocess
import sys
import weakref
from collections import Counter
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from boxthirding import JournalBroken, find_best, open_study
from boxthirding.storage import sqlite_connection
from boxthirding.study.events import Told

HERE = Path(__file__).parent
LOG, INDEX = "a.db-wal", "a.db-shm"


def tell(study, pulls):
    for _ in range(pulls):
        for ticket in study.ask():
            study.tell(ticket, 0.5)


def pulls(path):
    with open_study(path, "s") as study:
        return study.pulls, study.open


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def check_folder_readers(folder, processes, budget):
    """Let runs that read their whole folder share a study, and see that it has every result once."""
    command = [sys.executable, HERE / "folder_readers.py", folder, str(budget)]
    runs = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(processes)]
    said = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [0] * processes, said
    with open_study(folder / "run.db") as study:
        told = Counter(entry.event.ticket for entry in study.events() if isinstance(entry.event, Told))
        assert (study.pulls, study.open, set(told.values())) == (budget, 0, {1})
    assert names(folder) == ["run.db"]


def test_evaluations_may_read_every_file_of_the_folder(tmp_path):
    check_folder_readers(tmp_path, 3, 300)


def test_a_lock_is_kept_when_its_file_is_read(tmp_path):
    """As that of SQLite is not: reading a file closes a descriptor of it."""
    path = str(tmp_path / "a.db")
    with open_study(path, "s", arms=5) as study:
        journal = study._transactions.journal
        with journal.writing():
            for file in tmp_path.iterdir():
                file.read_bytes()
            program = "import sys; from boxthirding import open_study; open_study(sys.argv[1], 's', timeout=0.05)"
            ended = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
            assert "locked by another process" in ended.stderr


def test_a_file_that_is_collected_as_garbage_waits_for_no_lock(tmp_path, monkeypatch):
    path = str(tmp_path / "a.db")
    with open_study(path, "s", arms=5) as study:
        file = sqlite_connection.SqliteConnection(path, timeout=1.0)
        is_there, waits = weakref.ref(file), []
        with study._transactions.journal.writing():
            monkeypatch.setattr("boxthirding.storage.sqlite_locks.time.sleep", waits.append)
            del file
            assert (is_there(), waits) == (None, [])
        study.tell(study.ask()[0], 0.5)


def test_a_name_is_kept_when_its_file_is_read(tmp_path):
    path = str(tmp_path / "a.db")
    program = (
        "import sys; from boxthirding import open_study\n"
        "with open_study(sys.argv[1], 's') as study: print(study.worker())"
    )
    with open_study(path, "s", arms=5) as study:
        assert study.worker() == "find_best-0"
        for file in tmp_path.iterdir():
            file.read_bytes()
        ended = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert ended.stdout == "find_best-1\n"


@pytest.mark.parametrize("gone", [["a.db-lock"], ["a.db-read"], ["a.db-lock", "a.db-read"]])
def test_a_lock_that_was_deleted_is_made_again_and_nothing_is_lost(tmp_path, gone):
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study, open_study(path, "s") as other:
        tell(study, 5)
        tell(other, 5)
        for name in gone:
            (tmp_path / name).unlink()
        tell(study, 5)
        assert other.pulls == 15
        tell(other, 5)
        assert study.pulls == 20
    assert pulls(path) == (20, 0)
    assert names(tmp_path) == ["a.db"]


def verbs(study, ticket):
    return (lambda: study.tell(ticket, 0.5), study.ask, study.recommend, lambda: list(study.events()))


@pytest.mark.parametrize("gone", [[LOG], [INDEX], [LOG, INDEX], [LOG, INDEX, "a.db-lock", "a.db-read"]])
def test_after_its_log_or_index_was_deleted_nothing_is_written_and_all_that_was_known_is_saved_once(tmp_path, gone):
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study, open_study(path, "s") as other:
        tell(study, 5)
        tell(other, 5)
        (ticket,) = study.ask()
        for name in gone:
            (tmp_path / name).unlink()
        for verb in (*verbs(study, ticket), *verbs(other, ticket)):
            with pytest.raises(
                JournalBroken,
                match=r"a\.db-wal or a\.db-shm was deleted while study 's' was open, so results .* may be missing from "
                r".*a\.db, but all that was known here is saved in .*a\.db-saved-1; open that file instead",
            ):
                verb()
    assert [name for name in names(tmp_path) if "-saved-" in name] == ["a.db-saved-1"]
    assert pulls(tmp_path / "a.db-saved-1") == (10, 1)


def test_a_file_that_was_saved_is_not_written_over(tmp_path):
    path = tmp_path / "a.db"
    (tmp_path / "a.db-saved-1").write_text("of yesterday")
    with open_study(path, "s", arms=50) as study:
        tell(study, 5)
        (tmp_path / LOG).unlink()
        with pytest.raises(JournalBroken, match=r"saved in .*a\.db-saved-2; open"):
            study.ask()
    assert (tmp_path / "a.db-saved-1").read_text() == "of yesterday"
    assert pulls(tmp_path / "a.db-saved-2") == (5, 0)


def test_where_nothing_can_be_saved_a_backup_is_asked_for(tmp_path, monkeypatch):
    def fail(*_):
        raise PermissionError

    with open_study(tmp_path / "a.db", "s", arms=50) as study:
        tell(study, 5)
        (tmp_path / LOG).unlink()
        monkeypatch.setattr(sqlite_connection.itertools, "count", fail)
        with pytest.raises(JournalBroken, match=r"may be missing from .*; restore it from a backup"):
            study.ask()


def test_a_process_whose_log_is_deleted_is_refused_and_its_results_are_saved(tmp_path):
    program = """
import os, sys
from boxthirding import JournalBroken, open_study
study = open_study(sys.argv[1], "s", arms=50)
for _ in range(50):
    study.tell(study.ask()[0], 0.5)
os.unlink(sys.argv[1] + "-wal")
try:
    study.ask()
except JournalBroken:
    os._exit(7)
"""
    ended = subprocess.run([sys.executable, "-c", program, tmp_path / "a.db"], check=False)
    assert ended.returncode == 7
    assert pulls(tmp_path / "a.db-saved-1") == (50, 0)


@pytest.mark.parametrize("gone", [LOG, INDEX])
def test_what_was_deleted_just_before_a_study_is_closed_is_saved_with_a_warning(tmp_path, gone):
    study = open_study(tmp_path / "a.db", "s", arms=50)
    tell(study, 5)
    (tmp_path / gone).unlink()
    with pytest.warns(RuntimeWarning, match=r"a\.db-wal or a\.db-shm was deleted .*saved in .*a\.db-saved-1"):
        study.close()
    assert pulls(tmp_path / "a.db-saved-1") == (5, 0)


def test_a_file_whose_log_was_deleted_is_not_opened_again_before_it_is_closed(tmp_path):
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study:
        tell(study, 5)
        (tmp_path / LOG).unlink()
        for _ in range(2):
            with pytest.raises(JournalBroken, match=r"was deleted .*saved in .*a\.db-saved-1"):
                open_study(path, "s")
    open_study(path, "t", arms=50).close()
    assert pulls(tmp_path / "a.db-saved-1") == (5, 0)
    assert {*names(tmp_path)} - {LOG, INDEX} == {"a.db", "a.db-saved-1"}


def test_a_result_whose_log_is_deleted_before_the_commit_is_not_acknowledged_and_is_saved(tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study:
        (ticket,) = study.ask()
        journal = study._transactions.journal
        append = journal.append

        def deleting(after, texts):
            append(after, texts)
            (tmp_path / LOG).unlink()

        monkeypatch.setattr(journal, "append", deleting)
        with pytest.raises(JournalBroken, match=r"saved in .*a\.db-saved-1"):
            study.tell(ticket, 0.5)
    assert pulls(tmp_path / "a.db-saved-1") == (1, 0)


def test_a_log_that_is_in_use_here_is_deleted_by_no_other_process(tmp_path):
    """Not even when an evaluation here has read the file, which drops the locks of SQLite."""
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study:
        tell(study, 5)
        path.read_bytes()
        program = "import sys; from boxthirding import open_study; open_study(sys.argv[1], 's').close()"
        subprocess.run([sys.executable, "-c", program, path], check=True)
        assert (tmp_path / LOG).exists()
        tell(study, 5)
    assert pulls(path) == (10, 0)
    assert names(tmp_path) == ["a.db"]


ANOTHER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
for statement in sys.argv[2:]:
    connection.execute(statement)
print("done", flush=True)
sys.stdin.read()
"""


@contextmanager
def another(path, *statements):
    """Let another process open a file that has lost its log, and have it open for a while."""
    command = [sys.executable, "-c", ANOTHER, path, *statements]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "done\n"
        yield


def test_what_others_wrote_after_the_log_was_deleted_is_left_as_it_is(tmp_path):
    path = tmp_path / "a.db"
    others = (
        "CREATE TABLE boxthirding_studies (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO boxthirding_studies VALUES (1, 's')",
        "CREATE TABLE boxthirding_events (study, seq, event)",
        "INSERT INTO boxthirding_events VALUES (1, 1, 'another history')",
    )
    with open_study(path, "s", arms=50) as study:
        tell(study, 5)
        (ticket,) = study.ask()
        for name in (LOG, INDEX):
            (tmp_path / name).unlink()
        with another(path, *others):
            for verb in verbs(study, ticket):
                with pytest.raises(
                    JournalBroken, match=r"a\.db-wal or a\.db-shm was deleted .*saved in .*a\.db-saved-1"
                ):
                    verb()
    assert pulls(tmp_path / "a.db-saved-1") == (5, 1)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT event FROM boxthirding_events").fetchall() == [("another history",)]


def test_a_log_does_not_grow_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_connection, "CHECKPOINT_EVERY", 20)
    path = tmp_path / "a.db"
    with open_study(path, "s", arms=50) as study, open_study(path, "s") as other:
        tell(study, 30)
        tell(other, 30)
        before = (tmp_path / LOG).stat().st_size
        tell(study, 100)
        assert (tmp_path / LOG).stat().st_size <= 2 * before
        assert other.pulls == 160


def test_a_run_whose_log_is_deleted_ends_and_is_resumed_from_what_was_saved(tmp_path):
    calls = []

    def evaluate(arm):
        calls.append(arm)
        if len(calls) == 20:
            for ending in ("-wal", "-shm"):
                (tmp_path / f"run.db{ending}").unlink()
        return arm / 100

    with pytest.raises(
        JournalBroken, match=r"saved in .*run\.db-saved-1; 1 result could not be written: that of ticket 19"
    ):
        find_best(range(100), evaluate, budget=60, study=str(tmp_path / "run.db"), progress=False)
    assert len(calls) == 20
    saved = str(tmp_path / "run.db-saved-1")
    found = find_best(range(100), evaluate, budget=60, study=saved, progress=False)
    assert (found.session.pulls, len(calls)) == (60, 61)
    found.session.close()
    with open_study(saved) as study:
        assert (study.pulls, study.open) == (60, 0)
