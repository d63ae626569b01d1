"""Text of every kind: labels that are no UTF-8, and servers and clients that prefer another encoding."""

import os

import pytest

from boxthirding import InvalidInput, Session, StudyUnavailable, find_best, list_studies, open_study
from boxthirding.study import Entry
from boxthirding.study.events import Told

NOT_UTF8 = os.fsdecode(b"caf\xe9.txt")  # as os.listdir gives it
LABELS = (NOT_UTF8, "caf\\udce9.txt", "café.txt", "\U0001f422", "\0", "\x1b[31m\r\n", "\u202eabc", "\ud83d", "")


def keeps_its_study(url, name, *, labels=LABELS):
    """Make a study, and read it back on other connections."""
    with open_study(url, name, arms=labels, policy="us", holder="ż 🐢") as study:
        for reward, ticket in enumerate(study.ask(len(labels))):
            study.tell(ticket, reward)
        answer = study.recommend()
    assert list_studies(url) == [name]
    with open_study(url, name, arms=labels) as study:
        assert study.recommend() == answer
        assert {arm.label for arm in study.top(len(labels))} == set(labels)
        told = [entry.event for entry in study.events() if isinstance(entry, Entry) and isinstance(entry.event, Told)]
        assert len(told) == len(labels)


def test_any_text_can_be_a_label(url):
    keeps_its_study(url, "ż 🐢")


def test_a_search_ends_with_such_a_label(url):
    for study in (None, url):
        found = find_best([NOT_UTF8, "a", "b"], len, budget=12, study=study)
        assert (found.label, found.best) == (NOT_UTF8, NOT_UTF8)
        assert "Best: 'caf\\udce9.txt'" in str(found)
        assert str(found.session.why(NOT_UTF8)).startswith("caf\\udce9.txt: ")


def test_halves_of_a_character_side_by_side_are_refused(url):
    rule = r"label '\\ud83d\\ude00' has a character in two halves, but must have it as one: '😀'"
    with pytest.raises(InvalidInput, match=rule):
        Session(["a", "\ud83d\ude00"])
    with pytest.raises(InvalidInput, match=rule):
        open_study(url, arms={"\ud83d\ude00": 1})
    with pytest.raises(InvalidInput, match=rule):
        Session(iter(["\ud83d\ude00"])).ask()
    with open_study(url, arms=["a"]) as study, pytest.raises(InvalidInput, match=rule):
        study.add(["\ud83d\ude00"])


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "UTF8"])
def test_the_environment_may_prefer_another_encoding(database, encoding, monkeypatch):
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    keeps_its_study(database, "ż 🐢")
    with open_study(f"{database}&client_encoding={encoding}", "ż 🐢") as study:
        assert study.pulls == len(LABELS)


def test_a_database_may_have_another_encoding(other_server):
    keeps_its_study(other_server.url, "main")
    try:
        open_study(other_server.url, "ż 🐢", arms=2).close()
    except StudyUnavailable as refusal:
        assert other_server.encoding == "LATIN1"  # the other one holds every name
        assert "in the encoding UTF8" in refusal.advice  # noqa: PT017
    else:
        assert other_server.encoding == "SQL_ASCII"
        assert list_studies(other_server.url) == ["main", "ż 🐢"]
