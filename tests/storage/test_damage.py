"""A file that was damaged, in whatever way: each reader gives the same answer as before or says what is wrong."""

import sqlite3
from contextlib import closing

import pytest
from damage import EVENTS, SNAPSHOT, Attack, make

from boxthirding import JournalBroken, UnreadableData, open_study
from boxthirding.storage.opening import open_journal
from boxthirding.study import Damaged, read_journal


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Return the file of a study."""
    path = tmp_path / "source.db"
    make(path, monkeypatch)
    return path


def change(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def entries(path):
    with closing(open_journal(path)) as journal:
        return list(read_journal(journal, damaged=True))


def test_every_reader_gives_the_same_answer_or_says_what_is_wrong(source):
    attack = Attack(source, seed=3)
    assert [wrong for _ in range(30) for wrong in attack.strike()] == []


def test_a_hundred_bytes_that_are_missing_anywhere_are_noticed(source):
    attack, data = Attack(source, seed=0), source.read_bytes()
    copy = source.with_name("copy.db")
    for page in range(len(data) // 4096):
        place = 4096 * page + 3500
        for file in copy.parent.glob("copy.db*"):
            file.unlink()
        copy.write_bytes(data[:place] + data[place + 100 :])
        assert attack.wrong(f"cut at {place}") == []


@pytest.mark.parametrize("value", ["X'ff'", "7", "X''"])
def test_an_event_that_is_no_text(source, value):
    change(source, f"UPDATE boxthirding_events SET event = {value} WHERE seq = 50")  # noqa: S608
    change(source, "DELETE FROM boxthirding_snapshots")
    with pytest.raises(JournalBroken, match=r"event 50 reads .* save what can be read with `boxthirding study exp"):
        open_study(source)
    assert next(entry.seq for entry in entries(source) if isinstance(entry, Damaged)) == 50


def test_all_events_are_gone(source):
    change(source, "DELETE FROM boxthirding_events")
    for attempt in (lambda: open_study(source), lambda: open_study(source, arms=3)):
        with pytest.raises(JournalBroken, match=r"lacks all events of 'main'; restore it from a"):
            attempt()


def test_a_study_that_is_not_listed_any_more_is_not_written_over(source):
    change(source, "DELETE FROM boxthirding_studies")
    with pytest.raises(JournalBroken, match="is damaged: it has events of an unlisted study; restore it"):
        open_study(source, arms=3)
    assert len(entries_of(source)) == EVENTS


def entries_of(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT event FROM boxthirding_events").fetchall()


def test_events_that_are_missing_at_the_end_are_noticed_by_the_snapshots(source):
    change(source, f"DELETE FROM boxthirding_events WHERE seq >= {SNAPSHOT}")  # noqa: S608
    with pytest.raises(JournalBroken, match="there was an event 121, but the journal ends before it"):
        open_study(source)
    read = entries(source)
    assert [isinstance(entry, Damaged) for entry in read] == [False] * (SNAPSHOT - 1) + [True]


def test_what_is_before_and_after_a_gap_can_be_read(source):
    change(source, "DELETE FROM boxthirding_events WHERE seq BETWEEN 50 AND 52")
    read = entries(source)
    assert [entry.seq for entry in read] == list(range(1, EVENTS + 1))
    *_, after = damaged = [entry for entry in read if isinstance(entry, Damaged)]
    assert [entry.seq for entry in damaged] == [50, 51, 52, 53]
    assert after.problem == "event 53 cannot be checked, as the event before it is missing"
    assert after.text.startswith('{"event":')


def test_an_event_that_is_damaged_after_one_that_cannot_be_checked(source):
    change(source, "DELETE FROM boxthirding_events WHERE seq = 50")
    change(source, "UPDATE boxthirding_events SET event = replace(event, '\"at\":', '\"at\": ') WHERE seq = 52")
    assert [entry.seq for entry in entries(source) if isinstance(entry, Damaged)] == [50, 51, 52]


@pytest.mark.parametrize("damage", ["UPDATE boxthirding_schema SET version = 'x'", "DELETE FROM boxthirding_schema"])
def test_a_version_that_is_none(source, damage):
    change(source, damage)
    for attempt in (lambda: open_study(source), lambda: open_study(source, arms=3)):
        with pytest.raises(UnreadableData, match=r"has tables of version .*: it is damaged"):
            attempt()


def test_a_definition_that_is_no_text(source):
    data = source.read_bytes()
    source.write_bytes(data.replace(b"CREATE TABLE boxthirding_events", b"CREATE TABLE boxthirding_e\xff\xfents"))
    with pytest.raises(UnreadableData, match="is damaged"):
        open_study(source)
