"""The OpenAPI description: every operation has its replies, every body an example, and the server's own replies fit."""

import jsonschema
import pytest
from serving import API, SCALE, Server

ONE = f"{API}/studies/captions"


@pytest.fixture(scope="module")
def server():
    one = Server()
    yield one
    one.close()


@pytest.fixture(scope="module")
def whole(server):
    return server.app.openapi()


def operations(whole):
    return {(method, path): operation for path, found in whole["paths"].items() for method, operation in found.items()}


def closed(schema):
    """Return a schema that allows no fields but those it describes, except for the fields of events, which differ."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    is_open = "properties" not in schema or schema.get("title") == "Event"
    return {**({} if is_open else {"additionalProperties": False}), **{k: closed(part) for k, part in schema.items()}}


def validator(schema, whole):
    """Return what checks values: references in a schema lead into the description."""
    return jsonschema.Draft202012Validator({**schema, "components": whole["components"]})


def test_every_reply_is_described_with_a_schema(whole):
    for (method, path), operation in operations(whole).items():
        (status,) = {*operation["responses"]} - {"default"}
        assert status.startswith("2")
        if status == "204":
            assert "content" not in operation["responses"][status]
            continue
        for reply in operation["responses"].values():
            ((kind, content),) = reply["content"].items()
            assert content["schema"], (method, path, kind)
            validator(content["schema"], whole).check_schema(content["schema"])


def test_every_body_has_an_example_that_fits(whole):
    for (method, path), operation in operations(whole).items():
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            if kind.startswith("image/") or kind == "application/octet-stream":
                continue
            if kind != "application/json":
                assert content["example"], (method, path)
                continue
            name = content["schema"]["$ref"].rpartition("/")[2]
            examples = whole["components"]["schemas"][name]["examples"]
            assert examples, name
            for example in examples:
                validator(content["schema"], whole).validate(example)


def test_what_the_server_replies_is_as_described(server, whole):  # noqa: PLR0915  # one call for each operation
    """Every operation that answers with JSON is called, and its reply held against the schema: no field is left out."""
    whole = closed(whole)
    found = operations(whole)
    called = set()

    def check(reply, path, status=None):
        method = reply.request.method.lower()
        called.add((method, path))
        described = found[method, path]["responses"]
        assert (str(reply.status_code) in described) == (status is None), reply.text
        (content,) = described[str(reply.status_code) if status is None else "default"]["content"].values()
        validator(content["schema"], whole).validate(reply.json())
        return reply.json()

    owner, name = server.operator, f"{API}/studies/{{name}}"
    about = {"question": "Funny?", "scale": SCALE, "sitting": 5}
    check(
        owner.post(
            f"{API}/studies",
            json={"name": "captions", "arms": ["a", 1, {"label": "b", "payload": [1]}], "about": about},
        ),
        f"{API}/studies",
    )
    check(owner.put(ONE, json={"seed": 0}), name)
    check(owner.patch(ONE, json={"thanks": "Bye."}), name)
    check(owner.get(f"{API}/studies"), f"{API}/studies")
    check(owner.post(f"{API}/sheets", content=b"caption\na\n"), f"{API}/sheets")
    check(owner.post(f"{API}/plan", json={"arms": 2, "noise": 1, "spread": 1, "budgets": [1]}), f"{API}/plan")
    check(owner.post(f"{API}/pictures", content=b"GIF89a" + bytes(20)), f"{API}/pictures")
    link = check(owner.post(f"{ONE}/links", json={}), f"{name}/links")
    check(owner.get(f"{ONE}/links"), f"{name}/links")
    path = f"{ONE}/links/{link['id']}/signatures"
    check(owner.post(path, json={"ids": ["ann"]}), f"{name}/links/{{id}}/signatures")
    rater, rate = server.rater(link), f"{API}/rating/{{link}}"
    check(rater.start, f"{rate}/sitting")
    arms = check(rater.post("next", want=2), f"{rate}/next")["arms"]
    check(rater.rate(arms[0]["ticket"], seconds=1.0), f"{rate}/ratings")
    check(rater.post("corrections", ticket=arms[0]["ticket"], answer="unfunny"), f"{rate}/corrections")
    check(rater.post("skips", ticket=arms[1]["ticket"]), f"{rate}/skips")
    asked = check(owner.post(f"{ONE}/tickets", json={"n": 3, "holder": "m"}), f"{name}/tickets")["tickets"]
    check(owner.get(f"{ONE}/tickets", params={"holder": "m"}), f"{name}/tickets")
    rows = [{"ticket": asked[0]["id"], "reward": 1}] * 2
    check(owner.post(f"{ONE}/results", json={"results": rows}), f"{name}/results")
    check(owner.post(f"{ONE}/failures", json={"ticket": asked[1]["id"]}), f"{name}/failures")
    check(owner.post(f"{ONE}/failures", json={"ticket": 99}), f"{name}/failures", status=404)
    check(owner.post(f"{ONE}/failures", json={"ticket": -1}), f"{name}/failures", status=422)
    check(owner.post(f"{ONE}/releases", json={"holder": "m"}), f"{name}/releases")
    check(owner.post(f"{ONE}/workers", json={"alive": ["find_best-1"]}), f"{name}/workers")
    check(owner.post(f"{ONE}/reclaims"), f"{name}/reclaims")
    examples = {"examples": [{"json": "a"}, {"digest": "5f2d9e0c1b7a4e36"}], "order": [1, 0]}
    check(owner.post(f"{ONE}/examples", json=examples), f"{name}/examples")
    check(owner.post(f"{ONE}/observations", json={"results": [{"label": "a", "reward": 1}]}), f"{name}/observations")
    check(owner.post(f"{ONE}/corrections", json={"ticket": asked[0]["id"], "reward": 0}), f"{name}/corrections")
    check(owner.get(f"{ONE}/exclusions", params={"holder": "m"}), f"{name}/exclusions")
    check(owner.post(f"{ONE}/exclusions", json={"holder": "m"}), f"{name}/exclusions")
    check(owner.delete(f"{ONE}/exclusions", params={"holder": "m"}), f"{name}/exclusions")
    check(owner.post(f"{ONE}/arms", json={"arms": ["new"]}), f"{name}/arms")
    check(owner.delete(f"{ONE}/arm", params={"label": "new"}), f"{name}/arm")
    reads = ("top", "boxes", "ladder", "screening", "spread", "difficulties", "arms", "raters", "events", "grid")
    reads += ("answer", "history")
    for what in ("", *(f"/{read}" for read in reads)):
        check(owner.get(f"{ONE}{what}"), f"{name}{what}")
    check(owner.get(f"{ONE}/box", params={"level": 0}), f"{name}/box")
    check(owner.get(f"{ONE}/box", params={"pulls": 1}), f"{name}/box")
    check(owner.get(f"{API}/studies?brief=true"), f"{API}/studies")
    check(owner.get(f"{ONE}?brief=true"), name)
    check(owner.get(f"{ONE}/arms?brief=true"), f"{name}/arms")
    check(owner.get(f"{ONE}/arm?brief=true", params={"key": "'a'"}), f"{name}/arm")
    for label in ("a", "b", "1"):
        check(owner.get(f"{ONE}/arm", params={"label": label}), f"{name}/arm")
        check(owner.get(f"{ONE}/arm/results", params={"label": label}), f"{name}/arm/results")
    for verb in ("pause", "resume"):
        check(owner.post(f"{ONE}/{verb}"), f"{name}/{verb}")
    check(owner.post(f"{ONE}/policy", json={"policy": "us"}), f"{name}/policy")
    check(owner.post(f"{ONE}/finish"), f"{name}/finish")
    key = check(owner.post(f"{API}/keys", json={"scope": "reader"}), f"{API}/keys")["secret"]
    check(owner.get(f"{API}/keys"), f"{API}/keys")
    check(owner.get(f"{API}/session"), f"{API}/session")
    check(server.client().post(f"{API}/session", json={"secret": key}), f"{API}/session")
    check(server.client().get("/health"), "/health")
    answers = {
        pair
        for pair, operation in found.items()
        for reply in operation["responses"].values()
        if "application/json" in reply.get("content", {})
    }
    assert called == answers
