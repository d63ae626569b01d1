"""Plans over HTTP: what ratings will give, simulated in a process of its own that ends when no one waits for it."""

import http.client
import json
import signal
import time
from pathlib import Path

import pytest
from anyio import to_process
from processes import Listening, Process
from serving import API

from boxthirding import plan
from boxthirding.service import plans
from boxthirding.service.plans import planned

ASKED = {"arms": 40, "noise": 0.25, "spread": 0.1, "budgets": [40, 80]}
ENDLESS = {"arms": 1_000_000, "noise": 4, "spread": 0.1, "budgets": [1_000_000]}


def made(server, **asked):
    return server.operator.post(f"{API}/plan", json=asked)


@pytest.mark.soak
def test_it_is_what_the_library_says_and_is_kept(server, monkeypatch):
    reply = made(server, **ASKED)
    assert reply.status_code == 200, reply.text
    said = reply.json()
    rows = plan(40, noise=0.25, spread=0.1, budgets=[40, 80]).rows
    assert [(row["budget"], row["rank"], row["percentile_9_of_10"]) for row in said["rows"]] == [
        (row.budget, row.rank, row.percentile_9_of_10) for row in rows
    ]
    assert said["known"]["source"] == "guesses"
    monkeypatch.setattr(plans, "_in_process", lambda *_: pytest.fail("it was simulated again"))
    assert made(server, **ASKED).json() == said


def test_what_cannot_be_planned_is_refused_in_words(server):
    reply = made(server, arms=1)
    assert (reply.status_code, reply.json()["error"]) == (422, "InvalidInput")
    assert "one arm needs no search" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"noise": 0.2}, "noise is given without spread"),
        ({"noise": 0.2, "spread": 0}, "if all arms are alike"),
        ({"noise": 0.2, "spread": 0.1, "want": "the moon"}, "the moon"),
    ],
)
def test_guesses_and_wishes_that_cannot_be_are_problems(asked, words):
    assert words in planned({"arms": 40, **asked})["problem"]


@pytest.mark.parametrize("asked", [{}, {"arms": 10**7}, {"arms": "many"}, {"arms": 4, "budgets": [0]}, {"x": 1}])
def test_what_does_not_fit_is_refused(server, asked):
    assert made(server, **asked).status_code == 422


def test_a_crowd_is_told_to_wait(server, monkeypatch):
    monkeypatch.setattr(server.service.planner, "_waiting", 8)
    assert made(server, **ASKED).status_code == 429


@pytest.mark.soak
def test_one_that_no_one_waits_for_ends_and_makes_room_for_the_next(monkeypatch):
    begun, start = [], to_process.open_process

    async def noted(*command, **settings):
        begun.append(await start(*command, **settings))
        return begun[-1]

    monkeypatch.setattr(to_process, "open_process", noted)
    server = Listening()
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    gone, patient = (http.client.HTTPConnection("127.0.0.1", server.port, timeout=400) for _ in range(2))
    gone.request("POST", f"{API}/plan", json.dumps(ENDLESS), headers)
    for _ in range(10_000):
        patient.request("GET", "/health")
        assert patient.getresponse().read() == b'{"status":"ok"}'
        if begun:
            break
    gone.close()
    patient.request("POST", f"{API}/plan", json.dumps(ASKED), headers)
    assert json.load(patient.getresponse())["arms"] == 40
    assert begun[0].returncode == -signal.SIGKILL
    patient.close()
    server.close()


@pytest.mark.soak
def test_one_of_a_server_that_was_killed_ends(tmp_path):
    with Process(tmp_path / "server.db") as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
        connection.request("POST", f"{API}/plan", json.dumps(ENDLESS), headers)
        children = Path(f"/proc/{server.running.pid}/task/{server.running.pid}/children")
        (child,) = until(lambda: children.read_text(encoding="ascii").split())
        server.kill()
        until(lambda: is_gone(child))
        connection.close()


def until(look, seconds=120):
    """Return what is looked for, once it is there."""
    ends = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < ends
        time.sleep(0.005)
    return found


def is_gone(process):
    """Tell whether a process has ended, though no one may have asked how."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
