"""What raters do: the library's own run pull by pull, no arm twice, leases, sittings, skips, corrections, ids."""

import json
import random

import pytest
from serving import ANSWERS, API, BASE, Server

from boxthirding import Session
from boxthirding.session.values import BY_CLOCK
from boxthirding.study.events import Told

LABELS = list(ANSWERS)


def drawn(label, pull):
    """Return the answer that an arm is given at its pull, whoever is asked."""
    return LABELS[random.Random(f"{label} {pull}").randrange(3)]


def test_one_rater_with_repeats_is_the_librarys_own_run_pull_by_pull(server):
    arms = [f"caption {number}" for number in range(40)]
    study = server.study(arms=arms, about={"repeats": True}, seed=7, policy="chase")
    rater = server.rater(server.link())
    session = Session(arms, policy="chase", seed=7)
    pulls = dict.fromkeys(arms, 0)
    (arm,) = rater.next()
    for _ in range(300):
        (ticket,) = session.ask()
        assert (arm["ticket"], arm["text"]) == (ticket.id, ticket.label)
        answer = drawn(ticket.label, pulls[ticket.label])
        pulls[ticket.label] += 1
        session.tell(ticket, ANSWERS[answer])
        (arm,) = rater.rate(arm["ticket"], answer).json()["arms"]
    other = dict.fromkeys(["name", "open", "holders", *BY_CLOCK])
    assert study.view().as_dict() | other == session.view().as_dict() | other


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


def test_a_rater_has_three_tickets_at_most_and_none_more_when_the_page_wants_none(server):
    study = server.study(arms=range(20))
    rater = server.rater(server.link())
    first, *_ = rater.next(3)
    assert study.view().open == 3
    reply = rater.rate(first["ticket"], want=0).json()
    assert (reply["arms"], study.view().open) == ([], 2)
    assert rater.post("next", want=4).status_code == 422


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


def test_what_was_rated_is_not_shown_again_by_a_server_that_was_started_since(tmp_path):
    first = Server(tmp_path / "x.db")
    first.study()
    rater = first.rater(first.link())
    shown, ahead = rater.next(2)
    first.close()
    second = Server(tmp_path / "x.db")
    back = second.client(Origin=BASE)
    back.cookies.update(rater.client.cookies)
    body = {"ratings": [{"ticket": shown["ticket"], "answer": "funny"}], "want": 2}
    reply = back.post(f"{rater.path}/ratings", json=body).json()
    assert reply["ratings"] == [{"ticket": shown["ticket"], "outcome": "stored"}]
    assert reply["arms"][0] == ahead
    assert shown["ticket"] not in [arm["ticket"] for arm in reply["arms"]]
    second.close()


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
    study._transactions.clock = lambda: server.now
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


def test_a_ticket_that_a_rater_left_goes_to_a_worker_too(server):
    study = server.study(arms=["a", "b", "c", "d"], policy="sh:budget=8")
    study._transactions.clock = lambda: server.now
    left = {arm["ticket"] for arm in server.rater(server.link()).next(2)}
    worker, one = server.client(server.new_key("worker")), f"{API}/studies/captions"

    def given():
        return {ticket["id"] for ticket in worker.post(f"{one}/tickets", json={"n": 10}).json()["tickets"]}

    others = given()
    assert not left & others
    server.now += 599
    assert given() == set()
    assert worker.post(f"{one}/reclaims").json()["held"] == len(left | others)
    server.now += 2
    assert worker.post(f"{one}/reclaims").json()["held"] == len(others)
    assert given() == left


def test_a_worker_leaves_the_tickets_of_raters_alone(server):
    study = server.study()
    rater = server.rater(server.link())
    ticket = rater.next()[0]["ticket"]
    worker, one = server.client(server.new_key("worker")), f"{API}/studies/captions"
    told = {"results": [{"ticket": ticket, "reward": 0.125}]}
    (row,) = worker.post(f"{one}/results", json=told).json()["results"]
    refused = [
        row["problem"],
        worker.post(f"{one}/results", json={**told, "together": True}).json(),
        worker.post(f"{one}/failures", json={"ticket": ticket}).json(),
        worker.post(f"{one}/releases", json={"tickets": [ticket]}).json(),
    ]
    assert [(said["status"], said["error"]) for said in refused] == [(409, "TicketRefused")] * 4
    assert all("held by a rater" in said["detail"] for said in refused)
    assert rater.rate(ticket).json()["ratings"][0]["outcome"] == "stored"
    assert study.top(1)[0].mean == 1.0
    ticket = rater.next()[0]["ticket"]
    assert server.operator.post(f"{one}/releases", json={"tickets": [ticket]}).status_code == 200


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


def test_a_paused_study_takes_ratings_and_hands_nothing_out(server):
    server.study()
    rater = server.rater(server.link())
    (arm,) = rater.next()
    server.operator.post(f"{API}/studies/captions/pause")
    reply = rater.rate(arm["ticket"]).json()
    assert reply["ratings"][0]["outcome"] == "stored"
    assert (reply["arms"], reply["why"]) == ([], "paused")


def test_a_finished_study_takes_no_ratings_and_says_why(server):
    study = server.study()
    rater = server.rater(server.link())
    told, shown, held = rater.next(3)
    rater.rate(told["ticket"], "funny")
    server.operator.post(f"{API}/studies/captions/finish")
    before = study.view()
    again = rater.rate(told["ticket"], "funny").json()["ratings"]
    assert again == [{"ticket": told["ticket"], "outcome": "again"}]  # the reply was lost: it counts
    reply = rater.rate(shown["ticket"]).json()
    why = "the study was finished before it arrived"
    assert reply["ratings"] == [{"ticket": shown["ticket"], "outcome": "refused", "why": why}]
    assert (reply["arms"], reply["why"]) == ([], "finished")
    assert rater.next(3) == []  # what was held, too
    assert rater.post("skips", ticket=held["ticket"]).status_code == 409
    assert rater.post("corrections", ticket=told["ticket"], answer="unfunny").status_code == 409
    assert study.view() == before


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

    @pytest.mark.parametrize("field", CLAIMS)
    @pytest.mark.parametrize("text", ["x\r=cmd|'/C calc'!A0", "a\nb", "a\tb", "\u202eann", "\x1b[31m"])
    def test_an_id_that_cannot_be_printed_is_refused(self, server, field, text):
        server.study()
        said = server.rater(server.link(), **{field: text}).start
        assert said.status_code == 422
        assert said.json()["detail"] == (
            f"{field} is {json.dumps(text, ensure_ascii=False)}, but must be printable: leave out tabs, line breaks "
            "and the like"
        )

    def test_no_id_is_signed_that_would_be_refused(self, server):
        server.study()
        path = f"{API}/studies/captions/links/{server.link()['id']}/signatures"
        said = server.operator.post(path, json={"ids": ["naïve 7", "a\rb"]})
        assert (said.status_code, said.json()["detail"][:31]) == (422, 'ids.1 is "a\\rb", but must be pr')
        assert server.operator.post(path, json={"ids": ["naïve 7"]}).status_code == 200

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

    def test_each_browser_under_an_id_rates_what_it_was_given(self, server):
        study = server.study()
        link = server.link()
        first = server.rater(link, **CLAIMS)
        (own,) = first.next()
        guest = server.rater(link, **CLAIMS)
        (other,) = guest.next()
        assert first.next(3)[0] == own
        assert other not in first.next(3)
        assert guest.post("skips", ticket=own["ticket"]).status_code == 409
        assert first.post("skips", ticket=other["ticket"]).status_code == 409
        (refused,) = guest.rate(own["ticket"]).json()["ratings"]
        assert (refused["outcome"], refused["why"]) == ("refused", "another browser has it, under your id")
        assert study.pulls == 0
        for rater, arm in ((first, own), (guest, other)):
            assert rater.rate(arm["ticket"]).json()["ratings"][0] == {"ticket": arm["ticket"], "outcome": "stored"}

    def test_an_answer_that_does_not_count_as_another_was_first_says_so(self, server):
        server.study()
        link = server.link(signed=True)
        path = f"{API}/studies/captions/links/{link['id']}/signatures"
        (signed,) = server.operator.post(path, json={"ids": ["ann"]}).json()["signatures"]
        phone, desk = server.rater(link, **signed), server.rater(link, **signed)
        (arm,) = phone.next()
        assert desk.next() == [arm]
        phone.rate(arm["ticket"], "funny")
        same, other = (desk.rate(arm["ticket"], answer).json()["ratings"][0] for answer in ("funny", "unfunny"))
        assert same == {"ticket": arm["ticket"], "outcome": "again"}
        assert (other["outcome"], "rated before" in other["why"]) == ("again", True)

    def test_the_next_person_at_the_same_browser_is_another_rater(self, server):
        server.study()
        ann = server.rater(server.link(), id="ann")
        names = [ann.post("sitting", **said).json()["rater"] for said in ({"id": "ann"}, {}, {"id": "bob"}, {})]
        assert names[0] == names[1] == ann.start.json()["rater"]
        assert names[2] == names[3] != names[0]

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

    def test_several_people_in_one_browser_are_told_apart_by_the_rater_that_a_page_names(self, server):
        server.study()
        path = server.rater(server.link(), id="ann").path
        browser = server.client(Origin=BASE)
        ann, bob = (browser.post(f"{path}/sitting", json={"id": name}).json()["rater"] for name in ("ann", "bob"))

        def post(what, who, **body):
            return browser.post(f"{path}/{what}", json=body, headers={"Boxthirding-Rater": who})

        for who in (bob, ann, bob):
            (arm,) = post("next", who).json()["arms"]
            rating = {"ticket": arm["ticket"], "answer": "funny"}
            assert post("ratings", who, ratings=[rating]).json()["ratings"][0]["outcome"] == "stored"
        assert post("sitting", ann, id="ann").json()["rater"] == ann
        assert browser.post(f"{path}/sitting", json={"id": "bob"}).json()["rated"] == 2  # not a guest: it has a cookie
        assert post("next", "rater-x-0").json()["reason"] == "cookie"

    def test_a_cookie_is_signed_and_of_one_link(self, server):
        server.study()
        link, other = server.link(), server.link()
        rater = server.rater(link)
        name = f"boxthirding-{link['id']}"
        value = rater.client.cookies[name]
        stranger = server.client(Origin=BASE)
        assert stranger.post(f"{rater.path}/next", json={}, headers={"Cookie": f"{name}={value}"}).status_code == 200
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
        assert [rater.post("next").status_code for rater in raters] == [200, 200, 403]
        assert server.rater(link).start.status_code == 403
        assert raters[0].post("sitting").status_code == 200
        assert server.operator.get(f"{API}/studies/captions/links").json()["links"][0]["started"] == 2

    def test_a_place_is_taken_when_a_rater_begins_and_not_when_the_link_is_opened(self, server):
        server.study(about={"consent": "Agree?"})
        link = server.link(raters=1)

        def started():
            return server.operator.get(f"{API}/studies/captions/links").json()["links"][0]["started"]

        curious, ann = server.rater(link, **CLAIMS), server.rater(link)
        assert [one.start.json()["consent"] for one in (curious, ann)] == ["Agree?"] * 2
        assert started() == 0
        (arm,) = ann.next()
        assert started() == 1
        late = curious.post("next")
        assert (late.status_code, late.json()["reason"]) == (403, "full")
        assert ann.rate(arm["ticket"]).json()["ratings"][0]["outcome"] == "stored"
        assert started() == 1

    def test_one_who_opened_a_link_before_the_server_was_started_again_begins_after_that(self, tmp_path):
        first = Server(tmp_path / "studies.db")
        first.study()
        link = first.link(raters=1)
        rater = first.rater(link, **CLAIMS)
        first.close()
        second = Server(tmp_path / "studies.db")
        back = second.client(Origin=BASE)
        back.cookies.update(rater.client.cookies)
        (arm,) = back.post(f"{rater.path}/next", json={}).json()["arms"]
        back.post(f"{rater.path}/ratings", json={"ratings": [{"ticket": arm["ticket"], "answer": "funny"}]})
        row = second.operator.get(f"{API}/studies/captions/results.csv").text.splitlines()[1].split(",")
        assert row[-3:] == ["5f0c", "s1", "z9"]
        (kept,) = second.operator.get(f"{API}/studies/captions/links").json()["links"]
        assert kept["started"] == 1
        second.close()

    def test_a_revoked_link_and_an_expired_one_let_no_rater_in(self, server):
        server.study()
        revoked, expired = server.link(), server.link(seconds=60)
        raters = [server.rater(revoked), server.rater(expired)]
        server.operator.delete(f"{API}/studies/captions/links/{revoked['id']}")
        server.now += 61
        assert [rater.post("next").status_code for rater in raters] == [403, 403]

    def test_a_person_is_refused_by_a_page_and_a_program_by_a_problem(self, server):
        stranger = server.client()
        for accepted, kind in (("text/html,*/*;q=0.8", "text/html"), ("*/*", "application/problem+json")):
            reply = stranger.get("/rate/link_of_no_one", headers={"Accept": accepted})
            assert (reply.status_code, reply.headers["content-type"].split(";")[0]) == (403, kind)
            assert "ask the person who sent it" in reply.text.lower()

    @pytest.mark.parametrize("reason", ["link", "full", "signature", "cookie"])
    def test_a_refusal_names_its_reason(self, server, reason):
        server.study()
        link = server.link(raters=1, signed=reason == "signature")
        refused = server.rater({"secret": "link_of_no_one"} if reason == "link" else link)
        if reason == "full":
            refused.next()
            refused = server.rater(link)
        reply = (
            refused.start if reason != "cookie" else server.client(Origin=BASE).post(f"{refused.path}/next", json={})
        )
        assert (reply.status_code, reply.json()["reason"]) == (403, reason)

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


def test_a_full_disk_is_said_and_every_acknowledged_rating_is_kept(tmp_path):
    server = Server(tmp_path / "studies.db")
    study = server.study(arms=[f"caption {number} {'x' * 500}" for number in range(60)])
    raters = [server.rater(server.link()) for _ in range(3)]
    connection = study._transactions.journal._connection.connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")
    stored, refused, waiting = [], None, [rater.next()[0] for rater in raters]
    for turn in range(150):
        who = turn % 3
        reply = raters[who].rate(waiting[who]["ticket"])
        if reply.status_code != 200:
            refused = reply
            break
        stored.append(waiting[who]["ticket"])
        waiting[who] = reply.json()["arms"][0]
    assert refused.status_code == 503
    assert refused.json()["detail"].endswith("the disk is full")
    assert refused.json()["advice"] == "nothing is lost: make room, and try again"
    assert server.client().get("/health").status_code == 200
    connection.execute("PRAGMA max_page_count=1000000")
    assert [raters[who].rate(waiting[who]["ticket"]).json()["ratings"][0]["outcome"] for who in range(3)] == [
        "stored"
    ] * 3
    told = [entry.event.ticket for entry in study.events() if isinstance(entry.event, Told)]
    assert sorted(told) == sorted([*stored, *[arm["ticket"] for arm in waiting]])
    server.close()
