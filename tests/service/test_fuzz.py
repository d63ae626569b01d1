"""Requests made up from the OpenAPI description, for every operation: whatever comes, the server stays up."""

import os
from contextlib import suppress
from urllib.parse import quote

import pytest
import schemathesis
from httpx2 import InvalidURL
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.generation import GenerationMode
from serving import BASE, Server

MODES = {"valid": GenerationMode.POSITIVE, "wrong": GenerationMode.NEGATIVE}


def described(server):
    """Return the operations of a server by their names."""
    schema = schemathesis.openapi.from_dict(server.app.openapi())
    return {found.ok().label: found.ok() for found in schema.get_all_operations()}


@pytest.fixture(scope="module")
def server():
    one = Server()
    one.service.is_stopping = lambda: True  # so that a stream ends
    yield one
    one.close()


@pytest.fixture(scope="module")
def operations(server):
    return described(server)


def labels():
    server = Server()
    found = [*described(server)]
    server.close()
    return found


LABELS = labels()


def prepared(server):
    """Return what the paths name, all of it there: a study with results, a key, a link with a rater, a picture."""
    if "captions" not in server.service.studies.names():
        study = server.study()
        for ticket in study.ask(3, holder="m1"):
            study.tell(ticket, 0.5)
    _, key = server.service.access.new_key("reader")
    link = server.link()
    rater = server.rater(link)
    rater.next(2)
    return {"name": "captions", "link": link["secret"], "id": key.id}, rater


def attack(server, operation, mode, examples):
    """Send requests to one operation; return the answers that are the server's fault."""
    failed, sent = [], 0

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case):
        nonlocal sent
        names, rater = prepared(server)
        client = rater.client if "{link}" in operation.path else server.client(server.key)
        path = operation.path
        for name, value in (case.path_parameters or {}).items():
            made_up = name != "link" and sent % 4 == 3
            path = path.replace(f"{{{name}}}", quote(str(value), safe="", errors="replace") if made_up else names[name])
        made = case.as_transport_kwargs(base_url=BASE)
        headers = {
            name: value.encode("utf-8", "replace") if isinstance(value, str) else value
            for name, value in (made.get("headers") or {}).items()
            if name.lower() in ("content-type", "last-event-id")
        }
        body = {key: made[key] for key in ("json",) if made.get(key) is not None}
        if made.get("data") is not None:
            body["content"] = made["data"] if isinstance(made["data"], bytes) else str(made["data"]).encode()
        sent += 1
        with suppress(InvalidURL):  # longer than any client sends
            reply = client.request(case.method, path, params=made.get("params"), headers=headers, **body)
            if reply.status_code >= 500:
                failed.append((case.method, path, made, reply.text))

    try:
        send()
    except Unsatisfiable:  # it takes nothing, so that nothing can be wrong with it
        assert mode is GenerationMode.NEGATIVE
    else:
        assert sent > 0
    return failed


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("label", LABELS)
def test_no_request_is_the_servers_fault(server, operations, label, mode):
    assert attack(server, operations[label], MODES[mode], examples=3) == []


@pytest.mark.soak
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("label", LABELS)
def test_no_request_of_many_is_the_servers_fault(server, operations, label, mode):
    assert attack(server, operations[label], MODES[mode], examples=int(os.environ.get("BOXTHIRDING_FUZZ", "60"))) == []
