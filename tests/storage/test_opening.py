"""Opening: URLs, names, several studies in one place, and files that are not what they should be."""

import contextlib
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import boxthirding
from boxthirding import (
    InvalidInput,
    JournalBroken,
    StudyDiffers,
    StudyUnavailable,
    UnknownStudy,
    UnreadableData,
    list_studies,
    open_study,
)
from boxthirding.storage import sql, sqlite_connection
from boxthirding.storage.opening import delete_study, without_password
from boxthirding.study import Damaged, codec


def test_a_study_says_where_it_is_and_how_far_without_reading_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_study("run.db", arms=3, policy="b3") as study, open_study("run.db") as other:
        study.tell(study.ask()[0], 0.5)
        assert repr(study) == "<Study run.db of 3 arms, policy b3, 1 pull>"
        assert repr(other) == "<Study run.db of 3 arms, policy b3, 0 pulls>"  # as of its last call
    assert repr(study) == "<Study run.db of 3 arms, policy b3, 1 pull>"  # closed
    with open_study("run.db", "more", arms=iter("ab"), policy="b3") as study:
        assert repr(study) == "<Study run.db --name more of arms from an iterator, policy b3, 0 pulls>"


def test_studies_are_kept_by_name(url):
    assert list_studies(url) == []
    for name in ("b", "a", "ż 🐢 'quoted\" ; --"):
        with open_study(url, name, arms=[f"{name} 1", f"{name} 2"]) as study:
            study.tell(study.ask()[0], 0.5)
    assert list_studies(url) == ["a", "b", "ż 🐢 'quoted\" ; --"]
    with open_study(url, "a") as study:
        assert study.recommend().label.startswith("a ")
        assert study.pulls == 1


def test_a_study_resumes_where_it_was(url):
    with open_study(
        url, "s", arms={"x": [1], "y": [2]}, policy="us", seed=4, direction="minimize", holder="me"
    ) as study:
        study.tell(study.ask()[0], 3.0)
        (ticket,) = study.ask()
    with open_study(url, "s", arms={"x": [1], "y": [2]}, holder="me") as study:
        assert study.held() == [ticket]
        study.tell(ticket, 1.0)
        assert study.recommend().label == ticket.label
        assert (study.policy, study.direction) == (boxthirding.Uniform(), "minimize")
    with pytest.raises(StudyDiffers, match="seed 4, not 5"):
        open_study(url, "s", seed=5)


def test_what_is_no_json_goes_with_its_pickle(url):
    arms = {"a": (1, 2), "b": (3, 4), "c": {"v": 1}}
    with open_study(url, "tuples", arms=arms) as study, pickle.loads(pickle.dumps(study)) as again:  # noqa: S301  # ours
        assert again.not_here() == []
        assert {ticket.label: ticket.payload for ticket in again.ask(3)} == arms


@pytest.mark.parametrize(
    "wrong", [{"seed": -1}, {"details": {"a": object()}}, {"known": {"a": float("nan")}}, {"direction": "up"}]
)
def test_settings_that_are_refused_make_no_file(tmp_path, wrong):
    with pytest.raises(InvalidInput):
        open_study(tmp_path / "new.db", arms=["a"], **wrong)
    assert list(tmp_path.iterdir()) == []


def test_it_can_be_pickled_by_its_place(url):
    with open_study(url, "s", arms=[{"v": 1}, {"v": 2}], holder="me", durability="full") as study:
        (ticket,) = study.ask()
        with pickle.loads(pickle.dumps(study)) as again:  # noqa: S301  # our own
            assert (again.name, again.holder, again.held()) == ("s", "me", [ticket])
            again.tell(again.held()[0], 0.5)
        assert study.pulls == 1


def test_closing_lets_go_and_does_not_finish(url):
    with contextlib.closing(open_study(url, "s", arms=3)) as study:
        study.ask()
    with open_study(url, "s") as study:
        assert (study.status, len(study.ask())) == ("open", 1)
        study.finish()
    with open_study(url, "s") as study:
        assert study.status == "finished"


def test_after_closing_it_says_so(url):
    with open_study(url, "s", arms=3) as study:
        study.ask()
    for verb in (study.ask, study.recommend):
        with pytest.raises(StudyUnavailable, match="was closed here; open it again"):
            verb()


def test_a_url_is_a_path_or_has_a_scheme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    open_study("plain.db", "s", arms=3).close()
    open_study(Path("object.db"), "s", arms=3).close()
    open_study("sqlite:///relative.db", "s", arms=3).close()
    open_study(f"sqlite:///{tmp_path}/absolute.db", "s", arms=3).close()
    assert {"plain.db", "object.db", "relative.db", "absolute.db"} <= {file.name for file in tmp_path.iterdir()}
    assert list_studies("sqlite:///plain.db") == ["s"]
    open_study("memory:here", "s", arms=3).close()
    assert list_studies("memory:here") == ["s"]
    assert list_studies("memory:there") == []
    assert not Path("memory:here").exists()


@pytest.mark.parametrize("url", ["mysql://host/db", "sqlite://", "sqlite:///", "", "http://x", ":memory:"])
def test_another_url_is_refused(url):
    with pytest.raises(InvalidInput, match="must"):
        open_study(url, "s", arms=3)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201, None, 7])
def test_a_name_must_be_one(name, tmp_path):
    with pytest.raises(InvalidInput, match="1 to 200 printable characters"):
        open_study(tmp_path / "a.db", name, arms=3)
    with pytest.raises(InvalidInput, match="the holder is"):
        open_study(tmp_path / "a.db", "s", arms=3, holder=name if name is not None else 1.5)
    assert list(tmp_path.iterdir()) == []


def test_durability_is_normal_or_full(tmp_path):
    with pytest.raises(InvalidInput, match="durability is 'none', but must be normal or full"):
        open_study(tmp_path / "a.db", "s", arms=3, durability="none")


def test_without_arms_there_must_be_a_study(url):
    with pytest.raises(UnknownStudy, match=r"there is no study 's' in .*, which has no studies; give arms") as refused:
        open_study(url, "s")
    assert without_password(str(url)) in str(refused.value)
    assert list_studies(url) == []
    open_study(url, "t", arms=3).close()
    with pytest.raises(UnknownStudy, match="there is no study 's' here, and the studies there are 't'"):
        open_study(url, "s")


def test_looking_makes_nothing(tmp_path):
    path = tmp_path / "a.db"
    with pytest.raises(UnknownStudy):
        open_study(path, "s")
    assert not path.exists()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (text TEXT)")
    assert list_studies(path) == []
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


def test_looking_makes_nothing_on_a_server_either(database):
    import psycopg

    assert list_studies(database) == []
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT to_regclass('boxthirding_studies')").fetchone() == (None,)


class TestFiles:
    def test_a_file_that_is_no_database(self, tmp_path):
        path = tmp_path / "notes.txt"
        path.write_text("dear diary, " * 100)
        for attempt in (lambda: open_study(path, "s", arms=3), lambda: list_studies(path)):
            with pytest.raises(UnreadableData, match=r"notes\.txt is not an SQLite database"):
                attempt()
        assert path.read_text() == "dear diary, " * 100

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(StudyUnavailable, match=r"there is no folder .*nowhere: make it, or name another$"):
            open_study(tmp_path / "nowhere" / "a.db", "s", arms=3)

    def test_a_folder_instead_of_a_file(self, tmp_path):
        with pytest.raises(StudyUnavailable, match=r"is a folder, but must be a file: name one in it, such as .*\.db$"):
            open_study(tmp_path, "s", arms=3)

    def test_a_file_that_may_not_be_read(self, private):
        path = private / "a.db"
        open_study(path, "s", arms=3).close()
        path.chmod(0o000)
        with pytest.raises(StudyUnavailable, match=r"because you may not read it: change its permissions$"):
            open_study(path, "s")

    def test_a_folder_that_may_not_be_written(self, private):
        private.chmod(0o555)
        with pytest.raises(
            StudyUnavailable, match=r"cannot be made, because its folder is read-only: change .*, or name"
        ):
            open_study(private / "a.db", "s", arms=3)

    @pytest.mark.parametrize(("file", "folder"), [(0o444, 0o755), (0o644, 0o555), (0o444, 0o555)])
    def test_a_study_that_is_read_only_can_be_looked_at(self, private, file, folder):
        path = private / "a #1%.db"
        with open_study(path, "s", arms=3) as study:
            study.tell(study.ask()[0], 0.5)
        path.chmod(file)
        private.chmod(folder)
        before = path.read_bytes()
        assert list_studies(path) == ["s"]
        with open_study(path, "s") as study:
            assert (study.pulls, len(list(study.events()))) == (1, 3)
            for verb in (study.ask, study.pause, lambda: study.add([99])):
                with pytest.raises(
                    StudyUnavailable, match=r"is read-only, so the study can be looked at and not changed"
                ):
                    verb()
            assert study.recommend().pulls == 1
        assert path.read_bytes() == before

    def test_one_that_was_looked_at_while_read_only_can_be_written_afterwards(self, private):
        path = private / "a.db"
        open_study(path, "s", arms=3).close()
        path.chmod(0o444)
        with open_study(path, "s") as study:
            assert study.pulls == 0
        assert [file.name for file in private.iterdir()] == ["a.db"]
        path.chmod(0o644)
        with open_study(path, "s") as study:
            study.tell(study.ask()[0], 0.5)

    def test_an_index_that_was_left_read_only_is_made_fit_to_write(self, private):
        path = private / "a.db"
        open_study(path, "s", arms=3).close()
        for ending in ("-wal", "-shm"):
            (private / f"a.db{ending}").touch(mode=0o444)
        with open_study(path, "s") as study:
            study.tell(study.ask()[0], 0.5)

    @pytest.mark.parametrize("attempt", [list_studies, lambda path: open_study(path, "s", arms=3)])
    def test_a_folder_that_may_not_be_entered(self, private, attempt):
        open_study(private / "a.db", "s", arms=3).close()
        private.chmod(0o600)
        with pytest.raises(StudyUnavailable, match="because you may not enter its folder; change the permissions"):
            attempt(private / "a.db")

    @pytest.mark.parametrize("attempt", [list_studies, lambda path: open_study(path, "s", arms=3)])
    @pytest.mark.parametrize("name", ["x" * 248, "x" * 5000, "ż" * 126, "a\0b"])
    def test_a_name_that_no_file_can_have(self, tmp_path, attempt, name):
        with pytest.raises(StudyUnavailable, match=r"its name has \d+ bytes, but must have at most 247, and no zero"):
            attempt(f"{tmp_path}/{name}")
        assert list(tmp_path.iterdir()) == []

    def test_the_longest_name(self, tmp_path):
        with open_study(tmp_path / ("x" * 247), "s", arms=3) as study:
            study.tell(study.ask()[0], 0.5)

    def test_one_that_is_read_only_here_and_is_changed_by_others_says_so(self, private):
        path = private / "a.db"
        open_study(path, "s", arms=3).close()
        os.utime(path, (1, 1))
        private.chmod(0o555)
        with open_study(path, "s") as study:
            private.chmod(0o755)
            with open_study(path, "s") as other:
                other.ask()
            with pytest.raises(StudyUnavailable, match="was changed while it was read as read-only; open it again"):
                study.recommend()
        with open_study(path, "s") as study:
            assert study.open == 1

    def test_one_that_is_read_only_here_says_so_too_while_the_others_have_it_open(self, private):
        path = private / "a.db"
        open_study(path, "s", arms=3).close()
        private.chmod(0o555)
        with open_study(path, "s") as study:
            private.chmod(0o755)
            with open_study(path, "s") as other:
                other.ask()  # is in the log, and the file is as it was
                with pytest.raises(StudyUnavailable, match="was changed while it was read as read-only"):
                    study.recommend()

    def test_one_that_is_read_only_here_is_closed_without_waiting_for_those_who_write(self, private, monkeypatch):
        path = private / "a.db"
        open_study(path, "s", arms=3).close()
        path.chmod(0o444)
        study = open_study(path, "s")
        assert study.pulls == 0
        monkeypatch.setattr(
            sqlite_connection.SqliteConnection, "_acquire_both", lambda _: pytest.fail("it waits for the locks")
        )
        study.close()
        assert [file.name for file in private.iterdir()] == ["a.db"]

    def test_results_in_a_log_are_not_passed_over_when_all_is_read_only(self, private):
        path = private / "a.db"
        with open_study(private / "b.db", "s", arms=3):
            shutil.copy(private / "b.db", path)
            shutil.copy(private / "b.db-wal", private / "a.db-wal")
        private.chmod(0o555)
        with pytest.raises(
            StudyUnavailable, match=r"latest results are in a\.db-wal: copy both to where you may write$"
        ):
            open_study(path, "s")

    def test_a_database_of_something_else_is_refused_and_left_alone(self, tmp_path):
        path = tmp_path / "browser.db"
        change(path, "CREATE TABLE history (text TEXT)")
        before = path.read_bytes()
        with pytest.raises(UnreadableData, match=r"of something else \(table 'history'\): name another$"):
            open_study(path, "s", arms=3)
        assert path.read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == ["browser.db"]

    def test_tables_that_somebody_adds_to_ours_are_left_alone(self, tmp_path):
        path = tmp_path / "shared.db"
        open_study(path, "s", arms=3).close()
        change(path, "CREATE TABLE mine AS SELECT 'my own' AS text")
        open_study(path, "t", arms=3).close()
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT * FROM mine").fetchall() == [("my own",)]

    @pytest.mark.parametrize(
        "damage",
        [
            "DROP TABLE boxthirding_events",
            "DROP TABLE boxthirding_studies",
            "ALTER TABLE boxthirding_events RENAME COLUMN event TO text",
        ],
    )
    def test_a_file_that_was_damaged_is_to_be_restored_and_not_tried_again(self, tmp_path, damage):
        path = tmp_path / "a.db"
        open_study(path, "s", arms=3).close()
        change(path, damage)
        with pytest.raises(
            UnreadableData, match=r"is damaged, or something else has changed it: .*; restore it from a backup$"
        ):
            open_study(path, "s")

    def test_a_text_that_is_none_is_noticed_and_the_others_can_be_read(self, tmp_path):
        path = tmp_path / "a.db"
        with open_study(path, "s", arms=30) as study:
            for _ in range(5):
                study.tell(study.ask()[0], 0.5)
            change(path, "UPDATE boxthirding_events SET event = CAST(X'ff' AS TEXT) WHERE seq = 4")
            read = list(study.events(damaged=True))
        assert [type(entry) is Damaged for entry in read] == [False] * 3 + [True] * 2 + [False] * 6
        with pytest.raises(JournalBroken, match="event 4 reads"):
            open_study(path, "s")

    def test_an_event_that_is_missing_is_noticed(self, tmp_path):
        path = tmp_path / "a.db"
        with open_study(path, "s", arms=30) as study:
            for _ in range(5):
                study.tell(study.ask()[0], 0.5)
        change(path, "DELETE FROM boxthirding_events WHERE seq = 4")
        with pytest.raises(JournalBroken, match=r"lacks events of .* after number 3"):
            open_study(path, "s")


@pytest.fixture
def private():
    """Return a folder of our own; be nobody there, if we are root, whom no permission stops."""
    with tempfile.TemporaryDirectory() as folder, open_study(Path(folder) / "a.db", "s", arms=3) as study:
        study.tell(study.ask()[0], 0.5)  # loads whatever nobody may not be allowed to read
        study.recommend()
    with tempfile.TemporaryDirectory() as folder:
        is_root = os.geteuid() == 0
        if is_root:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            Path(folder).chmod(0o755)
            if is_root:
                os.seteuid(0)


def change(path, statement):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


class TestVersions:
    def test_tables_of_a_newer_version(self, url):
        open_study(url, "s", arms=3).close()
        execute(url, "UPDATE boxthirding_schema SET version = 99")
        for attempt in (lambda: open_study(url, "s"), lambda: list_studies(url)):
            with pytest.raises(
                UnreadableData, match=r"has tables of version 99, .* knows them up to 1: open it with a newer"
            ):
                attempt()

    def test_a_study_of_a_newer_version(self, url):
        open_study(url, "s", arms=3).close()
        execute(url, """UPDATE boxthirding_events SET event = '{"event":"created","format":7,"new":1}' WHERE seq = 1""")
        with pytest.raises(UnreadableData, match="the study is of format 7, but this version of boxthirding reads"):
            open_study(url, "s")

    def test_an_event_of_a_newer_version(self, url):
        open_study(url, "s", arms=3).close()
        with open_study(url, "s") as study:
            (first,) = study._transactions.journal.read(0, 1)
        head = '{"event":"dreamt","at":1.5'
        text = f'{head},"check":"{codec._check(head, codec.check_of(first))}"}}'
        execute(url, f"INSERT INTO boxthirding_events SELECT study, 2, '{text}' FROM boxthirding_events")  # noqa: S608
        with pytest.raises(JournalBroken, match="written by a newer version, or the journal is damaged"):
            open_study(url, "s")

    def test_older_tables_are_brought_up_to_date(self, tmp_path, monkeypatch):
        path = tmp_path / "a.db"
        with open_study(path, "s", arms=30) as study:
            study.tell(study.ask()[0], 0.5)
        newer = (
            *sql.SQLITE,
            "CREATE TABLE boxthirding_notes (text TEXT); INSERT INTO boxthirding_notes VALUES ('new')",
        )
        monkeypatch.setattr(sqlite_connection, "SQLITE", newer)
        for _ in range(2):
            with open_study(path, "s") as study:
                assert study.pulls == 1
        connection = sqlite3.connect(path)
        assert connection.execute("SELECT text FROM boxthirding_notes").fetchall() == [("new",)]
        assert connection.execute("SELECT version FROM boxthirding_schema").fetchall() == [(2,)]
        connection.close()

    def test_a_change_of_tables_that_fails_leaves_them_as_they_were(self, tmp_path, monkeypatch):
        path = tmp_path / "a.db"
        open_study(path, "s", arms=30).close()
        wrong = (*sql.SQLITE, "CREATE TABLE boxthirding_notes (text TEXT); INSERT INTO nowhere VALUES (1)")
        monkeypatch.setattr(sqlite_connection, "SQLITE", wrong)
        with pytest.raises(StudyUnavailable, match="nowhere"):
            open_study(path, "s")
        monkeypatch.undo()
        assert list_studies(path) == ["s"]
        connection = sqlite3.connect(path)
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'boxthirding_notes'").fetchall() == []
        connection.close()


def execute(url, statement):
    if url.startswith("postgresql"):
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement)
    else:
        change(url, statement)


def test_an_address_of_postgresql_that_is_none(tmp_path):
    with pytest.raises(InvalidInput, match="must be postgresql://USER@HOST:PORT/DATABASE"):
        open_study("postgresql://user:secret@host/x?nonsense=1", "s", arms=3)
    with pytest.raises(StudyUnavailable, match=f"PostgreSQL database x at {tmp_path}") as refused:
        open_study(f"postgresql://user:secret@/x?host={tmp_path}", "s", arms=3)
    assert "secret" not in str(refused.value)


def test_psycopg_is_an_extra():
    code = "import sys; sys.modules['psycopg'] = None; import boxthirding as b3; b3.open_study('postgresql://x', 's')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtra: a study on PostgreSQL needs psycopg" in ended.stderr
    assert "pip install 'boxthirding[postgres]'" in ended.stderr


@pytest.mark.parametrize("name", ["sqlite3", "psycopg"])
def test_a_driver_is_loaded_when_a_study_is_opened_and_not_before(name):
    code = f"import sys, boxthirding; print({name!r} in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"


class TestDeleted:
    def test_a_study_that_was_deleted_while_it_was_open_says_so(self, url):
        with open_study(url, "s", arms=3) as study:
            study.tell(study.ask()[0], 0.5)
            delete_study(url, "s")
            for verb in (study.ask, study.recommend, lambda: study.observe(1, 0.5)):
                with pytest.raises(UnknownStudy, match=r"study 's' was deleted while it was open; open it again if"):
                    verb()
            assert study.is_gone

    @pytest.mark.parametrize("pulls", [0, 1, 9])
    def test_another_that_was_made_under_its_name_is_not_taken_for_it(self, url, pulls):
        with open_study(url, "s", arms=3) as study:
            study.tell(study.ask()[0], 0.5)
            delete_study(url, "s")
            with open_study(url, "s", arms=["x", "y"]) as other:
                for _ in range(pulls):
                    other.tell(other.ask()[0], 0.25)
                for verb in (study.recommend, study.ask):
                    with pytest.raises(UnknownStudy, match="was deleted while it was open"):
                        verb()
                assert other.pulls == pulls
