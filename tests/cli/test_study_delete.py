"""`boxthirding study delete`: gone for good, but only after a y or with --yes."""

import json
import sqlite3

import pytest
from click.testing import CliRunner
from invoking import done, refused

from boxthirding import list_studies, open_study
from boxthirding.cli.commands import cli
from boxthirding.storage.opening import shelf
from boxthirding.storage.server_records import StoredRecord


@pytest.fixture(autouse=True)
def _two_studies(folder):
    for name in ("first", "second"):
        with open_study(folder / "lab.db", name, arms=["ann", "bob", "zoe"]) as study:
            study.tell(study.ask()[0], 1.0)
            study.ask()


def answered(answer, *arguments):
    return CliRunner().invoke(cli, ["study", "delete", "lab.db", *arguments], input=answer)


@pytest.mark.parametrize("answer", ["y\n", "YES\n", "y"])
def test_after_a_yes_it_is_gone_and_the_other_is_whole(answer):
    ended = answered(answer, "--name", "first")
    assert ended.exit_code == 0
    assert ended.stderr.rstrip("\n") == "Permanently delete study first with 1 pull of 1 arm, 1 ticket open? [y/N] "
    assert ended.stdout == "Deleted study first with 1 pull of 1 arm, 1 ticket open.\n"
    assert list_studies("lab.db") == ["second"]
    with open_study("lab.db", "second") as study:
        assert study.pulls == 1


@pytest.mark.parametrize("answer", ["n\n", "\n", "", "yess\n"])
def test_without_a_yes_nothing_is_deleted(answer):
    ended = answered(answer, "--name", "first")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.endswith("Error: study 'first' was not deleted: answer y, or pass --yes\n")
    assert list_studies("lab.db") == ["first", "second"]


def test_a_script_is_not_asked_and_is_told_when_none_is_left():
    done("delete", "lab.db", "--name", "first", "--yes")
    assert done("delete", "lab.db", "--yes").endswith(" lab.db has no more studies.\n")
    assert list_studies("lab.db") == []


def test_one_that_cannot_be_read_can_be_deleted():
    with sqlite3.connect("lab.db") as connection:
        connection.execute("UPDATE boxthirding_events SET event = 'x'")
        connection.execute("DELETE FROM boxthirding_snapshots")
    connection.close()
    told = done("delete", "lab.db", "--name", "first", "--yes")
    assert told == "Deleted study first with all it has (it cannot be read).\n"
    assert list_studies("lab.db") == ["second"]


def test_what_lets_one_in_to_it_on_a_server_is_gone_too():
    records = shelf("lab.db").records()
    for kind in ("key", "link"):
        for number, of in enumerate(["first", "second", None]):
            records.put(kind, StoredRecord(f"{number}", 1.0, json.dumps({"id": f"{number}", "study": of}).encode()))
    done("delete", "lab.db", "--name", "first", "--yes")
    assert [[record.id for record in records.all(kind)] for kind in ("key", "link")] == [["1", "2"]] * 2
    records.close()


def test_bad_input_is_refused_and_deletes_nothing():
    said = refused("delete", "lab.db", "--name", "frist", "--yes")
    assert "no study 'frist' here (did you mean 'first'?), and the studies there are 'first', 'second'" in said
    assert "lab.db has 2 studies: say which with --name (first, second)" in refused("delete", "lab.db", "--yes")
    assert "none.db has no studies" in refused("delete", "none.db", "--yes")
    assert "which is on a server" in refused("delete", "http://localhost:1/#first", "--yes")
    assert list_studies("lab.db") == ["first", "second"]
