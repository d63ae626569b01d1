"""A study that another process deletes while a server has it open, and another that is made under its name."""

import pytest
from serving import API, Server

from boxthirding import open_study
from boxthirding.storage.opening import delete_study

ONE = f"{API}/studies/captions"


@pytest.fixture(params=["sqlite", "memory"])
def server(request, tmp_path):
    one = Server(tmp_path / "studies.db" if request.param == "sqlite" else None)
    yield one
    one.close()


@pytest.fixture
def open_ones(server):
    """Return a server's rater, its link, and a worker with a key of the study, all of whom have been there."""
    server.study()
    link = server.link()
    rater = server.rater(link)
    assert rater.next()
    worker = server.client(server.new_key("worker", "captions"))
    assert worker.get(ONE).status_code == 200
    return rater, link, worker


def remake(server):
    delete_study(server.place, "captions")
    open_study(server.place, "captions", arms=["x", "y"]).close()


def test_a_deleted_study_is_gone_for_everybody(server, open_ones):
    rater, link, worker = open_ones
    delete_study(server.place, "captions")
    assert server.operator.get(ONE).status_code == 404
    assert server.client().get(f"/rate/{link['secret']}").status_code == 403
    assert rater.post("next", want=1).status_code == 403
    assert worker.get(ONE).status_code == 401
    assert server.operator.get(f"{API}/studies").json()["studies"] == []


def test_a_rating_page_of_a_deleted_study_is_refused_though_nobody_has_asked_since(server, open_ones):
    _, link, _ = open_ones
    delete_study(server.place, "captions")
    assert server.client().get(f"/rate/{link['secret']}").status_code == 403


def test_a_rating_of_a_deleted_study_is_refused(server, open_ones):
    rater, _, _ = open_ones
    (arm,) = rater.next()
    delete_study(server.place, "captions")
    assert rater.rate(arm["ticket"]).status_code == 404


def test_another_study_of_the_name_is_served_as_it_is(server, open_ones):
    rater, link, worker = open_ones
    remake(server)
    assert server.operator.get(f"{ONE}/arms").status_code == 404  # of the one that was open
    again = server.operator.get(f"{ONE}/arms")
    assert [arm["label"] for arm in again.json()["arms"]] == []
    ticket = server.operator.post(f"{ONE}/tickets", json={"n": 1}).json()["tickets"][0]
    assert ticket["label"] in ("x", "y")
    assert server.client().get(f"/rate/{link['secret']}").status_code == 403
    assert rater.post("next", want=1).status_code == 403
    assert worker.get(ONE).status_code == 401


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.usefixtures("open_ones")
def test_another_study_can_be_made_under_the_name_at_once(server, method):
    delete_study(server.place, "captions")
    path, body = (f"{API}/studies", {"name": "captions"}) if method == "POST" else (ONE, {})
    made = server.operator.request(method, path, json={**body, "arms": ["x", "y"]})
    assert (made.status_code, made.json()["arms"], made.json()["pulls"]) == (201, 2, 0)
    assert server.operator.get(f"{ONE}/links").json() == {"links": []}
    assert server.operator.get(f"{ONE}/raters").json()["raters"] == []


def test_an_operator_of_a_while_makes_no_key_for_ever(server):
    brief = server.client(server.new_key("operator", seconds=2.0))
    for seconds in (None, 1e6):
        made = brief.post(f"{API}/keys", json={"scope": "operator", "seconds": seconds})
        assert made.json()["expires"] == server.now + 2.0
    soon = brief.post(f"{API}/keys", json={"scope": "reader", "seconds": 1.0}).json()
    assert soon["expires"] == server.now + 1.0
    server.now += 3
    assert server.client(made.json()["secret"]).get(f"{API}/studies").status_code == 401
