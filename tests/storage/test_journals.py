"""Every place to keep a study in keeps the contract of a journal, and a broken one does not."""

from functools import partial

import pytest

from boxthirding.storage.memory import MemoryJournal, MemoryShelf
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
