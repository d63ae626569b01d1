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
    """Return a rater, and what requests name, all of it there: a study with results and tickets, a key, a link."""
    for name in server.service.studies.names():  # the same ones are made again
        server.service.delete_study(name)
    picture = server.picture()
    study = server.study(arms=["a", "b", "c", "d", {"label": "e", "picture": picture}])
    done, *_ = [study.ask(1, holder="m1")[0] for _ in range(4)]
    study.tell(done, 0.5, details={"answer": ["x"], "seconds": {"y": None}})
    study.tell(study.ask(1, holder="m2")[0], 0.5)
    study.exclude("m2")
    _, key = server.service.access.new_key("reader")
    link = server.link()
    rater = server.rater(link)
    rated, *_ = rater.next(2)
    rater.rate(rated["ticket"])
    there = {
        "name": "captions",
        "link": link["secret"],
        "key": key.id,
        "link id": link["id"],
        "picture": picture,
        "told": done.id,
        "open": study.held("m1")[0].id,
        "rated": rated["ticket"],
        "shown": rater.next()[0]["ticket"],
        "code": server.service.access.new_code(server.key),
    }
    return there, rater


STUDY = "/api/v1/studies/{name}"
RATING = "/api/v1/rating/{link}"
ARM = {"label": "a", "key": None, "kind": None}
HOLDER = {"holder": "m1"}
LINKS = {
    f"POST {RATING}/ratings": {"ratings": [{"ticket": "=shown", "answer": "funny"}]},
    f"POST {RATING}/skips": {"ticket": "=shown"},
    f"POST {RATING}/corrections": {"ticket": "=rated", "answer": "unfunny"},
    f"GET {RATING}/pictures/{{id}}": {"id": "=picture"},
    f"GET {STUDY}/tickets": HOLDER,
    f"POST {STUDY}/results": {"results": [{"ticket": "=open", "reward": 0.5, "details": {"answer": ["x"]}}]},
    f"POST {STUDY}/failures": {"ticket": "=open"},
    f"POST {STUDY}/releases": {"tickets": ["=open"], "holder": None},
    f"POST {STUDY}/observations": {"results": [{"label": "a", "reward": 0.5}]},
    f"POST {STUDY}/corrections": {"ticket": "=told", "reward": 1.0},
    f"POST {STUDY}/exclusions": HOLDER,
    f"GET {STUDY}/exclusions": HOLDER,
    f"DELETE {STUDY}/exclusions": {"holder": "m2"},
    f"POST {STUDY}/policy": {"policy": "b3"},
    f"POST {STUDY}/arms": {"arms": ["new", {"label": 7, "picture": "=picture"}]},
    f"GET {STUDY}/arm": ARM,
    f"DELETE {STUDY}/arm": ARM,
    f"GET {STUDY}/arm/results": ARM,
    f"GET {STUDY}/box": {"level": 0, "pulls": None},
    f"DELETE {STUDY}/links/{{id}}": {"id": "=link id"},
    f"POST {STUDY}/links/{{id}}/signatures": {"id": "=link id", "ids": ["ann"]},
    "POST /api/v1/studies": {
        "arms": ["a"],
        "sheet": None,
        "policy": None,
        "about": None,
        "known": None,
        "examples": None,
    },
    "POST /api/v1/session": {"secret": "=code"},
    "DELETE /api/v1/keys/{id}": {"id": "=key"},
    "GET /api/v1/pictures/{id}": {"id": "=picture"},
    "POST /api/v1/plan": {"arms": 20, "budgets": [20, 40], "noise": None, "spread": None, "want": None},
}
"""What an operation takes from the replies of others: =NAME is something that is there, None leaves a field out."""


def linked(values, link, there):
    """Return a body or parameters with the fields of a link."""
    fields = {**values, **found(link, there)}
    return {name: value for name, value in fields.items() if name not in link or link[name] is not None}


def found(value, there):
    """Return the part of a link with what is there in the places where it is named."""
    if isinstance(value, dict):
        return {name: found(part, there) for name, part in value.items()}
    if isinstance(value, list):
        return [found(part, there) for part in value]
    return there[value[1:]] if isinstance(value, str) and value.startswith("=") else value


def attack(server, operation, mode, examples, statuses=None):
    """Send requests to one operation, half of them linked to what is there; return those the server fails at."""
    failed, sent = [], 0
    link = LINKS.get(operation.label, {})
    of_path = {name: link[name] for name in link if f"{{{name}}}" in operation.path}
    rest = {name: link[name] for name in link.keys() - of_path}

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
        there, rater = prepared(server)
        is_linked = sent % 2 == 0
        server.service.is_stopping = lambda: not (is_linked and operation.path.endswith("/plan"))  # streams end
        client = rater.client if "{link}" in operation.path else server.client(server.key)
        path = operation.path
        for name, value in (case.path_parameters or {}).items():
            made_up = name != "link" and sent % 4 == 3
            given = found(of_path, there).get(name, there.get(name, ""))
            path = path.replace(f"{{{name}}}", quote(str(value), safe="", errors="replace") if made_up else given)
        made = case.as_transport_kwargs(base_url=BASE)
        headers = {
            name: value.encode("utf-8", "replace") if isinstance(value, str) else value
            for name, value in (made.get("headers") or {}).items()
            if name.lower() in ("content-type", "last-event-id")
        }
        body = {key: made[key] for key in ("json",) if made.get(key) is not None}
        if made.get("data") is not None:
            body["content"] = made["data"] if isinstance(made["data"], bytes) else str(made["data"]).encode()
        params = made.get("params")
        if is_linked and isinstance(body.get("json"), dict):
            body["json"] = linked(body["json"], rest, there)
        elif is_linked and rest and case.method in ("GET", "DELETE"):
            params = linked(params or {}, rest, there)
        sent += 1
        with suppress(InvalidURL):  # longer than any client sends
            reply = client.request(case.method, path, params=params, headers=headers, **body)
            if statuses is not None:
                statuses.append(reply.status_code)
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


@pytest.mark.parametrize("label", LABELS)
def test_every_operation_is_reached(server, operations, label):
    statuses = []
    assert attack(server, operations[label], GenerationMode.POSITIVE, 4, statuses) == []
    assert min(statuses) < 400, statuses


def test_every_link_is_of_an_operation():
    assert LINKS.keys() <= {*LABELS}


@pytest.mark.soak
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("label", LABELS)
def test_no_request_of_many_is_the_servers_fault(server, operations, label, mode):
    assert attack(server, operations[label], MODES[mode], examples=int(os.environ.get("BOXTHIRDING_FUZZ", "60"))) == []
