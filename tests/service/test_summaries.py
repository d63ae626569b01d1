"""What the operator's pages read: no reply is large, whatever the labels are, and an arm is found by its key."""

import random

import pytest
from serving import API

from boxthirding.service.reply_size import with_text
from boxthirding.service.summaries import key_of

ONE = f"{API}/studies/captions"
LARGEST = 300_000  # bytes of a reply
LONG = "\N{PILE OF POO}" * 180
PLAIN = {"scale": []}  # programs tell any number
LETTERS = ("x", "\N{PILE OF POO}", "\N{ZERO WIDTH JOINER}", '"', "\x01")


def rated(server, arms, pulls=200, **settings):
    return told(server.study(arms=arms, about=PLAIN, **settings), pulls)


def told(study, pulls):
    draw = random.Random(1)
    for number in range(pulls):
        (ticket,) = study.ask(holder=("ann", "bob")[number % 2])
        study.tell(ticket, draw.random())
    return study


def get(server, path, **parameters):
    reply = server.operator.get(path, params=parameters)
    assert reply.status_code == 200, reply.text[:500]
    assert len(reply.content) < LARGEST
    return reply.json()


@pytest.mark.parametrize("policy", ["chase", "b3"])
def test_long_texts_that_begin_and_end_alike_are_shortened_by_what_tells_them_apart(server, policy):
    around = 40 * "always stay polite "
    rated(server, [f"{around}number {number} {around}" for number in range(30)], policy=policy)
    answer, grid = get(server, f"{ONE}/answer"), get(server, f"{ONE}/grid")
    page = get(server, f"{ONE}/arms", brief=True)["arms"]
    assert len(page) == 30
    replies = {"answer": [answer["answer"], *answer["next"]], "arms": page, "grid": [*with_text(grid)]}
    for name, cards in replies.items():
        texts = {card["key"]: card["text"] for card in cards}
        assert len({*texts.values()}) == len(texts) > 3, name
        assert max(map(len, texts.values())) <= 300


@pytest.mark.parametrize("letter", LETTERS)
def test_no_reply_to_a_page_is_large_however_long_labels_are(server, letter):
    labels = [f"{letter * 10_000}{number}" for number in range(60)]
    rated(server, labels)
    assert get(server, ONE, brief=True)["tried"] == 60
    (row,) = get(server, f"{API}/studies", brief=True)["studies"]
    assert len(row["leads"]["text"]) <= 300
    page = get(server, f"{ONE}/arms", brief=True, count=1000)["arms"]
    assert len(page) == 60
    story = get(server, f"{ONE}/arm", brief=True, key=page[0]["key"])
    assert (story["mean"], len(story["text"])) == (page[0]["mean"], 5_000)
    assert get(server, f"{ONE}/arm/results", key=page[0]["key"])["results"]
    assert get(server, f"{ONE}/exclusions", holder="ann")["then"]["top"]
    for verb in ("pause", "resume", "finish"):
        assert len(server.operator.post(f"{ONE}/{verb}?brief=true").content) < LARGEST


def test_many_raters_make_no_reply_large(server):
    study = server.study(arms=[f"caption {number}" for number in range(3_000)])
    for number in range(3_000):
        study.ask(holder=f"{'worker' if number % 3 else 'rater'}-{number:0150}")
    assert get(server, f"{ONE}/raters")["n_active"] == 3_000
    said = get(server, ONE, brief=True)
    assert (said["n_holders"], said["n_raters"]) == (3_000, 1_000)
    assert get(server, f"{API}/studies", brief=True)["studies"][0]["n_raters"] == 1_000


def test_those_who_were_heard_of_in_the_last_minute_are_at_work_and_those_who_hold_tickets_are_not(server):
    study = server.study()
    study._transactions.clock = lambda: server.now
    link = server.link()
    ann, bob = server.rater(link), server.rater(link)
    program = server.client(server.new_key("worker"))
    program.post(f"{ONE}/tickets", json={"holder": "program"})

    def now():
        said = get(server, f"{ONE}/raters")["n_active"], get(server, ONE, brief=True)["n_raters"]
        assert get(server, f"{API}/studies", brief=True)["studies"][0]["n_raters"] == said[1]
        return said

    (arm,) = ann.next()
    bob.next()
    assert now() == (3, 2)
    server.now += 50
    ann.rate(arm["ticket"], want=0)  # tells, and asks for nothing
    server.now += 20
    assert now() == (1, 1)
    server.now += 50
    assert now() == (0, 0)
    assert len(study.view().holders) == 2  # bob and the program have tickets still
    (arm,) = bob.next()
    bob.rate(arm["ticket"])
    assert now() == (1, 1)


def test_outliers_are_named(server):
    study = server.study(arms=["x" * 10_000 + str(number) for number in range(12)], about=PLAIN)
    draw = random.Random(2)
    for number in range(400):
        (ticket,) = study.ask(holder="ann")
        study.tell(ticket, 1e6 if number > 200 and number % 29 == 0 else draw.gauss(0, 1))
    said, view = get(server, ONE, brief=True), study.view()
    assert said["n_outliers"] == view.n_outliers > 0
    shown = [(row["key"], row["reward"], row["holder"], row["ticket"]) for row in said["outliers"]]
    assert shown == [(key_of(row.label), row.reward, "ann", row.ticket) for row in view.outliers]
    numbers = ["…" + row.label.strip("x") for row in view.outliers]
    assert [row["text"] for row in said["outliers"]] == numbers
    server.operator.post(f"{ONE}/corrections", json={"ticket": shown[0][3], "reward": 0.5})
    assert get(server, ONE, brief=True)["n_outliers"] < said["n_outliers"]


@pytest.mark.parametrize("label", ["a", "7", 7, -3, 'it\'s "so"', "é\n", "x" * 200, "True", ""])
def test_an_arm_is_found_and_withdrawn_by_its_key(server, label):
    server.operator.put(ONE, json={"arms": [label, "other", "y" * 200]})  # as programs do, which may have empty arms
    told(server.service.studies.get("captions").study, 6)
    key = next(arm["key"] for arm in get(server, f"{ONE}/arms", brief=True)["arms"] if arm["key"] == key_of(label))
    assert get(server, f"{ONE}/arm", key=key)["label"] == label
    reply = server.operator.delete(f"{ONE}/arm", params={"key": key})
    assert reply.json()["withdrawn"] == label
    shown = {arm["key"]: arm["withdrawn"] for arm in get(server, f"{ONE}/arms", brief=True)["arms"]}
    assert shown == {one: one == key for one in shown}


@pytest.mark.parametrize("key", ["'gone'", "True", "1.5", "[1]", "0" * 24, "'a", "(" * 200])
def test_a_key_of_no_arm_is_refused_in_words(server, key):
    server.study(arms=["a", 1])
    reply = server.operator.get(f"{ONE}/arm", params={"key": key})
    assert reply.status_code == 404
    assert reply.json()["error"] == "UnknownLabel"


def test_an_arm_must_be_named(server):
    server.study()
    reply = server.operator.get(f"{ONE}/arm")
    assert (reply.status_code, reply.json()["error"]) == (422, "InvalidInput")


def pages(server, path, name, **parameters):
    """Return the rows of all pages, each of which is small, and how many pages there were."""
    found, first, number = [], 0, 0
    while first is not None:
        page = get(server, path, first=first, **parameters)
        found += page[name]
        first, number = page["next"], number + 1
    return found, number


def test_pages_for_programs_end_where_they_are_full(server):
    study = rated(server, [f"{'x' * 9_000}{number}" for number in range(80)])
    top, number = pages(server, f"{ONE}/top", "top", k=1000)
    assert [row["label"] for row in top] == [arm.label for arm in study.top(1000)]
    assert number == 3
    arms, _ = pages(server, f"{ONE}/arms", "arms", count=1000)
    assert [row["label"] for row in arms] == [arm.label for arm in study.arms(0, 1000)]
    rows, number = pages(server, f"{ONE}/ladder", "ladder", count=1000)
    assert number > 1
    for rung in study.ladder(count=1000):
        found = [row["arms"] for row in rows if row["fewest"] == rung.fewest]
        assert [arm["label"] for page in found for arm in page] == [arm.label for arm in rung.arms]
    assert pages(server, f"{ONE}/top", "top", k=80) == (top, 3)
    assert get(server, f"{ONE}/top", k=3)["next"] == 3
    assert get(server, f"{ONE}/top", first=2**52)["top"] == []


def test_boxes_for_programs_end_where_they_are_full(server):
    study = rated(server, [f"{'x' * 9_000}{number}" for number in range(80)], policy="b3")
    rows, number = pages(server, f"{ONE}/boxes", "boxes", count=1000)
    assert number > 1
    assert len(study.boxes()) > 3
    for box in study.boxes(count=1000):
        found = [row["arms"] for row in rows if (row["level"], row["deferment"]) == (box.level, box.deferment)]
        assert [arm["label"] for page in found for arm in page] == [arm.label for arm in box.arms]


def test_boxes_are_small_where_one_arm_of_each_is_too_much(server):
    study = rated(server, [f"{LETTERS[1] * 10_000}{number}" for number in range(80)], policy="b3")
    page = get(server, f"{ONE}/boxes", count=1000)
    sizes = [(box.level, box.deferment, box.size) for box in study.boxes()]
    assert [(row["level"], row["deferment"], row["size"]) for row in page["boxes"]] == sizes
    filled = [bool(row["arms"]) for row in page["boxes"] if row["size"]]
    assert filled == sorted(filled)  # those of the upper levels
    assert 0 < sum(filled) < len(filled)
    level = next(row["level"] for row in page["boxes"] if row["size"] and not row["arms"])
    assert any(row["arms"] for row in get(server, f"{ONE}/boxes", level=level)["boxes"])


@pytest.mark.parametrize("brief", [True, False])
def test_the_list_of_studies_comes_in_parts_where_it_is_large(server, brief):
    names = [f"study {number:03}" for number in range(90)]
    for name in names:
        server.study(name, [LONG * 2, "other"]).observe(LONG * 2, 1.0)
    rows, number = pages(server, f"{API}/studies", "studies", brief=brief)
    assert [row["name"] for row in rows] == names
    assert number > 1


def test_a_page_of_raters_ends_where_it_is_full(server):
    study = server.study(arms=[f"caption {number}" for number in range(400)])
    holders = [f"{LONG}-{number}" for number in range(300)]
    for number, holder in enumerate(holders):
        (ticket,) = study.ask(holder=holder)
        server.now += 60 * (number % 2)
        study.tell(ticket, 1.0)
    rows, number = pages(server, f"{ONE}/raters", "raters", count=1000)
    assert sorted(row["holder"] for row in rows) == sorted(holders)
    assert number > 1
    assert get(server, f"{ONE}/raters", count=2)["next"] == 2
    assert get(server, f"{ONE}/raters", first=298)["next"] is None


def test_a_page_of_results_of_an_arm_ends_where_it_is_full(server):
    study = server.study(arms=["a"])
    for number in range(300):
        (ticket,) = study.ask(holder=f"{LONG}-{number}")
        study.tell(ticket, 1.0)
    rows, number = pages(server, f"{ONE}/arm/results", "results", label="a", count=1000)
    assert [int(row["holder"].rpartition("-")[2]) for row in rows] == list(reversed(range(300)))
    assert number > 1


def test_no_event_is_large(server):
    study = server.study(arms=[f"{'x' * 9_000}{number}" for number in range(80)])
    study.ask(60, holder="ann")
    (ticket,) = study.ask(holder="bob")
    study.tell(ticket, 1.0)
    events, after = [], 0
    while page := get(server, f"{ONE}/events", after=after, count=1000)["events"]:
        events, after = events + page, page[-1]["seq"]
    asked = [event for event in events if event["event"] == "asked"]
    assert [event.get("left_out") for event in asked] == [["tickets"], None]
    assert asked[0]["holder"] == "ann"
    assert len(asked[1]["tickets"]) == 1
    assert [event["seq"] for event in events] == list(range(1, study.seq + 1))
