"""`boxthirding serve` as a process: the first key, its code, kills, keys made beside it, the demo, a port in use."""

import http.client
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys

import pytest
from invoking import invoke

pytestmark = pytest.mark.usefixtures("folder")

API = "/api/v1"


class Process:
    """A server in a process of its own."""

    def __init__(self, folder, *arguments):
        command = [sys.executable, "-m", "boxthirding", "serve", *map(str, arguments), "--port", "0"]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
        )
        self.said = []
        while not re.search(r"at (http://\S+):(\d+)", self.text):
            self.read()
        self.port = int(re.search(r"at http://\S+:(\d+)", self.text)[1])

    @property
    def text(self):
        return "\n".join(self.said)

    def read(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.said.append(line.rstrip())

    def find(self, pattern):
        """Return what follows a pattern in what the server says."""
        while not (found := re.search(pattern, self.text)):
            self.read()
        return found[1]

    def call(self, method, path, key=None, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json", **headers})
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return reply.status, json.loads(content) if content else None

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        _, errors = self.process.communicate()
        return self.process.returncode, errors


@pytest.fixture
def start(tmp_path):
    """Return a function that starts servers, which end with the test."""
    started = []

    def one(*arguments):
        started.append(Process(tmp_path, *arguments))
        return started[-1]

    yield one
    for process in started:
        if process.process.poll() is None:
            process.end(signal.SIGKILL)


def new_key(place):
    ended = invoke("serve", place, "--new-key")
    assert ended.exit_code == 0, ended.output
    return ended.stdout.strip()


def test_the_first_start_prints_a_key_and_a_code_that_works_once(start, tmp_path):
    server = start()
    key = server.find(r"shown this once: (\S+)")
    code = server.find(r"/#code=(\S+)")
    assert server.call("GET", f"{API}/studies", key) == (200, {"studies": [], "next": None})
    assert server.call("POST", f"{API}/session", body={"secret": code})[0] == 200
    assert server.call("POST", f"{API}/session", body={"secret": code})[0] == 403
    assert server.end() == (-signal.SIGTERM, "")
    assert (tmp_path / "boxthirding.db").exists()
    again = start()
    assert again.find(r"(printed at the first start)")
    assert again.call("GET", f"{API}/studies", key)[0] == 200
    assert "key_" not in again.text


def test_another_key_is_made_while_the_server_runs(start):
    server = start("x.db")
    key = new_key("x.db")
    assert server.call("GET", f"{API}/keys", key)[0] == 200


def test_what_is_said_about_a_lost_key_makes_one_when_typed(start, tmp_path):
    (tmp_path / "my data").mkdir()
    start("my data/x.db").end()
    server = start("my data/x.db")
    program, *arguments = shlex.split(server.find(r"`(.*)` makes another"))
    ended = invoke(*arguments)
    assert (program, ended.exit_code) == ("boxthirding", 0)
    assert server.call("GET", f"{API}/keys", ended.stdout.strip())[0] == 200


def test_what_was_acknowledged_survives_a_kill(start):
    server = start("x.db")
    key = server.find(r"shown this once: (\S+)")
    scale = [{"label": "no", "reward": 0}, {"label": "yes", "reward": 1}]
    body = {"name": "s", "arms": [f"arm {number}" for number in range(50)], "about": {"scale": scale}}
    assert server.call("POST", f"{API}/studies", key, body)[0] == 201
    told = 0
    for _ in range(30):
        _, asked = server.call("POST", f"{API}/studies/s/tickets", key, {"holder": "m"})
        results = [{"ticket": ticket["id"], "reward": 1.0} for ticket in asked["tickets"]]
        told += server.call("POST", f"{API}/studies/s/results", key, {"results": results})[0] == 200
    _, held = server.call("POST", f"{API}/studies/s/tickets", key, {"holder": "m"})
    server.end(signal.SIGKILL)
    again = start("x.db")
    _, view = again.call("GET", f"{API}/studies/s", key)
    assert view["pulls"] == told == 30
    _, there = again.call("GET", f"{API}/studies/s/tickets?holder=m", key)
    assert there["tickets"] == held["tickets"]


@pytest.mark.parametrize("place", [[], ["demo.db"]])
def test_the_demo_moves_by_itself(start, tmp_path, place):
    server = start(*place, "--demo")
    key = server.find(r"shown this once: (\S+)")
    server.find(r"(simulated raters)")
    pulls = 0
    while pulls < 5:
        _, view = server.call("GET", f"{API}/studies/demo", key)
        pulls = view["pulls"]
    assert view["about"]["question"]
    assert server.end() == (-signal.SIGTERM, "")
    assert [path.name for path in tmp_path.iterdir()] == place  # without a place nothing is left


@pytest.mark.parametrize("once", ["", "Idempotency-Key: one\r\n"])
def test_a_request_that_waits_when_the_server_stops_is_told_so(start, once):
    server = start("x.db")
    key = server.find(r"shown this once: (\S+)")
    server.call("POST", f"{API}/studies", key, {"name": "s", "arms": ["a"]})
    kind = "Content-Type: application/json\r\nContent-Length: 9\r\n"
    head = f"Host: localhost\r\nAuthorization: Bearer {key}\r\n{kind}{once}"
    with socket.create_connection(("127.0.0.1", server.port), 60) as waiting:
        waiting.sendall(f"POST {API}/studies/s/tickets HTTP/1.1\r\n{head}\r\n{{".encode())
        server.call("GET", "/health")  # until then the server has read that
        code, errors = server.end()
        reply = http.client.HTTPResponse(waiting)
        reply.begin()
        said = json.loads(reply.read())
    assert (reply.status, reply.headers["content-type"]) == (503, "application/problem+json")
    assert said["detail"] == "the server is stopping, and the request had not ended"
    assert (said["transient"], said["advice"]) == (True, "try again in a moment")
    assert code == -signal.SIGTERM
    assert "Traceback" not in errors


def test_an_open_stream_does_not_keep_the_server_from_ending(start):
    server = start("x.db")
    key = server.find(r"shown this once: (\S+)")
    server.call("POST", f"{API}/studies", key, {"name": "s", "arms": ["a"]})
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", f"{API}/studies/s/stream", headers={"Authorization": f"Bearer {key}"})
    reply = connection.getresponse()
    assert reply.readline().startswith(b":")
    assert server.end(signal.SIGINT)[0] == 130
    reply.close()
    connection.close()


def refused(*arguments):
    ended = invoke("serve", *arguments)
    assert (ended.exit_code, ended.stdout) == (2, ""), ended.output
    return ended.stderr


def test_a_port_in_use_is_said_before_anything_is_made(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} of 127.0.0.1 is in use" in refused("--port", port)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "999.1.1.1"], "cannot listen on 999.1.1.1"),
        (["none/x.db"], "there is no folder"),
        (["--public-url", "here"], "the public URL is 'here'"),
        (["ftp://x"], "url is 'ftp://x'"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(arguments, words):
    error = refused(*arguments, "--port", "0")
    assert words in error
    assert error.count("\n") == 1


def test_a_file_of_something_else_or_of_a_newer_version_is_refused(tmp_path):
    (tmp_path / "text.db").write_text("no database, but a text that is long enough to be looked at" * 20)
    assert "not an SQLite database" in refused("text.db", "--port", "0")
    new_key("new.db")
    import sqlite3

    with sqlite3.connect(tmp_path / "new.db") as connection:
        connection.execute("UPDATE boxthirding_schema SET version = 99")
    connection.close()
    assert "newer version" in refused("new.db", "--port", "0")
