"""Event streams over a socket: they begin where the reader was, bring what happens, and end when the key does."""

import http.client
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import uvicorn
from serving import API, Server

from boxthirding import open_study
from boxthirding.errors import StudyUnavailable
from boxthirding.service import streams
from boxthirding.service.limits import Limits
from boxthirding.service.streams import page
from boxthirding.storage.opening import delete_study


@pytest.fixture
def live(tmp_path):
    """Return a server that listens, over a file."""
    server = Server(tmp_path / "studies.db", limits=Limits(streams=2))
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(server.app, log_level="error", access_log=False, timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    server.port = listening.getsockname()[1]
    server.connections = []
    yield server
    for connection in server.connections:
        connection.close()
    running.should_exit = True
    thread.join()
    listening.close()


class Stream:
    """A reader of server-sent events."""

    def __init__(self, server, key, after=None, query="", **headers):
        more = {} if after is None else {"Last-Event-ID": str(after)}
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        path = f"{API}/studies/captions/stream{query}"
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}", **more, **headers})
        self.reply = connection.getresponse()
        server.connections += [connection, self.reply]
        self._lines = iter(self.reply.readline, b"")

    def next(self, count):
        """Return the next events, each with its id."""
        found, seq = [], None
        for line in self._lines:
            text = line.decode().rstrip("\n")
            if text.startswith("id: "):
                seq = int(text[4:])
            elif text.startswith("data: "):
                event = json.loads(text[6:])
                assert event["seq"] == seq
                found.append(event)
                if len(found) == count:
                    break
        return found

    def rest(self):
        return b"".join(self._lines)


def test_a_stream_brings_what_was_and_what_happens(live):
    study = live.study()
    study.ask()
    stream = Stream(live, live.key)
    assert stream.reply.headers["Content-Type"].startswith("text/event-stream")
    assert [event["event"] for event in stream.next(2)] == ["created", "asked"]
    study.tell(0, 0.5)
    (told,) = stream.next(1)
    assert (told["seq"], told["event"], told["reward"]) == (3, "told", 0.5)


def test_a_stream_resumes_after_the_last_event_that_was_seen(live):
    study = live.study()
    for _ in range(5):
        study.tell(study.ask()[0], 1.0)
    seen = Stream(live, live.key).next(4)
    again = Stream(live, live.key, after=seen[-1]["seq"]).next(7)
    assert [event["seq"] for event in [*seen, *again]] == list(range(1, 12))


def test_a_view_says_where_a_stream_goes_on(live):
    study = live.study()
    study.ask()
    view = live.operator.get(f"{API}/studies/captions").json()
    study.tell(0, 1.0)
    (told,) = Stream(live, live.key, after=view["seq"]).next(1)
    assert (view["open"], told["event"]) == (1, "told")


def test_what_another_process_writes_is_brought_too(live):
    live.study()
    stream = Stream(live, live.key, after=1)
    with open_study(live.place, "captions") as other:
        other.pause()
    assert [event["event"] for event in stream.next(1)] == ["paused"]


def test_more_events_than_are_kept_in_memory_are_read_from_the_journal(live):
    study = live.study(arms=[f"caption {number}" for number in range(50)])
    for _ in range(1300):
        study.tell(study.ask()[0], 1.0)
    assert [event["seq"] for event in Stream(live, live.key).next(2601)] == list(range(1, 2602))


def test_a_brief_stream_says_how_far_the_journal_is(live):
    study = live.study()
    for _ in range(5):
        study.tell(study.ask()[0], 1.0)
    stream = Stream(live, live.key, query="?brief=true")
    assert stream.next(1) == [{"seq": 11}]
    study.tell_all([(ticket, 1.0) for ticket in study.ask(3)])
    said = stream.next(1)
    while said[-1]["seq"] < study.seq:  # a moment may end between two events
        said += stream.next(1)
    assert said[-1] == {"seq": study.seq}
    assert len(said) < study.seq - 11
    study.pause()
    assert Stream(live, live.key, after=study.seq - 1, query="?brief=true").next(1) == [{"seq": study.seq}]


def test_a_brief_stream_of_another_study_of_the_name_begins_anew(live):
    live.study()
    assert Stream(live, live.key, after=31, query="?brief=true").next(1) == [{"seq": 1}]


def test_streams_in_step_share_what_is_read_of_the_journal(live, monkeypatch):
    study = live.study(arms=[f"caption {number}" for number in range(50)])
    for _ in range(1300):
        study.tell(study.ask()[0], 1.0)
    reads = []

    def slowly(study, after, count):
        reads.append(after)
        time.sleep(0.5)  # until the other stream has come
        return page(study, after, count)

    monkeypatch.setattr(streams, "page", slowly)
    both = [Stream(live, live.key) for _ in range(2)]
    for stream in both:
        assert [event["seq"] for event in stream.next(2601)] == list(range(1, 2602))
    assert len(reads) == len({*reads})


@pytest.mark.parametrize("query", ["", "?brief=true"])
def test_what_happens_while_no_stream_is_open_is_brought_to_the_next(live, query):
    study = live.study()
    announcer = live.service.studies.get("captions").announcer
    stream = Stream(live, live.key, after=1, query=query)
    assert stream.reply.readline() == b": welcome\n"
    live.connections.pop().close()
    live.connections.pop().close()
    while announcer.open:
        time.sleep(0.01)
    study.pause()
    assert [event["seq"] for event in Stream(live, live.key, after=1, query=query).next(1)] == [2]


def test_a_page_that_could_not_be_read_is_read_again(live, monkeypatch):
    live.study()
    failed = []

    def once_not(study, after, count):
        if not failed:
            failed.append(after)
            raise StudyUnavailable("the database is away", transient=True)
        return page(study, after, count)

    brief = Stream(live, live.key, after=1, query="?brief=true")  # open all the time
    monkeypatch.setattr(streams, "page", once_not)
    assert Stream(live, live.key).next(1) == []
    assert [event["event"] for event in Stream(live, live.key).next(1)] == ["created"]
    live.operator.post(f"{API}/studies/captions/pause")
    assert brief.next(1) == [{"seq": 2}]


def test_a_stream_ends_when_its_key_is_revoked(live):
    study = live.study()
    key, made = live.service.access.new_key("reader", "captions")
    stream = Stream(live, key)
    stream.next(1)
    live.operator.delete(f"{API}/keys/{made.id}")
    study.pause()
    assert b"paused" not in stream.rest()


def test_a_stream_of_a_study_that_is_deleted_ends(live):
    live.study()
    stream = Stream(live, live.key)
    stream.next(1)
    live.operator.delete(f"{API}/studies/captions")
    assert b"event" not in stream.rest()
    assert Stream(live, live.key).reply.status == 404


def test_a_key_has_no_more_streams_than_it_may(live):
    live.study()
    streams = [Stream(live, live.key) for _ in range(2)]
    for stream in streams:
        stream.next(1)
    refused = Stream(live, live.key)
    assert (refused.reply.status, "event streams" in refused.rest().decode()) == (429, True)
    other = Stream(live, live.new_key("reader"))
    assert other.reply.status == 200


def test_of_streams_of_the_same_moment_none_is_overlooked(live, monkeypatch):
    live.study()
    arrived, get = threading.Barrier(5), live.service.studies.get

    def together(name):
        arrived.wait()
        return get(name)

    monkeypatch.setattr(live.service.studies, "get", together)
    with ThreadPoolExecutor(5) as pool:
        opened = list(pool.map(lambda _: Stream(live, live.key), range(5)))
    assert sorted(stream.reply.status for stream in opened) == [200, 200, 429, 429, 429]
    assert live.service.streams.total() == 2


@pytest.mark.parametrize("after", ["x", "-1", "1" * 20, "１"])
def test_a_last_event_id_that_is_no_number_is_refused(server, after):
    server.study()
    headers = {"Last-Event-ID": after.encode()}
    assert server.operator.get(f"{API}/studies/captions/stream", headers=headers).status_code == 422


@pytest.mark.soak
def test_a_study_that_another_process_deletes_is_gone_for_all(live):
    live.study()
    stream = Stream(live, live.key)
    delete_study(live.place, "captions")
    stream.rest()
    assert live.operator.get(f"{API}/studies/captions").status_code == 404
    live.study(arms=["new"])
    assert live.operator.get(f"{API}/studies/captions").json()["arms"] == 1
