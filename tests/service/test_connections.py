"""Connections: the time in which a request must arrive, how many an address may have, and a server under many."""

import asyncio
import json
import resource
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial

import pytest
import uvicorn
from counting import COUNTS
from processes import Listening, Process
from uvicorn.server import ServerState

from boxthirding import open_study
from boxthirding.service import http_protocol
from boxthirding.service.http_protocol import HEADERS_TIME, SILENCE, TimedProtocol
from boxthirding.service.limits import Limits
from boxthirding.study.events import Told

HEAD = b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"


class Loop:
    """An event loop whose time is set by hand, and in which requests are never answered."""

    def __init__(self):
        self.now, self.timers = 0.0, []

    def call_later(self, seconds, call):
        self.timers.append((self.now + seconds, call, handle := asyncio.Handle(call, (), self)))
        return handle

    def get_debug(self):
        return False

    def create_task(self, coroutine, **_):
        coroutine.close()
        return Task()

    def wait(self, seconds):
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer[0] > self.now]
        for _, call, handle in due:
            if not handle.cancelled():
                call()


class Task:
    def add_done_callback(self, _):
        pass


class Transport:
    def __init__(self, address):
        self.address, self.sent, self.is_closed = address, b"", False

    def get_extra_info(self, name):
        return {"peername": (self.address, 5000), "sockname": ("127.0.0.1", 80)}.get(name)

    def write(self, data):
        self.sent += data

    def close(self):
        self.is_closed = True

    def is_closing(self):
        return self.is_closed

    def pause_reading(self):
        pass

    resume_reading = pause_reading

    @property
    def said(self):
        """The problem that was sent."""
        head, _, body = self.sent.partition(b"\r\n\r\n")
        assert b"content-type: application/problem+json" in head.lower()
        assert b"connection: close" in head.lower()
        return json.loads(body)


@pytest.fixture
def loop():
    return Loop()


@pytest.fixture
def connect(loop):
    """Return a function that connects from an address: a transport, and what it is sent to."""

    async def app(scope, receive, send):
        pass

    state = ServerState()
    make = partial(TimedProtocol, uvicorn.Config(app, interface="asgi3"), state, {}, loop, held=Counter(), most=3)

    def connected(address="10.0.0.1"):
        protocol, transport = make(), Transport(address)
        protocol.connection_made(transport)
        return protocol, transport

    return connected


def test_headers_that_drip_in_are_given_up_in_time(connect, loop):
    protocol, transport = connect()
    for second in range(int(HEADERS_TIME)):
        assert not transport.is_closed
        protocol.data_received(HEAD[second : second + 1])
        loop.wait(1)
    assert transport.is_closed
    assert (transport.said["status"], transport.said["detail"]) == (408, "the headers took more than 10 s")
    assert transport.said["advice"]


def test_a_connection_on_which_nothing_comes_is_closed_without_a_word(connect, loop):
    _, transport = connect()
    loop.wait(HEADERS_TIME)
    assert (transport.is_closed, transport.sent) == (True, b"")


def test_a_body_may_be_slow_and_is_given_up_when_it_stops(connect, loop):
    protocol, transport = connect()
    protocol.data_received(HEAD)
    for byte in b"123456789":
        loop.wait(SILENCE - 1)
        protocol.data_received(bytes([byte]))
    assert not transport.is_closed
    loop.wait(SILENCE)
    assert transport.is_closed


def test_a_body_that_the_server_does_not_read_is_not_given_up(connect, loop):
    protocol, transport = connect()
    protocol.data_received(HEAD)
    protocol.flow.pause_reading()
    loop.wait(SILENCE)
    assert not transport.is_closed
    protocol.flow.resume_reading()
    loop.wait(SILENCE)
    assert transport.is_closed


def test_a_whole_request_may_wait_for_its_answer(connect, loop):
    protocol, transport = connect()
    protocol.data_received(HEAD + b"0123456789")
    loop.wait(1000)
    assert not transport.is_closed


def test_the_next_request_of_a_connection_has_its_time_too(connect, loop):
    protocol, transport = connect()
    protocol.data_received(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = {"type": "http.response.start", "status": 204, "headers": []}
    for message in (answer, {"type": "http.response.body"}):
        with pytest.raises(StopIteration):
            protocol.cycle.send(message).send(None)
    protocol.data_received(HEAD[:9])
    loop.wait(HEADERS_TIME)
    assert transport.is_closed
    assert b"HTTP/1.1 408" in transport.sent


def test_an_address_has_so_many_connections_and_others_as_many(connect):
    held = [connect() for _ in range(3)]
    _, refused = connect()
    assert refused.is_closed
    assert refused.said["status"] == 429
    assert refused.said["detail"] == "10.0.0.1 has 4 connections, but may have 3"
    assert not connect("10.0.0.2")[1].is_closed
    for protocol, _ in (held[0], held[1]):
        protocol.connection_lost(None)
    assert not connect()[1].is_closed  # the refused one counts until it is gone


def test_a_server_that_listens_has_such_connections():
    server = Listening(limits=Limits(connections=2))
    try:
        held = [socket.create_connection(("127.0.0.1", server.port), 30) for _ in range(3)]
        replies = [connection.recv(12) for connection in held[2:]]
        for connection in held:
            connection.close()
        assert replies == [b"HTTP/1.1 429"]
    finally:
        server.close()


def test_as_many_files_may_be_open_as_the_system_allows(monkeypatch):
    limits = [256, 4096]
    monkeypatch.setattr(http_protocol.resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(http_protocol.resource, "setrlimit", lambda _, wanted: limits.__setitem__(0, wanted[0]))
    assert http_protocol.allow_open_files() == limits[0] == 4096


def test_where_there_is_no_limit_but_one_is_needed_ten_thousand_files_may_be_open(monkeypatch):
    limits = [256, resource.RLIM_INFINITY]

    def refuse(_, wanted):
        if wanted[0] == resource.RLIM_INFINITY:
            raise ValueError("current limit exceeds maximum limit")
        limits[0] = wanted[0]

    monkeypatch.setattr(http_protocol.resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(http_protocol.resource, "setrlimit", refuse)
    assert http_protocol.allow_open_files() == limits[0] == 10_240


UNFINISHED = (b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-", HEAD, HEAD + b"01234")
"""How far a request may come: nothing, half of its headers, no body, half of its body."""


def strangers(port):
    """Return connections from several addresses, one of which has more than it may, with requests that do not end."""
    made = []
    for address, count in (("127.0.0.2", 1_300), ("127.0.0.3", 400), ("127.0.0.4", 400)):
        for number in range(count):
            made.append(socket.create_connection(("127.0.0.1", port), 30, (address, 0)))
            with suppress(OSError):  # it was one too many
                made[-1].sendall(UNFINISHED[number % len(UNFINISHED)])
    return made


def drip(connections, seconds):
    """Send more bytes of headers that never end, now and then."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for connection in connections[1 :: len(UNFINISHED)]:
            with suppress(OSError):
                connection.send(b"x")
        time.sleep(0.5)


@pytest.mark.soak
def test_a_server_under_slow_and_unfinished_requests_answers_others(tmp_path):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, limit[1]), limit[1]))  # as most systems have it
    try:
        with Process(tmp_path / "studies.db") as server:
            http_protocol.allow_open_files()
            server.call("POST", "/studies", {"name": "captions", "arms": [f"arm {number}" for number in range(50)]})
            connections, told = strangers(server.port), []
            dripping = threading.Thread(target=drip, args=(connections, 2 * HEADERS_TIME))
            dripping.start()
            while dripping.is_alive():
                (ticket,) = server.call("POST", "/studies/captions/tickets", {"n": 1})["tickets"]
                row = {"ticket": ticket["id"], "reward": 0.5}
                (said,) = server.call("POST", "/studies/captions/results", {"results": [row]})["results"]
                assert said["outcome"] == "told"
                told.append(ticket["id"])
                time.sleep(0.02)
            dripping.join()
            for connection in connections:
                connection.settimeout(SILENCE + 30)
                with suppress(ConnectionError), connection:  # the server has closed it
                    while connection.recv(1000):
                        pass
                COUNTS["unfinished requests"] += 1
            server.running.send_signal(signal.SIGTERM)
            output, _ = server.running.communicate(timeout=60)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    with open_study(server.place, "captions") as study:
        stored = Counter(entry.event.ticket for entry in study.events() if isinstance(entry.event, Told))
    COUNTS["lost"] += len({*told} - stored.keys())
    COUNTS["doubled"] += stored.total() - len(stored)
    COUNTS["tracebacks"] += output.count("Traceback")
    assert len(told) > 100
    assert [*stored] == told
    assert set(stored.values()) == {1}
    assert "Traceback" not in output, output
