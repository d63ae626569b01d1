"""`boxthirding study copy` between SQLite and PostgreSQL: the same events, and a study that goes on."""

from itertools import pairwise

import pytest
from click.testing import CliRunner

from boxthirding import open_study
from boxthirding.cli.commands import cli
from boxthirding.session.values import BY_CLOCK
from boxthirding.storage.opening import open_journal


def texts(place, name="contest"):
    journal = open_journal(place, name)
    try:
        return journal.read(0, 10**6)
    finally:
        journal.close()


@pytest.fixture
def file(tmp_path):
    """Return a file with a study to which everything has happened that a study knows."""
    place = str(tmp_path / "contest.db")
    arms = {f"Ärm {number} 🐈": {"text": f"caption {number}", "cost": number / 7} for number in range(30)}
    with open_study(place, "contest", arms=arms, details={"rating": {"question": "Funny?"}}) as study:
        for number in range(60):
            for ticket in study.ask(holder=f"rater {number % 3}", unseen=number % 2 == 0):
                study.tell(ticket, number / 7, details={"answer": "funny", "seconds": 0.1 * number})
        study.fail(study.ask()[0])
        study.release(study.ask(2)[1])
        study.observe("Ärm 3 🐈", 1e-300)
        study.correct(0, 0.1 + 0.2)
        study.exclude("rater 1")
        study.add({"new": [1]})
        study.withdraw("Ärm 4 🐈")
        study.use("us")
        study.pause()
    return place


@pytest.mark.parametrize("way", ["to PostgreSQL", "from PostgreSQL"])
def test_the_journal_is_equal_event_by_event_and_the_copy_goes_on(file, database, tmp_path, way):
    places = [file, database, *([str(tmp_path / "back.db")] if way == "from PostgreSQL" else [])]
    for source, target in pairwise(places):
        copied = CliRunner().invoke(cli, ["study", "copy", source, target])
        assert copied.exit_code == 0, copied.output
        assert texts(source) == texts(target)
    assert len(texts(file)) > 100
    with open_study(file, "contest", holder="m") as first, open_study(places[-1], "contest", holder="m") as second:
        assert second.state() == first.state()
        for study in (first, second):
            study.resume()
        for _ in range(40):
            tickets = first.ask(2)
            assert second.ask(2) == tickets
            for ticket in tickets:
                assert second.payload(ticket.label) == first.payload(ticket.label)
                for study in (first, second):
                    study.tell(ticket.id, float(len(ticket.label)))
        views = [study.view().as_dict() | dict.fromkeys(BY_CLOCK) for study in (first, second)]
        assert views[0] == views[1]
