"""`boxthirding study copy`: the same events in another place."""

import pytest
from click.testing import CliRunner

from boxthirding import open_study
from boxthirding.cli.commands import cli
from boxthirding.storage.opening import open_journal, shelf
from boxthirding.storage.server_records import StoredRecord


@pytest.fixture
def source(tmp_path):
    place = tmp_path / "contest.db"
    with open_study(place, "contest", arms=[f"arm {number}" for number in range(30)]) as study:
        for _ in range(60):
            study.tell(study.ask()[0], 0.5)
    records = shelf(place).records()
    records.put("picture", StoredRecord("abc", 1.0, b"\x89PNG"))
    records.put("key", StoredRecord("def", 1.0, b"{}"))
    records.close()
    return place


def texts(place, name):
    journal = open_journal(place, name)
    found = journal.read(0, 10**6)
    journal.close()
    return found


def run(*arguments):
    return CliRunner().invoke(cli, ["study", "copy", *map(str, arguments)])


def test_a_copy_has_the_same_events_and_goes_on_like_the_first(source, tmp_path):
    copied = run(source, tmp_path / "other.db", "--as", "second")
    assert copied.output == "Copied 121 events and 1 picture: study second has 60 pulls.\n"
    assert texts(source, "contest") == texts(tmp_path / "other.db", "second")
    records = shelf(tmp_path / "other.db").records()
    assert (records.count("picture"), records.count("key")) == (1, 0)
    records.close()
    with open_study(source, "contest") as first, open_study(tmp_path / "other.db", "second") as second:
        assert first.ask() == second.ask()


def test_a_name_that_is_taken_and_a_study_that_is_not_there_are_refused(source, tmp_path):
    run(source, tmp_path / "other.db")
    again = run(source, tmp_path / "other.db")
    assert (again.exit_code, "--as" in again.output) == (2, True)
    missing = run(source, tmp_path / "third.db", "--name", "none")
    assert (missing.exit_code, "no study 'none'" in missing.output) == (2, True)
    assert not (tmp_path / "third.db").exists()
    nowhere = run(tmp_path / "third.db", tmp_path / "fourth.db", "--name", "main")
    assert (nowhere.exit_code, "third.db has no studies" in nowhere.output) == (2, True)
    assert sorted(path.name for path in tmp_path.glob("*.db")) == sorted([source.name, "other.db"])


def test_a_damaged_journal_is_not_spread(source, tmp_path):
    import sqlite3

    with sqlite3.connect(source) as connection:
        connection.execute("UPDATE boxthirding_events SET event = replace(event, '0.5', '0.6') WHERE seq = 41")
    connection.close()
    copied = run(source, tmp_path / "other.db")
    assert (copied.exit_code, "event 41" in copied.output) == (2, True)
    with pytest.raises(ValueError, match="no study"):
        open_study(tmp_path / "other.db", "contest")
