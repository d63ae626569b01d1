"""A commit whose outcome was lost counts once: it is looked up, or reported as unsure."""

import psycopg
import pytest
from cutting import Cutting
from processes import Listening

from boxthirding import RemoteStudy, StudyUnavailable, open_study
from boxthirding.storage.sqlite_connection import SqliteConnection


@pytest.fixture
def proxy(server):
    one = Cutting(server.folder)
    yield one
    one.close()


@pytest.fixture
def cut(server, database, proxy):
    """Return the URL of an empty database behind the proxy."""
    return database.replace(str(server.folder), proxy.folder)


class TestStudy:
    def test_a_commit_whose_word_is_lost_is_looked_up(self, cut, proxy):
        with open_study(cut, "s", arms=["a", "b", "c"]) as study:
            proxy.arm()
            study.observe("a", 0.5)
            proxy.arm()
            tickets = study.ask(1)
            proxy.arm()
            study.tell(tickets[0], 1.0)
            assert (proxy.cuts, study.pulls, study.open) == (3, 2, 0)

    def test_listeners_hear_of_it_once(self, cut, proxy):
        heard = []
        with open_study(cut, "s", arms=["a", "b", "c"]) as study:
            study._transactions.listeners.append(lambda seq, _: heard.append(seq))
            proxy.arm()
            study.observe("a", 0.5)
            study.observe("b", 0.5)
            assert heard == [2, 3]

    def test_one_that_cannot_be_looked_up_is_unsure(self, cut, proxy):
        with open_study(cut, "s", arms=["a", "b", "c"]) as study:
            proxy.arm(closes=True)
            with pytest.raises(
                StudyUnavailable, match=r"the commit may have succeeded; look at the study before you try again$"
            ) as refused:
                study.observe("a", 0.5)
            assert (refused.value.unsure, refused.value.transient) == (True, True)
            with pytest.raises(StudyUnavailable, match=r"nothing is lost, try again$") as refused:
                study.observe("a", 0.5)  # nothing was sent
            assert not refused.value.unsure
            proxy.reopen()
            assert study.pulls == 1

    def test_an_error_after_the_commit_of_sqlite(self, tmp_path, monkeypatch):
        with open_study(tmp_path / "s.db", "s", arms=["a", "b", "c"]) as study:
            commit = SqliteConnection.commit

            def fails(self):
                commit(self)
                monkeypatch.undo()
                raise StudyUnavailable("the lock is gone", advice="nothing is lost, try again", transient=True)

            monkeypatch.setattr(SqliteConnection, "commit", fails)
            study.observe("a", 0.5)
            assert study.pulls == 1

    def test_a_file_that_was_moved_after_the_commit(self, tmp_path, monkeypatch):
        place, away = tmp_path / "s.db", tmp_path / "away.db"
        with open_study(place, "s", arms=["a", "b", "c"]) as study:
            commit = SqliteConnection.commit

            def moved(self):
                commit(self)
                place.rename(away)

            monkeypatch.setattr(SqliteConnection, "commit", moved)
            with pytest.raises(
                StudyUnavailable, match=r"moved or deleted .*may have succeeded; put it back"
            ) as refused:
                study.observe("a", 0.5)
            assert refused.value.unsure
            monkeypatch.undo()
            away.rename(place)
            assert study.pulls == 1


def test_an_interrupt_that_ends_a_pipeline_with_another_error_is_raised_as_an_interrupt(database, monkeypatch):
    leave = psycopg.Pipeline.__exit__

    def without_results(self, *error):
        leave(self, *error)
        [].pop()  # psycopg does so, if the interrupt came between a statement and its entry into the queue

    with open_study(database, "s", arms=500) as study:
        monkeypatch.setattr(psycopg.Pipeline, "__exit__", without_results)
        with pytest.raises(KeyboardInterrupt), study._transactions.journal.writing():
            raise KeyboardInterrupt
        monkeypatch.undo()
        assert len(study.ask(2)) == 2


class TestServer:
    @pytest.fixture
    def served(self, cut):
        one = Listening(cut)
        yield one
        one.close()

    def test_a_remote_call_counts_once(self, served, proxy):
        with RemoteStudy(served.url("s"), served.key, arms=["a", "b", "c"]) as study:
            proxy.arm()
            study.observe("a", 0.5)
            proxy.arm()
            assert len(study.ask(1)) == 1
            assert (proxy.cuts, study.pulls, len(study.held())) == (2, 1, 1)

    def test_one_whose_outcome_is_unknown_is_not_repeated(self, served, proxy):
        with RemoteStudy(served.url("s"), served.key, arms=["a", "b", "c"], timeout=5) as study:
            study.observe("b", 0.5)
            proxy.arm(closes=True)
            with pytest.raises(StudyUnavailable) as refused:
                study.observe("a", 0.5)
            assert refused.value.unsure
            proxy.reopen()
            assert study.pulls == 2
