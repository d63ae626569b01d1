"""A database that goes away and comes back, a full disk: a clear error, nothing lost, and the next call works."""

import sqlite3
import subprocess
import sys
import textwrap

import pytest

from boxthirding import StudyUnavailable, open_study
from boxthirding.storage.sqlite import SqliteJournal
from boxthirding.study import Settings, Study


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
    def test_a_server_that_goes_away_and_comes_back(self, server, database, how):
        with open_study(database, "s", arms=500, seed=2) as study, open_study(database, "s") as other:
            play(study, 30)
            (ticket,) = study.ask()
            getattr(server, how)()
            for verb in (study.ask, lambda: study.tell(ticket, 0.5), study.recommend, other.ask):
                with pytest.raises(
                    StudyUnavailable, match=r"PostgreSQL database empty at .*nothing is lost, try again"
                ):
                    verb()
            server.start()
            assert other.pulls == study.pulls == 30
            study.tell(ticket, (37 * ticket.arm + 11 * ticket.pull) % 101 / 101)
            play(study, 19)
            play(other, 10)
            assert (study.recommend(), study.top(10), study.pulls) == undisturbed(60)

    def test_a_connection_that_is_cut(self, database):
        import psycopg

        with open_study(database, "s", arms=500, seed=2) as study:
            play(study, 30)
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid != pg_backend_pid()"
                )
            with pytest.raises(StudyUnavailable, match="nothing is lost"):
                study.ask()
            play(study, 30)
            assert (study.recommend(), study.top(10), study.pulls) == undisturbed(60)


class TestFile:
    def test_a_file_that_is_locked_for_long(self, tmp_path):
        path = str(tmp_path / "a.db")
        with Study("s", SqliteJournal(path, "s", timeout=0.05), Settings(500, seed=2)) as study:
            play(study, 30)
            (ticket,) = study.ask()
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            for verb in (study.ask, lambda: study.tell(ticket, 0.5)):
                with pytest.raises(StudyUnavailable, match="locked by another process"):
                    verb()
            assert study.pulls == 30  # it can be read meanwhile
            other.execute("ROLLBACK")
            other.close()
            study.tell(ticket, (37 * ticket.arm + 11 * ticket.pull) % 101 / 101)
            play(study, 29)
            assert (study.recommend(), study.top(10), study.pulls) == undisturbed(60)

    def test_a_database_that_may_not_grow(self, tmp_path):
        with open_study(tmp_path / "a.db", "s", arms=500, seed=2) as study:
            play(study, 10)
            connection = study._scribe.journal._connection
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count={pages}")
            with pytest.raises(StudyUnavailable, match="the disk is full: make room"):
                play(study, 2_000)
            had = study.pulls
            assert 10 <= had < 2_010
            connection.execute("PRAGMA max_page_count=1000000")
            play(study, 1)
            for lent in study.lent():
                study.tell(lent.ticket, (37 * lent.ticket.arm + 11 * lent.ticket.pull) % 101 / 101)
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
                    print(error)
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                for lent in study.lent():
                    study.tell(lent.ticket, (37 * lent.ticket.arm + 11 * lent.ticket.pull) % 101 / 101)
                assert study.pulls in (told, told + 1), (study.pulls, told)
                assert study.ask()
        """)
        command = [sys.executable, "-c", program, str(tmp_path / "a.db")]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        assert "full" in ended.stdout

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
            study.disconnect()
        """)
        command = [sys.executable, "-c", program, str(tmp_path / "a.db")]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        assert "open it in each process" in ended.stdout
        assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
