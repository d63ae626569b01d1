"""What raters do: the library's own run pull by pull, no arm twice, leases, sittings, skips, corrections, ids."""

import random

import pytest
from serving import ANSWERS, API, BASE, Server

from boxthirding import Session

LABELS = list(ANSWERS)


def drawn(label, pull):
    """Return the answer that an arm is given at its pull, whoever is asked."""
    return LABELS[random.Random(f"{label} {pull}").randrange(3)]


def test_one_rater_with_repeats_is_the_librarys_own_run_pull_by_pull(server):
    arms = [f"caption {number}" for number in range(40)]
    study = server.study(arms=arms, about={"repeats": True}, seed=7, policy="b3auto")
    rater = server.rater(server.link())
    session = Session(arms, policy="b3auto", seed=7)
    pulls = dict.fromkeys(arms, 0)
    (arm,) = rater.next()
    for _ in range(300):
        (ticket,) = session.ask()
        assert (arm["ticket"], arm["text"]) == (ticket.id, ticket.label)
        answer = drawn(ticket.label, pulls[ticket.label])
        pulls[ticket.label] += 1
        session.tell(ticket, ANSWERS[answer])
        (arm,) = rater.rate(arm["ticket"], answer).json()["arms"]
    assert study.view().as_dict() | dict.fromkeys(["name", "per_minute", "open", "holders"]) == (
        session.view().as_dict() | dict.fromkeys(["name", "per_minute", "open", "holders"])
    )


def test_no_rater_sees_an_arm_twice(server):
    arms = [f"caption {number}" for number in range(12)]
    study = server.study(arms=arms, policy="us")
    link = server.link()
    raters = [server.rater(link) for _ in range(3)]
    seen = [[] for _ in raters]
    waiting = [rater.next(2) for rater in raters]
    for step in range(60):
        who = step % 3
        if not waiting[who]:
            waiting[who] = raters[who].next(2)
            continue
        arm = waiting[who][0]
        seen[who].append(arm["text"])
        waiting[who] = raters[who].rate(arm["ticket"], drawn(arm["text"], who), want=2).json()["arms"]
    assert [len(set(one)) for one in seen] == [len(one) for one in seen]
    assert sum(map(len, seen)) == study.pulls > 20
    assert raters[0].post("next").json()["why"] == "none left for now"


def test_the_page_is_told_what_to_show_and_nothing_of_rewards_or_payloads(server):
    arms = [{"label": "x1", "text": "Hello.", "payload": {"author": "ann"}}, "plain"]
    about = {"question": "Funny?", "instructions": "Read.", "consent": "Agree?", "thanks": "Bye.", "sitting": 2}
    server.study(arms=arms, about=about)
    rater = server.rater(server.link())
    shown = rater.start.json()
    assert shown["scale"] == LABELS
    assert (shown["question"], shown["instructions"], shown["consent"]) == ("Funny?", "Read.", "Agree?")
    assert (shown["rated"], shown["of"], shown["done"]) == (0, 2, False)
    assert "reward" not in rater.start.text
    text = rater.post("next", want=2).text
    assert "Hello." in text
    assert "ann" not in text


def test_a_sitting_ends_with_thanks_and_the_way_back(server):
    about = {"sitting": 2, "thanks": "Thank you!", "completion": "https://example.org/done?cc=1"}
    server.study(about=about)
    rater = server.rater(server.link())
    first, second = rater.next(2)
    assert len(rater.rate(first["ticket"], want=2).json()["arms"]) == 1  # no more than the sitting has left
    end = rater.rate(second["ticket"], want=2).json()
    assert (end["arms"], end["done"], end["rated"], end["why"]) == ([], True, 2, "done")
    assert (end["thanks"], end["completion"]) == ("Thank you!", "https://example.org/done?cc=1")
    assert rater.post("sitting").json()["done"]


def test_a_reload_goes_on_with_the_same_arms(server):
    server.study()
    rater = server.rater(server.link())
    arms = rater.next(2)
    again = rater.post("sitting")
    assert "set-cookie" not in again.headers
    assert rater.next(2) == arms


def test_the_same_rating_twice_counts_once(server):
    study = server.study()
    rater = server.rater(server.link())
    (arm,) = rater.next()
    outcomes = [rater.rate(arm["ticket"]).json()["ratings"][0]["outcome"] for _ in range(3)]
    assert outcomes == ["stored", "again", "again"]
    assert study.pulls == 1


def test_ratings_that_waited_in_the_browser_are_taken_in_their_order(server):
    study = server.study()
    rater = server.rater(server.link())
    first, second = rater.next(2)
    rows = [{"ticket": arm["ticket"], "answer": "funny", "seconds": 1.5} for arm in (first, second)]
    reply = rater.post("ratings", ratings=[*rows, {"ticket": 99, "answer": "funny"}], want=2).json()
    assert [row["outcome"] for row in reply["ratings"]] == ["stored", "stored", "refused"]
    assert study.pulls == 2


def test_a_ticket_of_another_rater_is_refused(server):
    study = server.study()
    link = server.link()
    ann, bob = server.rater(link), server.rater(link)
    (arm,) = ann.next()
    assert bob.rate(arm["ticket"]).json()["ratings"][0]["outcome"] == "refused"
    assert bob.post("skips", ticket=arm["ticket"]).status_code == 409
    assert study.pulls == 0


def test_a_skipped_arm_goes_to_others_and_five_skips_flag_it(server):
    study = server.study(arms=["only", "other"])
    link = server.link()
    for number in range(5):
        rater = server.rater(link)
        for arm in rater.next(2):
            if arm["text"] == "only":
                rater.post("skips", ticket=arm["ticket"])
            else:
                rater.rate(arm["ticket"])
        assert "only" not in [arm["text"] for arm in rater.next(2)]
        one = server.operator.get(f"{API}/studies/captions/arm", params={"label": "only"}).json()
        assert one["skipped"] == number + 1
    last = server.rater(link)
    for arm in last.next(2):
        last.rate(arm["ticket"])
    arms = server.operator.get(f"{API}/studies/captions/arms").json()["arms"]
    assert {arm["label"]: arm["skipped"] for arm in arms} == {"only": 5, "other": None}
    assert study.view().open == 0


def test_a_ticket_that_the_operator_releases_was_not_skipped(server):
    server.study(arms=["only"])
    rater = server.rater(server.link())
    (arm,) = rater.next()
    server.operator.post(f"{API}/studies/captions/releases", json={"tickets": [arm["ticket"]]})
    one = server.operator.get(f"{API}/studies/captions/arm", params={"label": "only"}).json()
    assert one["skipped"] == 0
    assert server.operator.get(f"{API}/studies/captions/raters").json()["raters"] == []


def test_a_ticket_that_a_rater_left_goes_to_the_next_after_ten_minutes(server):
    study = server.study(arms=["only"], policy="us")
    study._clock = lambda: server.now
    link = server.link()
    gone, here = server.rater(link), server.rater(link)
    (arm,) = gone.next()
    server.now += 599
    before = [one["ticket"] for one in here.next()]
    assert arm["ticket"] not in before
    for ticket in before:
        here.rate(ticket)
    third = server.rater(link)
    server.now += 2
    assert third.next() == [arm]
    assert gone.rate(arm["ticket"]).json()["ratings"][0]["outcome"] == "stored"  # late, and counts all the same


def test_the_last_rating_can_be_corrected_and_no_other(server):
    study = server.study()
    rater = server.rater(server.link())
    first, second = rater.next(2)
    rater.rate(first["ticket"], "funny")
    assert rater.post("corrections", ticket=first["ticket"], answer="unfunny").status_code == 200
    assert study.recommend().mean == 0.0
    rater.rate(second["ticket"], "funny")
    assert rater.post("corrections", ticket=first["ticket"], answer="funny").status_code == 409
    assert rater.post("corrections", ticket=second["ticket"], answer="no such").status_code == 422
    rows = server.operator.get(f"{API}/studies/captions/results.csv").text.splitlines()
    assert rows[1].split(",")[3:5] == ["unfunny", "0.0"]


def test_an_answer_that_is_not_on_the_scale_is_refused_and_says_which_are(server):
    study = server.study()
    rater = server.rater(server.link())
    (arm,) = rater.next()
    (outcome,) = rater.rate(arm["ticket"], "hilarious").json()["ratings"]
    assert (outcome["outcome"], study.pulls) == ("refused", 0)
    assert "'somewhat funny'" in outcome["why"]
    assert rater.next() == [arm]


@pytest.mark.parametrize("verb", ["pause", "finish"])
def test_a_study_that_hands_nothing_out_says_why(server, verb):
    server.study()
    rater = server.rater(server.link())
    (arm,) = rater.next()
    server.operator.post(f"{API}/studies/captions/{verb}")
    reply = rater.rate(arm["ticket"]).json()
    assert reply["ratings"][0]["outcome"] == "stored"
    assert (reply["arms"], reply["why"]) == ([], {"pause": "paused", "finish": "finished"}[verb])


CLAIMS = {"id": "5f0c", "study_id": "s1", "session_id": "z9"}


class TestIds:
    def test_what_another_service_says_is_kept_with_every_result(self, server):
        server.study()
        rater = server.rater(server.link(), **CLAIMS)
        rater.rate(rater.next()[0]["ticket"], seconds=2.5)
        row = server.operator.get(f"{API}/studies/captions/results.csv").text.splitlines()[1].split(",")
        assert (row[3], row[5], row[-3:]) == ("funny", "2.5", ["5f0c", "s1", "z9"])
        listed = server.operator.get(f"{API}/studies/captions/raters").json()["raters"]
        assert [one["claims"] for one in listed] == [CLAIMS]

    def test_another_browser_under_the_same_id_goes_on_and_reads_nothing(self, server):
        server.study(about={"sitting": 4})
        link = server.link()
        first = server.rater(link, **CLAIMS)
        own = first.next(2)
        first.rate(own[0]["ticket"])
        second = server.rater(link, **CLAIMS)
        assert second.start.json()["rated"] is None
        (arm,) = second.next()
        assert arm["text"] not in [one["text"] for one in own]
        assert second.post("corrections", ticket=own[0]["ticket"], answer="unfunny").status_code == 409
        assert second.rate(arm["ticket"]).json()["ratings"][0]["outcome"] == "stored"
        assert first.post("sitting").json()["rated"] == 2  # one rater

    def test_a_signed_id_must_be_signed_here_for_this_link(self, server):
        server.study()
        link, other = server.link(signed=True), server.link(signed=True)
        path = f"{API}/studies/captions/links/{link['id']}/signatures"
        (signed,) = server.operator.post(path, json={"ids": ["ann"]}).json()["signatures"]
        assert server.rater(link, **signed).start.status_code == 200
        assert server.rater(link).start.status_code == 403
        assert server.rater(link, id="ann").start.status_code == 403
        assert server.rater(link, id="bob", signature=signed["signature"]).start.status_code == 403
        assert server.rater(other, **signed).start.status_code == 403

    def test_a_cookie_is_signed_and_of_one_link(self, server):
        server.study()
        link, other = server.link(), server.link()
        rater = server.rater(link)
        (name, value), *_ = rater.client.cookies.items()
        stranger = server.client(Origin=BASE)
        for forged in (value[:-1] + ("0" if value[-1] != "0" else "1"), value.replace("own", "guest"), "x", "a.own.ä"):
            cookie = {"Cookie": f"{name}={forged}".encode()}
            assert stranger.post(f"{rater.path}/next", json={}, headers=cookie).status_code == 403
        moved = {"Cookie": f"boxthirding-{other['id']}={value}"}
        assert stranger.post(f"{API}/rating/{other['secret']}/next", json={}, headers=moved).status_code == 403


class TestLinks:
    def test_a_link_lets_in_as_many_raters_as_it_may(self, server):
        server.study()
        link = server.link(raters=2)
        raters = [server.rater(link) for _ in range(3)]
        assert [rater.start.status_code for rater in raters] == [200, 200, 403]
        assert raters[0].post("sitting").status_code == 200
        assert server.operator.get(f"{API}/studies/captions/links").json()["links"][0]["started"] == 2

    def test_a_revoked_link_and_an_expired_one_let_no_rater_in(self, server):
        server.study()
        revoked, expired = server.link(), server.link(seconds=60)
        raters = [server.rater(revoked), server.rater(expired)]
        server.operator.delete(f"{API}/studies/captions/links/{revoked['id']}")
        server.now += 61
        assert [rater.post("next").status_code for rater in raters] == [403, 403]

    def test_a_link_outlives_the_server_and_so_do_its_raters(self, tmp_path):
        first = Server(tmp_path / "studies.db")
        first.study()
        link = first.link()
        rater = first.rater(link)
        arms = rater.next(2)
        rater.rate(arms[0]["ticket"])
        first.close()
        second = Server(tmp_path / "studies.db")
        back = second.client(Origin=BASE)
        back.cookies.update(rater.client.cookies)
        assert back.post(f"{rater.path}/next", json={"want": 2}).json()["arms"][0] == arms[1]
        assert back.post(f"{rater.path}/sitting", json={}).json()["rated"] == 1
        second.close()

    def test_no_secret_is_stored(self, tmp_path):
        server = Server(tmp_path / "studies.db")
        server.study()
        secrets = [server.key, server.link()["secret"], server.service.access.new_code(server.key)]
        secrets.append(server.service.access.open_session(server.key)[0])
        server.close()
        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"captions" in stored
        assert [secret for secret in secrets if secret.partition("_")[2].encode() in stored] == []
