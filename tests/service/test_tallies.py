"""A server that starts again goes on from the tally that it kept, and from nothing that is of another history."""

import pytest
from serving import API, Server

from boxthirding import open_study
from boxthirding.service import rater_stats
from boxthirding.storage.opening import delete_study
from boxthirding.storage.server_records import StoredRecord
from boxthirding.study import Study

ONE = f"{API}/studies/captions"
ARMS = [f"caption {number}" for number in range(300)]


@pytest.fixture(autouse=True)
def _early(monkeypatch):
    monkeypatch.setattr(rater_stats, "_LEAST", 20)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "server.db"


def rated(server, raters=3):
    """Let raters rate, skip and hold arms."""
    link = server.link()
    for _ in range(raters):
        rater = server.rater(link)
        for turn in range(12):
            arm = rater.next(2)[0]
            if turn % 5 == 4:
                rater.post("skips", ticket=arm["ticket"], want=2)
            else:
                rater.rate(arm["ticket"], ("funny", "unfunny")[turn % 2], want=2, seconds=0.5 + turn)


def rated_at(place):
    """Start a server with a study that was rated."""
    server = Server(place)
    server.study(arms=ARMS)
    rated(server)
    return server


def said(server):
    """Return all that is said out of a tally."""
    replies = [server.operator.get(f"{ONE}/{what}").json() for what in ("raters", "history", "arms")]
    tally = server.service.studies.get("captions").tally
    return replies, tally.held_since(1e12), dict(tally.skips), tally.details, tally._seq


def read_from(monkeypatch):
    """Note after which events the journal is read."""
    seen, events = [], Study.events

    def noted(study, after=0, **settings):
        seen.append(after)
        return events(study, after, **settings)

    monkeypatch.setattr(Study, "events", noted)
    return seen


def test_it_goes_on_from_what_was_kept(place, monkeypatch):
    server = rated_at(place)
    before = said(server)
    server.service.close()
    with open_study(str(place), "captions") as study:  # another process, while the server is away
        study.tell(study.ask(holder="program")[0], 0.5)
        there = study.seq
    seen = read_from(monkeypatch)
    again = Server(place)
    rated(again, raters=1)
    after = said(again)
    assert min(seen) > 50
    assert [row["told"] for row in after[0][0]["raters"]].count(10) == 4
    assert after[-1] > there
    whole = rater_stats.Tally(again.service.studies.get("captions").study)
    whole.update()
    tally = again.service.studies.get("captions").tally
    for name in ("holders", "skips", "details", "_held", "_by_holder", "_labels", "_seq"):
        assert getattr(tally, name) == getattr(whole, name), name
    assert (tally.pace.bars(), tally.pace.seconds) == (whole.pace.bars(), whole.pace.seconds)
    assert before != after
    again.close()


@pytest.mark.parametrize(
    "data", [b"", b"x", rater_stats.zlib.compress(b"[]"), rater_stats.zlib.compress(b'{"version": 1}')]
)
def test_what_cannot_be_read_is_read_from_the_journal(place, data):
    server = rated_at(place)
    before = said(server)
    server.service.close()
    again = Server(place)
    again.service.records.put(rater_stats.KIND, StoredRecord(rater_stats.key_of("captions"), 0.0, data))
    assert said(again) == before
    again.close()


def test_a_tally_of_another_study_of_that_name_is_not_taken(place):
    server = rated_at(place)
    server.service.close()
    delete_study(str(place), "captions")
    with open_study(str(place), "captions", arms=ARMS) as study:
        for _ in range(100):
            study.tell(study.ask(holder="program")[0], 0.5)
    again = Server(place)
    assert [row["holder"] for row in again.operator.get(f"{ONE}/raters").json()["raters"]] == ["program"]
    again.close()


def test_it_goes_with_its_study(place):
    server = rated_at(place)
    assert server.service.records.count(rater_stats.KIND) == 1
    server.operator.delete(ONE)
    assert server.service.records.count(rater_stats.KIND) == 0
    server.close()
