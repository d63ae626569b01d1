"""Every place to keep a study in keeps the contract of a journal, and a broken one does not."""

from functools import partial

import pytest

from boxthirding import StudyUnavailable, open_study
from boxthirding.storage.memory import MemoryJournal, MemoryShelf
from boxthirding.storage.opening import open_journal
from boxthirding.storage.sqlite import SqliteJournal
from boxthirding.testing import ContractBroken, JournalContract


class TestMemory(JournalContract):
    between_processes = False

    def opener(self):
        return partial(MemoryShelf().journal, "contract")


class TestSqlite(JournalContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path):
        self.path = str(tmp_path / "contract.db")

    def opener(self):
        return partial(SqliteJournal, self.path, "contract")


class TestSqliteFull(TestSqlite):
    def opener(self):
        return partial(SqliteJournal, self.path, "contract", "full")


class TestPostgres(JournalContract):
    @pytest.fixture(autouse=True)
    def _place(self, database):
        self.url = database

    def opener(self):
        from boxthirding.storage.postgres import PostgresJournal

        return partial(PostgresJournal, self.url, "contract")


@pytest.mark.parametrize("after", [1, 3])
def test_whoever_does_not_write_after_the_last_text_is_refused(url, after):
    journal = open_journal(url, "contract")
    with journal.writing():
        journal.append(0, ["one", "two"])
    with pytest.raises(StudyUnavailable), journal.writing():
        journal.append(after, ["another"])
    assert journal.read(0, 99) == ["one", "two"]
    with journal.writing():
        journal.append(2, ["three"])
        journal.append(3, ["four"])
    assert journal.read(0, 99) == ["one", "two", "three", "four"]
    journal.close()


def test_a_study_that_was_restored_from_a_backup_while_it_was_open_goes_on_from_there(url):
    with open_study(url, "s", arms=5, holder="me") as study, open_study(url, "s") as other:
        one, two = study.ask(2)
        study.tell(one, 1.0)
        journal = other._transactions.journal
        events = "DELETE FROM boxthirding_events WHERE seq > 2"
        with journal.writing():
            journal._connection.run(events)
        with pytest.raises(StudyUnavailable, match="something else has changed or restored it"):
            study.tell(two, 0.5)
        study.tell(two, 0.5)
        assert study.pulls == 1
    with open_study(url, "s") as again:
        assert again.pulls == 1


class Careless(MemoryJournal):
    """Writes over what is there."""

    def append(self, after, texts):
        del self._pages.texts[after:]
        self._new.extend(texts)


class Hasty(MemoryJournal):
    """Writes before the end of the block."""

    def append(self, after, texts):
        super().append(after, texts)
        self._pages.texts.extend(self._new)
        self._new = []


class Forgetful(MemoryJournal):
    """Keeps no snapshot."""

    def keep(self, seq, snapshot):
        pass


class Anonymous(MemoryJournal):
    """Knows no names."""

    def __getattribute__(self, attribute):
        if attribute == "names":
            raise AttributeError(attribute)
        return super().__getattribute__(attribute)


class Generous(MemoryJournal):
    """Lets everybody have every name."""

    def names(self):
        return MemoryJournal().names()


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (Careless, "test_a_number_is_written_once"),
        (Hasty, "test_others_see_what_was_written_when_it_is_committed"),
        (Hasty, "test_a_block_that_raises_leaves_nothing"),
        (Forgetful, "test_the_two_latest_snapshots_are_kept"),
        (Anonymous, "test_a_name_is_one_workers_at_a_time"),
        (Generous, "test_a_name_is_one_workers_at_a_time"),
    ],
)
def test_a_broken_journal_is_found_out(kind, test):
    class Broken(JournalContract):
        def opener(self):
            pages = MemoryJournal()._pages
            return lambda: kind(pages)

    with pytest.raises(ContractBroken):
        getattr(Broken(), test)()
