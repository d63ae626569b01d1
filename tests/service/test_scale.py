"""A study with a scale over HTTP: other rewards are refused with the scale, and its rewards stay once there are any."""

import csv
import io

import pytest
from serving import ANSWERS, API, SCALE

ONE = f"{API}/studies/captions"
SAID = (
    "the reward is 700, but must be one of the study's scale: 0 (unfunny), 0.5 (somewhat funny), 1 (funny)",
    "give one of these, or make a study of its own for other rewards",
)


def problem(reply):
    said = reply.json()
    assert (reply.status_code, said["status"]) == (422, 422), said
    return said["detail"], said["advice"]


@pytest.fixture
def worker(server):
    server.study()
    return server.client(server.new_key("worker"))


def test_a_workers_reward_that_is_not_on_the_scale_is_refused_with_the_scale(server, worker):
    (ticket,) = worker.post(f"{ONE}/tickets", json={}).json()["tickets"]
    rows = [{"ticket": ticket["id"], "reward": 700}]
    reply = worker.post(f"{ONE}/results", json={"results": rows}).json()
    (row,) = reply["results"]
    assert (row["outcome"], row["problem"]["detail"], row["problem"]["advice"]) == ("refused", *SAID)
    assert problem(worker.post(f"{ONE}/results", json={"results": rows, "together": True})) == SAID
    rows[0]["reward"] = 0.5
    reply = worker.post(f"{ONE}/results", json={"results": rows}).json()
    assert (reply["results"][0]["outcome"], reply["pulls"]) == ("told", 1)
    correction = {"ticket": ticket["id"], "reward": 700}
    assert problem(server.operator.post(f"{ONE}/corrections", json=correction)) == SAID


def test_an_operators_known_results_are_held_against_the_scale(server):
    server.study()
    known = [{"label": "a", "reward": 1}, {"label": "b", "reward": 700}]
    assert problem(server.operator.post(f"{ONE}/observations", json={"results": known})) == SAID
    sheet = {"text": "caption,score\na,1\nb,700\n", "label": "caption", "known": "score"}
    made = {"name": "other", "sheet": sheet, "about": {"scale": SCALE}}
    assert problem(server.operator.post(f"{API}/studies", json=made)) == SAID
    assert server.operator.get(f"{API}/studies/other").status_code == 404


def test_the_rewards_of_a_scale_stay_once_there_are_ratings_and_its_words_do_not(server):
    server.study()
    other = {"scale": [{"label": str(stars), "reward": stars} for stars in range(1, 6)]}
    assert server.operator.patch(ONE, json=other).status_code == 200
    assert server.operator.patch(ONE, json={"scale": SCALE}).status_code == 200
    rater = server.rater(server.link())
    rater.rate(rater.next()[0]["ticket"], "funny")
    detail, advice = problem(server.operator.patch(ONE, json=other))
    assert detail.startswith("the scale is 0 (unfunny), 0.5 (somewhat funny), 1 (funny), and cannot become 1 (1), 2 ")
    assert "keep the rewards, with other words for the answers if you like" in advice
    words = [{"label": f"{label}!", "reward": reward} for label, reward in ANSWERS.items()]
    assert server.operator.patch(ONE, json={"scale": words}).json()["about"]["scale"] == words
    assert rater.post("sitting").json()["scale"] == [answer["label"] for answer in words]


def test_the_summary_counts_answers_that_were_given_in_other_words_before(server):
    server.study()
    rater = server.rater(server.link())
    (arm,) = rater.next()
    rater.rate(arm["ticket"], "funny")
    words = [{"label": f"very {label}", "reward": reward} for label, reward in ANSWERS.items()]
    server.operator.patch(ONE, json={"scale": words})
    (row, *_) = csv.DictReader(io.StringIO(server.operator.get(f"{ONE}/arms.csv").text))
    assert (row["caption"], row["votes"], row["very_funny"], row["very_unfunny"]) == (arm["text"], "1", "1", "0")
    (row,) = csv.DictReader(io.StringIO(server.operator.get(f"{ONE}/results.csv").text))
    assert row["answer"] == "funny"  # what the rater chose
