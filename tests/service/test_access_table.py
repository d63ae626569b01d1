"""Every endpoint against every credential. An endpoint that is not in the table fails the first test."""

import re
from pathlib import Path

import pytest
from serving import API, BASE, SCALE, Server

from boxthirding.service.server import ROUTERS

ONE = f"{API}/studies/{{name}}"
LINKED = f"{API}/rating/{{link}}"
PAGE = "/rate/{link}"

# Who gets in: all, link (the rating link), any (any valid key), reader, worker, operator (of the study),
# overseer (a reader of all studies), owner (an operator of all studies).
TABLE = {
    ("GET", "/"): "all",
    ("GET", "/new"): "owner",
    ("GET", "/studies/{name}"): "reader",
    ("GET", PAGE): "link",
    ("GET", "/static/{file}"): "all",
    ("GET", "/health"): "all",
    ("GET", "/openapi.json"): "all",
    ("GET", "/metrics"): "overseer",
    ("POST", f"{API}/session"): "all",
    ("GET", f"{API}/session"): "any",
    ("DELETE", f"{API}/session"): "any",
    ("GET", f"{API}/studies"): "any",
    ("POST", f"{API}/studies"): "owner",
    ("POST", f"{API}/sheets"): "some operator",
    ("POST", f"{API}/plan"): "some operator",
    ("POST", f"{API}/pictures"): "some operator",
    ("GET", f"{API}/pictures/{{id}}"): "any",
    ("GET", f"{API}/keys"): "some operator",
    ("POST", f"{API}/keys"): "some operator",
    ("DELETE", f"{API}/keys/{{id}}"): "some operator",
    ("GET", ONE): "reader",
    ("PUT", ONE): "worker",
    ("PATCH", ONE): "operator",
    ("DELETE", ONE): "owner",
    **{("GET", f"{ONE}/{what}"): "reader" for what in ("top", "boxes", "screening", "arms", "arm", "raters", "events")},
    **{("GET", f"{ONE}/{what}"): "reader" for what in ("arm/results", "spread", "difficulties")},
    ("GET", f"{ONE}/exclusions"): "operator",
    **{("GET", f"{ONE}/{what}"): "reader" for what in ("stream", "results.csv", "arms.csv", "journal.jsonl")},
    ("GET", f"{ONE}/report.html"): "reader",
    **{("GET", f"{ONE}/{what}"): "reader" for what in ("ladder", "grid", "box", "answer", "history")},
    **{("POST", f"{ONE}/{what}"): "worker" for what in ("tickets", "results", "failures", "releases")},
    **{("POST", f"{ONE}/{what}"): "worker" for what in ("workers", "reclaims", "examples")},
    ("GET", f"{ONE}/tickets"): "worker",
    **{("POST", f"{ONE}/{what}"): "operator" for what in ("pause", "resume", "finish", "policy", "arms")},
    **{("POST", f"{ONE}/{what}"): "operator" for what in ("observations", "corrections", "exclusions", "links")},
    ("DELETE", f"{ONE}/arm"): "operator",
    ("DELETE", f"{ONE}/exclusions"): "operator",
    ("GET", f"{ONE}/links"): "operator",
    ("DELETE", f"{ONE}/links/{{id}}"): "operator",
    ("POST", f"{ONE}/links/{{id}}/signatures"): "operator",
    **{("POST", f"{LINKED}/{what}"): "link" for what in ("sitting", "next", "ratings", "skips", "corrections")},
    ("GET", f"{LINKED}/pictures/{{id}}"): "link",
}

KEYS = ("reader", "worker", "operator", "overseer", "owner", "other study's", "other operator", "session")
NO_KEYS = ("no key", "revoked", "expired", "rating link", "rating link as a key", "garbage")

ADMITS = {
    "all": {*KEYS, *NO_KEYS},
    "link": {"rating link"},
    "any": {*KEYS},
    "reader": {"reader", "worker", "operator", "overseer", "owner", "session"},
    "worker": {"worker", "operator", "owner", "session"},
    "operator": {"operator", "owner", "session"},
    "overseer": {"overseer", "owner", "session"},
    "owner": {"owner", "session"},
    "some operator": {"operator", "owner", "session", "other operator"},
}


@pytest.fixture(scope="module")
def server():
    one = Server()
    one.study("mine")
    one.study("other")
    yield one
    one.close()


def test_the_table_has_every_endpoint(server):
    routed = {
        (method, prefix + route.path)
        for prefix, router in ROUTERS
        for route in router.routes
        for method in route.methods
    }
    assert routed | {("GET", "/openapi.json")} == set(TABLE)
    assert len(server.app.routes) == len(ROUTERS) + 1  # the one is /openapi.json


@pytest.fixture(scope="module")
def credentials(server):
    """Return what each kind of caller sends."""
    expired = server.new_key("operator", seconds=1.0)
    secret, revoked = server.service.access.new_key("operator")
    server.service.access.keys.revoke(revoked.id)
    server.now += 10
    link = server.link("mine")["secret"]

    def bearer(key):
        return {"Authorization": f"Bearer {key}"}

    return link, {
        "no key": {},
        "garbage": {"Authorization": "Basic ä".encode()},
        "reader": bearer(server.new_key("reader", "mine")),
        "worker": bearer(server.new_key("worker", "mine")),
        "operator": bearer(server.new_key("operator", "mine")),
        "overseer": bearer(server.new_key("reader")),
        "owner": bearer(server.key),
        "session": None,  # one that was ended is of no use, so that each request has its own
        "other study's": bearer(server.new_key("worker", "other")),
        "other operator": bearer(server.new_key("operator", "other")),
        "revoked": bearer(secret),
        "expired": bearer(expired),
        "rating link": {},
        "rating link as a key": bearer(link),
    }


BAD = b'{"a body": that is no JSON'


@pytest.mark.parametrize("who", [*KEYS, *NO_KEYS])
@pytest.mark.parametrize(("method", "path"), list(TABLE), ids=[" ".join(pair) for pair in TABLE])
def test_who_gets_in(server, credentials, method, path, who):
    link, held = credentials
    secret = link if who == "rating link" else "link_of_no_one"
    name = "spare" if (method, path) == ("DELETE", ONE) else "mine"  # its keys go with a study
    target = path.format(name=name, link=secret, id="0" * 12, file="index.js")
    if path.endswith("/stream"):
        target += "?after=-1"  # refused after the door, as a stream would not end
    if "spare" not in server.service.studies.names():  # an owner has just deleted it
        server.study("spare")
    session = {"Cookie": f"boxthirding={server.service.access.open_session(server.key)[0]}", "Origin": BASE}
    headers = {"Content-Type": "application/json", **(held[who] if who != "session" else session)}
    reply = server.client().request(method, target, headers=headers, content=BAD if method != "GET" else None)
    if who in ADMITS[TABLE[method, path]]:
        not_a_rater = path.startswith(LINKED) and reply.status_code == 403 and "cookie" in reply.json()["detail"]
        assert reply.status_code not in (401, 403) or not_a_rater, reply.text
        assert reply.status_code < 500
    else:
        known = who in KEYS
        assert reply.status_code == (403 if known or path.startswith((LINKED, PAGE)) else 401), reply.text
        assert reply.headers["content-type"] == "application/problem+json"


def test_without_a_key_a_path_that_is_not_there_and_a_huge_body_are_not_looked_at(server):
    def endless():
        yield b"x" * 1000
        raise AssertionError("the body was read")

    stranger = server.client()
    for path in ("/nothing", f"{API}/studies/none", f"{API}/../keys", "/metrics/"):
        assert stranger.post(path, content=endless()).status_code == 401


@pytest.mark.parametrize("path", ["/new", "/studies/mine", "/studies/none"])
def test_a_browser_without_a_key_is_told_on_a_page_how_to_get_in(server, path):
    reply = server.client().get(path, headers={"Accept": "text/html,*/*"})
    assert (reply.status_code, reply.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "serve PLACE --new-key" in reply.text
    reply = server.client(server.new_key("reader", "other")).get(path, headers={"Accept": "text/html,*/*"})
    assert (reply.status_code, reply.headers["content-type"]) == (403, "text/html; charset=utf-8")


def test_a_key_of_one_study_learns_nothing_of_others(server):
    mine = server.client(server.new_key("operator", "mine"))
    replies = [mine.get(f"{API}/studies/{name}") for name in ("other", "none")]
    assert [reply.status_code for reply in replies] == [403, 403]
    assert replies[0].json() == replies[1].json()
    assert [row["name"] for row in mine.get(f"{API}/studies").json()["studies"]] == ["mine"]


def test_an_operator_of_one_study_makes_lists_and_revokes_keys_of_that_study_only(server):
    mine = server.client(server.new_key("operator", "mine"))
    assert mine.post(f"{API}/keys", json={"scope": "reader"}).status_code == 403
    assert mine.post(f"{API}/keys", json={"scope": "reader", "study": "other"}).status_code == 403
    made = mine.post(f"{API}/keys", json={"scope": "reader", "study": "mine"}).json()
    assert {key["study"] for key in mine.get(f"{API}/keys").json()["keys"]} == {"mine"}
    theirs = next(key["id"] for key in server.operator.get(f"{API}/keys").json()["keys"] if key["study"] is None)
    assert mine.delete(f"{API}/keys/{theirs}").status_code == 404
    reader = server.client(made["secret"])
    assert reader.get(f"{API}/studies/mine").status_code == 200
    assert mine.delete(f"{API}/keys/{made['id']}").status_code == 204
    assert reader.get(f"{API}/studies/mine").status_code == 401


def test_a_study_can_be_made_by_an_owner(server):
    reply = server.operator.post(f"{API}/studies", json={"name": "new", "arms": ["x"], "about": {"scale": SCALE}})
    assert reply.status_code == 201


def test_every_endpoint_is_documented_and_no_other():
    page = Path(__file__).parents[2] / "docs" / "reference" / "service.md"
    named = re.findall(r"^\| `(\w+) (\S+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(TABLE)
