"""What a stranger to the API reads who sends something wrong: which value, which rule, what to do."""

import base64
import json
import re
from urllib.parse import quote

import pytest
from serving import API, BASE
from starlette.testclient import TestClient

from boxthirding.policies import SequentialHalving

ONE = f"{API}/studies/captions"
MINE = f"{API}/studies"
PYTHON = re.compile(r"\w\(|\w=(True|False|None)\b|\bSession\b|\bopen_study\b|\bfind_best\b|`boxthirding study use`")
"""What a reader of the API cannot type."""


def refused(reply, status=422):
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    said = reply.json()
    assert said["advice"]
    return said


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        (MINE, {"arms": ["a", "b"]}, "name is missing"),
        (MINE, {"name": "a/b", "arms": ["a"]}, 'name is "a/b", but must be text in one line without a slash'),
        (MINE, {"name": "x", "arms": "a,b"}, 'arms is "a,b", but must be a valid list or be a valid integer'),
        (
            MINE,
            {"name": "x", "arms": ["a", 2.5]},
            (
                "arms.1 is 2.5, but must be a valid string or be a valid dictionary or object to extract fields from "
                "or be a valid integer"
            ),
        ),
        (
            MINE,
            {"name": "x", "arms": [{"label": 2.5}]},
            "arms.0.label is 2.5, but must be a valid string or be a valid integer",
        ),
        (MINE, {"name": "x", "arms": [{"label": "a", "txt": "b"}]}, "arms.0.txt is not known here"),
        (MINE, {"name": "x", "arms": ["a"], "seed": True}, "seed is true, but must be a valid integer"),
        (
            MINE,
            {"name": "x", "arms": ["a"], "direction": "up"},
            "direction is \"up\", but must be 'maximize' or 'minimize'",
        ),
        (
            MINE,
            {"name": "x", "arms": ["a"], "about": {"completion": "javascript:alert(1)"}},
            'about.completion is "javascript:alert(1)", but must be an address that begins with https://',
        ),
        (f"{ONE}/tickets", {"n": 0}, "n is 0, but must be greater than or equal to 1"),
        (f"{ONE}/results", {"results": []}, "results is [], but must have at least 1 item after validation, not 0"),
        (
            f"{ONE}/results",
            {"results": [{"ticket": 1, "reward": "abc"}]},
            'results.0.reward is "abc", but must be a valid number',
        ),
        (f"{ONE}/results", [], "body is [], but must be a valid dictionary or object to extract fields from"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_rule(server, path, body, detail):
    server.study()
    said = refused(server.operator.post(path, json=body))
    assert said["detail"] == detail
    where = said["errors"][0]["where"]
    assert detail == f"{where} {said['errors'][0]['what']}"


def test_a_body_that_is_wrong_a_hundred_thousand_times_is_answered_with_the_first_few(server):
    said = refused(server.operator.post(MINE, json={"name": "x", "arms": [1.5] * 100_000}))
    assert [row["where"] for row in said["errors"]] == [f"arms.{number}" for number in range(20)]


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ("boxes?level=x", "a valid integer, unable to parse string as an integer"),
        ("grid?open=x", "numbers of levels with commas between them"),
        ("box?level=1&deferment=x", "how often arms have waited, or pile"),
        ("screening?share=2", "less than or equal to 1"),
    ],
)
def test_no_rule_is_a_regular_expression(server, parameters, rule):
    server.study()
    assert refused(server.operator.get(f"{ONE}/{parameters}"))["detail"].endswith(f"but must be {rule}")


def test_a_key_that_may_do_too_little_is_told_which_one_may(server):
    server.study()
    server.study("other")
    reader = server.client(server.new_key("reader", "captions"))
    assert "scope operator" in refused(reader.post(f"{ONE}/pause"), 403)["advice"]
    assert refused(reader.get(f"{MINE}/other"), 403)["advice"]
    assert refused(server.client(server.new_key("operator", "captions")).post(MINE, json={}), 403)["advice"]
    headers = {"Content-Type": "application/json"}
    nan = server.operator.post(f"{ONE}/results", content='{"results": [{"ticket": 0, "reward": NaN}]}', headers=headers)
    assert refused(nan, 400)["advice"]


def test_a_long_value_is_cut(server):
    said = refused(server.operator.post(MINE, json={"name": "n" * 300, "arms": ["a"]}))
    assert said["detail"].endswith("…, but must have at most 200 characters")
    assert len(said["detail"]) < 120


def test_a_label_that_is_not_there_is_cut(server):
    server.study()
    said = refused(server.operator.get(f"{ONE}/arm", params={"label": "n" * 20_000}), 404)
    assert said["detail"].startswith("label 'nnn")
    assert len(said["detail"]) < 300


def test_a_number_that_is_too_large_is_held_against_all_digits_of_the_largest(server):
    said = refused(server.operator.post(MINE, json={"name": "x", "arms": ["a"], "seed": 2**53 + 1}))
    assert said["detail"] == "seed is 9007199254740993, but must be less than or equal to 9007199254740992"


def test_nothing_changes_the_answer_of_a_finished_study(server):
    ticket = told(server)
    (still_open,) = server.operator.post(f"{ONE}/tickets", json={"holder": "m1"}).json()["tickets"]
    before = server.operator.post(f"{ONE}/finish").json()
    for verb, body in (
        ("tickets", {}),
        ("results", {"results": [{"ticket": still_open["id"], "reward": 1}], "together": True}),
        ("failures", {"ticket": still_open["id"]}),
        ("corrections", {"ticket": ticket, "reward": 1}),
        ("observations", {"results": [{"label": "a", "reward": 1}]}),
        ("exclusions", {"holder": "m1"}),
    ):
        said = refused(server.operator.post(f"{ONE}/{verb}", json=body), 409)
        assert (said["error"], verb) == ("StudyFinished", verb)
        assert "is finished for good, so nothing changes its answer: " in said["detail"]
        assert "make another study" in said["advice"]
    results = {"results": [{"ticket": still_open["id"], "reward": 1}]}
    (row,) = server.operator.post(f"{ONE}/results", json=results).json()["results"]
    assert (row["outcome"], row["problem"]["error"]) == ("refused", "StudyFinished")
    after = server.operator.get(ONE).json()
    assert after == before


def test_a_parameter_that_does_not_fit_is_named(server):
    server.study()
    said = refused(server.operator.get(f"{ONE}/arms", params={"count": "many"}))
    assert said["detail"] == 'count is "many", but must be a valid integer, unable to parse string as an integer'


def test_a_body_that_is_no_json_says_where(server):
    headers = {"Content-Type": "application/json"}
    said = refused(server.operator.post(MINE, content="{name", headers=headers))
    assert said["detail"].startswith("body is not JSON: ")


def test_a_body_without_its_type_says_which_header_is_missing(server):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    said = refused(server.operator.post(MINE, content='{"name": "x", "arms": ["a"]}', headers=headers))
    assert "Content-Type: application/json" in said["advice"]


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nothing", 404), ("PUT", "/studies", 405)])
def test_a_path_or_method_that_is_not_there_says_where_to_look(server, method, path, status):
    said = refused(server.operator.request(method, f"{API}{path}"), status)
    assert "/openapi.json" in said["advice"]


def test_a_program_that_rates_is_told_of_the_origin(server):
    server.study()
    rater = server.rater(server.link())
    del rater.client.headers["Origin"]
    assert refused(rater.post("next"), 403)["advice"].endswith("Origin: http://127.0.0.1:8000")


def test_headers_that_are_too_large_are_refused(server):
    said = refused(server.operator.get(MINE, headers={"X-Long": "x" * 40_000}), 431)
    assert "32,768" in said["detail"]


def test_an_arm_without_a_text_is_refused_with_its_row(server):
    sheet = {"base64": base64.b64encode(b"caption;score\nfirst;1\n ;2\n").decode()}
    reply = server.operator.post(MINE, json={"name": "x", "sheet": sheet})
    assert reply.status_code == 422
    assert "row 2 (line 3): caption is empty" in reply.json()["detail"]


@pytest.mark.parametrize("name", [" ", ".", "..", "\u2003"])
def test_a_name_that_no_address_or_list_can_show_is_refused(server, name):
    path = {"type": "http", "raw_path": f"{MINE}/{quote(name)}".encode(), "path": f"{MINE}/{name}"}  # as it comes in

    async def named(scope, receive, send):
        await server.app({**scope, **path} if scope["method"] == "PUT" else scope, receive, send)

    client = TestClient(named, base_url=BASE, headers=server.operator.headers)
    for reply in (client.post(MINE, json={"name": name, "arms": ["a"]}), client.put("/", json={"arms": ["a"]})):
        assert (reply.status_code, reply.json()["error"]) == (422, "InvalidInput")
        assert reply.json()["detail"] == (
            f"the name of the study is {name!r}, but on a server it must not be blank, . or .., and not have a slash: "
            "choose another"
        )
    assert server.service.studies.names() == []


def test_a_name_with_a_slash_is_refused_in_a_path_too(server):
    said = refused(server.operator.put(f"{MINE}/a%2Fb", json={"arms": ["a"]}), 404)
    assert (said["detail"], said["advice"]) == (
        "the path has %2F, but no name on a server has a slash",
        "choose another name",
    )


@pytest.mark.parametrize("reward", ["1", True, False, None, [1]])
def test_a_reward_that_is_no_number_is_refused_with_its_value(server, reward):
    server.study()
    row, known = {"ticket": 0, "reward": reward}, {"label": "a", "reward": reward}
    new = {"name": "new", "arms": ["a", "b"]}
    for reply in (
        server.operator.post(f"{ONE}/results", json={"results": [row]}),
        server.operator.post(f"{ONE}/results", json={"results": [row], "together": True}),
        server.operator.post(f"{ONE}/corrections", json=row),
        server.operator.post(f"{ONE}/observations", json={"results": [known]}),
        server.operator.post(MINE, json={**new, "known": [known]}),
        server.operator.put(f"{MINE}/new", json={"arms": ["a", "b"], "known": [known]}),
        server.operator.post(MINE, json={**new, "about": {"scale": [known, {"label": "b", "reward": 0}]}}),
        server.operator.patch(ONE, json={"scale": [known, {"label": "b", "reward": 0}]}),
    ):
        detail = refused(reply)["detail"]
        assert detail.endswith(f"reward is {json.dumps(reward)}, but must be a valid number"), detail


# What to do, in words of the API


def told(server, policy="chase"):
    """Make a study with one result, and return its ticket."""
    study = server.study(arms=["a", "b"], policy=policy)
    (ticket,) = study.ask()
    study.tell(ticket, 0.5)
    return ticket.id


CHANGED = {"arms": [{"label": "a", "payload": 1}, "b"]}

REFUSALS = {
    "never issued": ("chase", "POST", "/corrections", {"ticket": 77, "reward": 1}, "POST {one}/tickets"),
    "of another study": ("chase", "POST", "/failures", {"ticket": 0, "origin": "x"}, "POST {one}/tickets"),
    "told already": ("chase", "POST", "/failures", {"ticket": 0}, "POST {one}/corrections"),
    "cannot be corrected": ("sh:budget=9", "POST", "/corrections", {"ticket": 0, "reward": 1}, "POST {one}/policy"),
    "cannot go on": ("chase", "POST", "/policy", {"policy": "sh:budget=9"}, "POST {one}/policy"),
    "other settings": ("chase", "PUT", "", {"seed": 5}, "POST {one}/arms"),
    "other payloads": ("chase", "PUT", "", CHANGED, "force: true"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_advice_names_endpoints_and_no_python(server, case):
    policy, method, path, body, way_out = REFUSALS[case]
    told(server, policy)
    reply = server.operator.request(method, ONE + path, json=body)
    said = refused(reply, reply.status_code)
    assert way_out.format(one=f"{API}/studies/{{name}}") in said["advice"]
    assert PYTHON.search(said["detail"] + said["advice"]) is None
    assert said["python"] not in ("", said["advice"])  # what RemoteStudy says


def test_a_result_that_is_told_twice_is_advised_in_the_same_words(server):
    ticket = told(server)
    row = server.operator.post(f"{ONE}/results", json={"results": [{"ticket": ticket, "reward": 1}]}).json()["results"]
    assert f"POST {API}/studies/{{name}}/corrections" in row[0]["problem"]["advice"]


def test_a_study_whose_rule_is_not_here_names_the_endpoint_that_takes_another(server, monkeypatch):
    told(server, "sh:budget=9")
    server.service.studies.close()
    monkeypatch.setattr(SequentialHalving, "version", 2, raising=False)
    said = refused(server.operator.post(f"{ONE}/tickets", json={}))
    assert said["error"] == "PolicyMissing"
    assert f"POST {API}/studies/{{name}}/policy" in said["advice"]
    assert PYTHON.search(said["detail"] + said["advice"]) is None
    assert server.operator.post(f"{ONE}/policy", json={"policy": "chase"}).status_code == 200


def test_a_key_of_a_study_that_is_not_there_is_refused(server):
    before = server.operator.get(f"{API}/keys").json()
    said = refused(server.operator.post(f"{API}/keys", json={"scope": "worker", "study": "captoins"}))
    assert said["detail"].startswith("study is 'captoins', but there is no study of that name")
    assert "make the study first" in said["advice"]
    assert server.operator.get(f"{API}/keys").json() == before
    server.study()
    assert server.operator.post(f"{API}/keys", json={"scope": "worker", "study": "captions"}).status_code == 201
