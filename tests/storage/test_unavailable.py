"""A database that goes away and comes back, a full disk: a clear error, nothing lost, and the next call works."""

import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from boxthirding import StudyUnavailable, UnreadableData, open_study
from boxthirding.storage.sqlite import SqliteJournal
from boxthirding.storage.sqlite_errors import translated
from boxthirding.study import Settings, Study
from boxthirding.study.codec import check_of, encode
from boxthirding.study.events import Paused, Resumed

INTERRUPTED = textwrap.dedent("""
    import signal, sys
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have ignored it
    from boxthirding import open_study

    with open_study(sys.argv[1], "s", holder="me") as study:
        try:
            print("asking", flush=True)
            study.ask()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        sys.stdin.read()
        print(len(study.ask()), "ticket")
""")


def has_caught(pid, number):
    """Tell whether a signal is not pending any more."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return not int(status["ShdPnd"], 16) >> (number - 1) & 1


def play(study, pulls):
    for _ in range(pulls):
        for ticket in study.ask():
            study.tell(ticket, (37 * ticket.arm + 11 * ticket.pull) % 101 / 101)


def undisturbed(pulls):
    with open_study("memory:undisturbed", f"{pulls} pulls", arms=500, seed=2) as study:
        play(study, pulls - study.pulls)
        return study.recommend(), study.top(10), study.pulls


class TestServer:
    @pytest.mark.parametrize("how", ["stop", "kill"])
    def test_a_server_that_goes_away_and_comes_back(self, server, database, how, caplog):
        with open_study(database, "s", arms=500, seed=2) as study, open_study(database, "s") as other:
            play(study, 30)
            (ticket,) = study.ask()
            getattr(server, how)()
            for verb in (study.ask, lambda: study.tell(ticket, 0.5), study.recommend, other.ask):
                with pytest.raises(
                    StudyUnavailable, match=r"PostgreSQL database empty at .*nothing is lost, try again"
                ) as refused:
                    verb()
                assert refused.value.transient
            with pytest.raises(StudyUnavailable, match=r"is the server running, and are host, port, .* right\?$"):
                open_study(database, "s")
            server.start()
            assert other.pulls == study.pulls == 30
            study.tell(ticket, (37 * ticket.arm + 11 * ticket.pull) % 101 / 101)
            play(study, 19)
            play(other, 10)
            assert (study.recommend(), study.top(10), study.pulls) == undisturbed(60)
        assert [record.getMessage() for record in caplog.records if record.name.startswith("psycopg")] == []

    def test_one_that_has_gone_silent_is_noticed_as_soon_as_the_url_says_or_within_half_a_minute(
        self, database, monkeypatch
    ):
        def parameters(url):
            with open_study(url, "s", arms=3) as study:
                return study._transactions.journal._connection._connection.info.get_parameters()

        assert {"connect_timeout": "10", "keepalives_idle": "15", "tcp_user_timeout": "30000"}.items() <= (
            parameters(database).items()
        )
        said = parameters(f"{database}&keepalives_idle=7&connect_timeout=8")
        assert {"connect_timeout": "8", "keepalives_idle": "7", "keepalives_count": "3"}.items() <= said.items()
        monkeypatch.setenv("PGCONNECT_TIMEOUT", "9")
        assert parameters(database)["connect_timeout"] == "9"

    def test_a_lock_that_is_not_let_go_of(self, database, monkeypatch):
        import psycopg

        from boxthirding.storage import postgres_connection

        monkeypatch.setattr(postgres_connection, "PATIENCE", 1)
        with open_study(database, "s", arms=500) as study, psycopg.connect(database) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (postgres_connection.key_of("boxthirding study s"),))
            with pytest.raises(StudyUnavailable, match=r"lock timeout.*; nothing is lost, try again$"):
                study.ask()
            connection.rollback()
            assert len(study.ask()) == 1

    def test_a_user_without_permission_is_told_what_to_grant(self, database):
        open_study(database, "s", arms=3).close()
        execute(database, "DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN")
        with pytest.raises(
            StudyUnavailable, match=r"permission denied .*; grant the user USAGE and CREATE on the schema"
        ):
            open_study(database.replace("tester@", "guest@"), "s")

    def test_a_server_that_is_read_only_can_be_looked_at(self, database):
        with open_study(database, "s", arms=3) as study:
            study.tell(study.ask()[0], 0.5)
        with open_study(f"{database}&options=-c%20default_transaction_read_only%3Don", "s") as study:
            assert study.pulls == 1
            with pytest.raises(
                StudyUnavailable, match=r"read-only here, so the study can be looked at and not changed"
            ):
                study.ask()

    def test_a_table_that_is_gone_is_to_be_restored_and_not_tried_again(self, database):
        with open_study(database, "s", arms=3) as study:
            execute(database, "DROP TABLE boxthirding_events")
            for attempt in (study.ask, study.recommend, lambda: open_study(database, "s")):
                with pytest.raises(UnreadableData, match=r"something else has changed it; restore it from a backup$"):
                    attempt()

    def test_whatever_the_server_isolates_by_default_nothing_is_written_over(self, database):
        """One waits for the lock while another writes, and then must see what was written."""
        import psycopg

        from boxthirding.storage.postgres_connection import key_of

        url = f"{database}&options=-c%20default_transaction_isolation%3Drepeatable%5C%20read"
        with open_study(url, "s", arms=3) as study, psycopg.connect(database, autocommit=True) as connection:
            connection.execute("SELECT pg_advisory_lock(%s)", (key_of("boxthirding study s"),))
            given = []
            thread = threading.Thread(target=lambda: given.append(study.ask()))
            thread.start()
            while not connection.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchall():
                time.sleep(0.01)
            (first,) = connection.execute("SELECT event FROM boxthirding_events").fetchone()
            text = encode(Paused(1.0), check_of(first)).text
            connection.execute("INSERT INTO boxthirding_events SELECT id, 2, %s FROM boxthirding_studies", (text,))
            connection.execute("SELECT pg_advisory_unlock_all()")
            thread.join()
            assert given == [[]]

    def test_a_server_that_goes_down_and_comes_up_again_is_waited_for(self, server, database, monkeypatch):
        import psycopg

        from boxthirding.storage import postgres_connection

        is_refused, sleep = threading.Event(), time.sleep
        open_study(database, "s", arms=500, seed=2).close()
        with psycopg.connect(database) as connection:
            server.ask_to_stop()  # which it does when this connection is closed
            while server.is_ready():
                time.sleep(0.01)
            with pytest.raises(StudyUnavailable, match="starting up or shutting down: try again") as refused:
                open_now(database)
            assert refused.value.transient
            monkeypatch.setattr(postgres_connection.time, "sleep", lambda seconds: is_refused.set() or sleep(seconds))
            opened = in_a_thread(lambda: open_study(database, "s"))
            assert is_refused.wait(60)  # while the server says that it goes down: else it would not be waited for
            connection.close()
            server.wait()
            server.start()
        with opened() as study:
            play(study, 3)

    def test_a_server_with_as_many_connections_as_it_allows_is_waited_for(self, database):
        import psycopg

        open_study(database, "s", arms=500, seed=2).close()
        execute(
            database,
            "DROP ROLE IF EXISTS few",
            "CREATE ROLE few LOGIN SUPERUSER",
            "ALTER ROLE few NOSUPERUSER CONNECTION LIMIT 1",
            "GRANT ALL ON ALL TABLES IN SCHEMA public TO few",
        )
        url = database.replace("tester@", "few@")
        with psycopg.connect(url):
            with pytest.raises(StudyUnavailable, match="as many connections as it allows: close some") as refused:
                open_now(url)
            assert refused.value.transient
            opened = in_a_thread(lambda: open_study(url, "s"))
        with opened() as study:
            assert study.pulls == 0
        execute(database, "DROP OWNED BY few", "DROP ROLE few")

    def test_a_database_that_is_not_there_is_not_waited_for(self, database):
        with pytest.raises(StudyUnavailable, match=r"user, password and database right\?$") as refused:
            open_study(database.replace("/empty?", "/nowhere?"), "s")
        assert not refused.value.transient

    def test_a_connection_that_is_cut(self, database):
        import psycopg

        with open_study(database, "s", arms=500, seed=2) as study:
            play(study, 30)
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid != pg_backend_pid()"
                )
            with pytest.raises(StudyUnavailable, match="nothing is lost") as refused:
                study.ask()
            assert refused.value.transient
            play(study, 30)
            assert (study.recommend(), study.top(10), study.pulls) == undisturbed(60)


def open_now(url):
    """Open a study without patience."""
    from boxthirding.storage import postgres_connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres_connection, "PATIENCE", 0)
        open_study(url, "s")


def in_a_thread(act):
    """Do something in a thread; return what waits for its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(act()))
    thread.start()

    def result():
        thread.join()
        return results.pop()

    return result


def execute(url, *statements):
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_transaction_that_was_begun_and_left_disturbs_no_other(url):
    with open_study(url, "s", arms=500) as study:
        journal = study._transactions.journal
        journal.writing().__enter__()  # an interrupt came before the block began
        play(study, 3)
        left = journal.writing()
        left.__enter__()
        texts = journal.read(0, 999)
        paused, check = encode(Paused(1.0), check_of(texts[-1]))
        with journal.writing():
            journal.append(seq := len(texts), [paused])
            with suppress(KeyboardInterrupt):
                left.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
            journal.append(seq + 1, [encode(Resumed(1.0), check).text])
        play(study, 1)
    with open_study(url, "s") as study:
        assert (study.pulls, len(list(study.events()))) == (4, seq + 4)


class TestFile:
    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what has become of a signal is read from /proc")
    def test_one_who_is_interrupted_while_it_waits_for_the_lock_holds_nothing(self, tmp_path):
        path = str(tmp_path / "a.db")
        open_study(path, "s", arms=500).close()
        command = [sys.executable, "-c", INTERRUPTED, path]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                assert process.stdout.readline() == "asking\n"
                process.send_signal(signal.SIGINT)
                while not has_caught(process.pid, signal.SIGINT):
                    time.sleep(0.01)
            assert process.stdout.readline() == "interrupted\n"
            with open_study(path, "s") as study:
                play(study, 3)
            process.stdin.close()
            assert process.stdout.read() == "1 ticket\n"

    def test_a_transaction_that_the_next_one_rolled_back_is_not_acknowledged(self, tmp_path):
        with open_study(tmp_path / "a.db", "s", arms=500) as study:
            journal = study._transactions.journal
            left = journal.writing()
            left.__enter__()
            journal.append(1, ["whatever"])
            with journal.writing(), pytest.raises(StudyUnavailable, match="cut off; nothing is lost, try again"):
                left.__exit__(None, None, None)
            assert study.status == "open"

    def test_only_tables_that_are_not_as_they_were_are_called_damaged(self, tmp_path):
        with open_study(tmp_path / "a.db", "s", arms=500) as study:
            connection = study._transactions.journal._connection.connection
            with pytest.raises(sqlite3.OperationalError) as error:
                connection.execute("COMMIT")
            meaning = translated("a.db", error.value)
            assert type(meaning) is StudyUnavailable
            assert "no transaction is active" in meaning.problem
            connection.execute("DROP TABLE boxthirding_events")
            with pytest.raises(UnreadableData, match="no such table"):
                study.ask()

    def test_an_arm_is_made_while_others_can_write(self, tmp_path):
        path = str(tmp_path / "a.db")
        told = []

        def slow():
            yield "a"
            yield "b"
            with Study("s", SqliteJournal(path, "s", timeout=0.05)) as other:
                other.tell(0, 0.5)
                told.append(0)
            yield "c"

        with open_study(path, "s", arms=slow()) as study:
            study.ask(2)
            assert len(study.ask()) == 1
            assert told == [0]

    def test_a_file_that_is_locked_for_long(self, tmp_path):
        path = str(tmp_path / "a.db")
        with Study("s", SqliteJournal(path, "s", timeout=0.05), Settings(500, seed=2)) as study:
            play(study, 30)
            (ticket,) = study.ask()
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            for verb in (study.ask, lambda: study.tell(ticket, 0.5)):
                with pytest.raises(StudyUnavailable, match="locked by another process") as refused:
                    verb()
                assert refused.value.transient
            assert study.pulls == 30  # it can be read meanwhile
            other.execute("ROLLBACK")
            other.close()
            study.tell(ticket, (37 * ticket.arm + 11 * ticket.pull) % 101 / 101)
            play(study, 29)
            assert (study.recommend(), study.top(10), study.pulls) == undisturbed(60)

    def test_a_database_that_may_not_grow(self, tmp_path):
        with open_study(tmp_path / "a.db", "s", arms=500, seed=2) as study:
            play(study, 10)
            connection = study._transactions.journal._connection.connection
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count={pages}")
            with pytest.raises(StudyUnavailable, match="the disk is full; nothing is lost: make room"):
                play(study, 2_000)
            had = study.pulls
            assert 10 <= had < 2_010
            connection.execute("PRAGMA max_page_count=1000000")
            for ticket in study.held():
                study.tell(ticket, (37 * ticket.arm + 11 * ticket.pull) % 101 / 101)
            play(study, had + 60 - study.pulls)
            assert (study.recommend(), study.top(10), study.pulls) == undisturbed(had + 60)

    def test_a_disk_that_is_full(self, tmp_path):
        """The size of files is limited, and the limit lifted: what was acknowledged is there."""
        program = textwrap.dedent("""
            import resource, signal, sys
            from boxthirding import StudyUnavailable, open_study
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            told = 0
            with open_study(sys.argv[1], "s", arms=500, seed=2) as study:
                resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
                try:
                    while True:
                        for ticket in study.ask():
                            study.tell(ticket, (37 * ticket.arm + 11 * ticket.pull) % 101 / 101)
                            told += 1
                except StudyUnavailable as error:
                    print(error, error.transient)
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                for ticket in study.held():
                    study.tell(ticket, (37 * ticket.arm + 11 * ticket.pull) % 101 / 101)
                assert study.pulls in (told, told + 1), (study.pulls, told)
                assert study.ask()
        """)
        command = [sys.executable, "-c", program, str(tmp_path / "a.db")]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        assert "full" in ended.stdout
        assert ended.stdout.endswith("True\n")

    def test_a_process_that_was_forked_leaves_the_connection_of_its_parent_alone(self, tmp_path):
        program = textwrap.dedent("""
            import os, sys
            from boxthirding.storage.sqlite_connection import SqliteConnection
            file = SqliteConnection(sys.argv[1])
            if os.fork() == 0:
                file.close()  # as garbage collection does when the process ends
                print(file.connection.execute("SELECT count(*) FROM boxthirding_studies").fetchone(), flush=True)
                os._exit(0)
            os.wait()
            file.close()
        """)
        command = [sys.executable, "-c", program, str(tmp_path / "a.db")]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr, ended.stdout) == (0, "", "(0,)\n")
        assert [file.name for file in tmp_path.iterdir()] == ["a.db"]

    @pytest.mark.parametrize("how", [(), ("reopens",)])
    def test_children_that_are_forked_while_a_thread_writes_can_open_the_file(self, tmp_path, how):
        command = [sys.executable, Path(__file__).parent / "forks.py", str(tmp_path / "a.db"), "8", *how]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ended.stdout, ended.stderr) == ("0 0\n", "")

    def test_a_child_loses_nothing_whose_parent_closes_the_file_and_opens_it_again(self, tmp_path):
        program = textwrap.dedent("""
            import os, sys
            from boxthirding import open_study

            def work(study):
                for ticket in study.ask():
                    study.tell(ticket, 0.5)

            place = sys.argv[1]
            study = open_study(place, "s", arms=50)
            work(study)
            (there, is_open), (closed, go_on), (end, is_over) = os.pipe(), os.pipe(), os.pipe()
            if os.fork() == 0:
                with open_study(place, "s") as mine:
                    work(mine)
                    os.write(is_open, b"x")
                    os.read(closed, 1)
                    work(mine)
                os.write(is_over, b"x")
                os._exit(0)
            os.read(there, 1)
            study.close()
            with open_study(place, "s") as study:
                work(study)
                os.write(go_on, b"x")
                os.read(end, 1)
                work(study)
            with open_study(place, "s") as study:
                print(study.pulls)
        """)
        command = [sys.executable, "-c", program, str(tmp_path / "a.db")]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (ended.stdout, ended.stderr) == ("5\n", "")

    def test_a_study_does_not_cross_a_fork(self, tmp_path):
        program = textwrap.dedent("""
            import os, sys
            from boxthirding import StudyUnavailable, open_study
            study = open_study(sys.argv[1], "s", arms=5)
            if os.fork() == 0:
                try:
                    study.ask()
                except StudyUnavailable as error:
                    print(error, flush=True)
                os._exit(0)
            os.wait()
            study.tell(study.ask()[0], 0.5)
            study.close()
        """)
        command = [sys.executable, "-c", program, str(tmp_path / "a.db")]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        assert "open it in each process" in ended.stdout
        assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
