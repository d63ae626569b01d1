"""What is of a study over HTTP alone: who gets in, lost replies, workers that live or have ended, arms of all kinds."""

import json
import math
import pickle
import random
import re
import socket
from itertools import count
from typing import ClassVar, NamedTuple
from urllib.parse import quote

import pytest
from losing import Losing
from processes import Listening

from boxthirding import (
    AccessRefused,
    AlreadyTold,
    InvalidInput,
    RemoteStudy,
    StudyChanged,
    StudyDiffers,
    StudyFinished,
    StudyUnavailable,
    TicketRefused,
    UnknownLabel,
    UnknownStudy,
    UnknownTicket,
    find_best,
    open_study,
)
from boxthirding.client.json_values import made
from boxthirding.client.remote import list_remote
from boxthirding.service.remote_workers import SECONDS
from boxthirding.service.studies import about_of
from boxthirding.session.values import Spread

numbers = count()


@pytest.fixture
def name():
    return f"study-{next(numbers)}"


@pytest.fixture
def study(server, name):
    with RemoteStudy(server.url(name), server.key, arms=["a", "b", "c", "d"]) as one:
        yield one


@pytest.fixture
def between(server):
    with Losing(server.port) as one:
        yield one


class TestAdvice:
    def test_it_is_that_of_the_library(self, study):
        (ticket,) = study.ask()
        study.tell(ticket, 1.0)
        for attempt, words in (
            (lambda: study.tell(ticket, 1.0), "use correct() to change it"),
            (lambda: study.fail(ticket), "use correct() to change it"),
            (lambda: study.correct(77, 1.0), "give a ticket of ask() or its id"),
        ):
            with pytest.raises(TicketRefused) as refused:
                attempt()
            assert refused.value.advice == words


class TestAccess:
    def test_the_key_comes_from_the_environment(self, server, study, name, monkeypatch):
        monkeypatch.setenv("BOXTHIRDING_KEY", server.key)
        with RemoteStudy(server.url(name)) as again:
            assert again.view().arms == study.view().arms == 4

    def test_without_a_key_it_says_where_to_put_one(self, server, monkeypatch):
        monkeypatch.delenv("BOXTHIRDING_KEY", raising=False)
        with pytest.raises(AccessRefused, match="there is no key for http://127") as refused:
            RemoteStudy(server.url("x"))
        assert "BOXTHIRDING_KEY" in refused.value.advice

    @pytest.mark.usefixtures("study")
    def test_a_wrong_key_is_said_to_be_one(self, server, name):
        with pytest.raises(AccessRefused, match="does not know this key") as refused:
            RemoteStudy(server.url(name), "key_of_no_one")
        assert "serve PLACE --new-key" in refused.value.advice

    def test_a_study_that_is_not_there(self, server):
        with pytest.raises(UnknownStudy, match="there is no study 'none' here"):
            RemoteStudy(server.url("none"), server.key)

    def test_a_worker_makes_no_study_and_is_told_who_does(self, server, name):
        worker = server.new_key("worker")
        with pytest.raises(AccessRefused, match=f"no study '{name}' here, and this key may not make one") as refused:
            RemoteStudy(server.url(name), worker, arms=["a"])
        assert "an operator of all studies" in refused.value.advice

    def test_a_worker_works_and_changes_nothing_else(self, server, study, name):
        with RemoteStudy(server.url(name), server.new_key("worker", name), arms=["a", "b", "c", "d"]) as worker:
            worker.tell(worker.ask()[0], 0.5)
            for attempt in (
                lambda: worker.observe("a", 1.0),
                lambda: worker.use("us"),
                lambda: worker.add(["e"]),
                lambda: worker.exclude(worker.holder),
                lambda: RemoteStudy(server.url(name), worker._key, known={"a": 1.0}),
                lambda: RemoteStudy(server.url(name), worker._key, force=True),
            ):
                with pytest.raises(AccessRefused, match="operator"):
                    attempt()
        assert study.view().pulls == 1

    def test_a_server_that_is_down(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}/#x"
            with pytest.raises(StudyUnavailable, match="cannot be reached") as trouble:
                RemoteStudy(url, "key_x", timeout=0.2)
        assert trouble.value.transient
        assert "`boxthirding serve` runs there" in trouble.value.advice

    def test_something_else_that_answers(self, between, name):
        for status, body in ((200, b"<html>welcome</html>"), (404, b"<html>no</html>"), (301, b"")):
            between.answers = [(status, {"Content-Type": "text/html"}, body)]
            with pytest.raises(StudyUnavailable, match=f"status {status}, but not as a boxthirding server") as trouble:
                RemoteStudy(between.url(name), "key_x")
            assert not trouble.value.transient

    @pytest.mark.parametrize("url", ["run.db", "https://", "https://me:secret@host/#x", "https://host:port/#x", 5])
    def test_an_address_that_is_none(self, url):
        with pytest.raises(InvalidInput, match="must be like https://rate") as refused:
            RemoteStudy(url, "key_x")
        assert "secret" not in str(refused.value)

    @pytest.mark.parametrize("name", ["..", ".", "a/b", " ", "/"])
    def test_a_name_that_no_server_can_have_is_refused(self, server, name):
        before = server.service.studies.names()
        for url in (server.url(quote(name, safe="")), server.url("")):
            with pytest.raises(InvalidInput, match=rf"is {re.escape(repr(name))}, but on a server .*: choose another"):
                RemoteStudy(url, server.key, name=name, arms=["a"])
        assert server.service.studies.names() == before

    def test_a_database_is_not_opened_by_a_servers_address(self):
        with pytest.raises(InvalidInput, match="RemoteStudy"):
            open_study("https://host/#x")

    def test_it_says_where_it_is_and_how_far_without_asking_the_server(self, server, name):
        study = RemoteStudy(server.url(name), server.key, arms=["a", "b", "c", "d"], policy="b3")
        study.tell(study.ask()[0], 0.5)
        study.close()
        assert repr(study) == f"<RemoteStudy {server.url(name)} of 4 arms, policy b3, 1 pull>"

    def test_it_is_not_pickled_with_its_key(self, study):
        with pytest.raises(InvalidInput, match="has a key, so it cannot be pickled"):
            pickle.dumps(study)


class TestSettings:
    def test_what_it_was_made_with_is_compared_and_may_be_left_out(self, server, study, name):
        def again(**settings):
            with RemoteStudy(server.url(name), server.key, **settings) as one:
                return one.view()

        assert again(arms=["a", "b", "c", "d"], policy="chase", seed=0, direction="maximize") == study.view()
        assert again() == study.view()
        for settings in ({"seed": 3}, {"policy": "us"}, {"arms": ["a", "b"]}, {"examples": 5}, {"patience": 9}):
            with pytest.raises(StudyDiffers, match=f"study '{name}' was made with"):
                again(**settings)

    def test_details_must_stay_the_same_unless_forced(self, server, name):
        def opened(command, **more):
            details = {"command": command}
            RemoteStudy(server.url(name), server.key, arms=["a"], details=details, **more).close()

        opened("one")
        opened("one")
        with pytest.raises(StudyChanged, match="with command 'one', not 'two'"):
            opened("two")
        opened("two", force=True)
        opened("two")
        assert server.service.studies.get(name).about.question == ""

    def test_known_results_are_taken_once_however_often_it_is_opened(self, server, name):
        for _ in range(2):
            with RemoteStudy(server.url(name), server.key, arms=["a", "b"], known={"a": [0.5, 1.0]}) as study:
                study.add_known({"b": 3.0})
                assert study.view().pulls == 3

    def test_arms_that_json_cannot_hold_stay_with_their_process(self, server, name):
        things = {"sin": math.sin, "none": None, "pair": (1, 2)}
        with (
            RemoteStudy(server.url(name), server.key, arms=things) as one,
            RemoteStudy(server.url(name), server.key) as other,
        ):
            assert {ticket.payload for ticket in one.ask(3)} == {math.sin, None, (1, 2)}
            assert (one.payload("sin"), other.payload("sin")) == (math.sin, "sin")
            assert [ticket.payload for ticket in other.held(one.holder)] == [t.label for t in one.held()]
        with pytest.raises(StudyChanged, match="arm 'sin'"):
            RemoteStudy(server.url(name), server.key, arms={**things, "sin": math.cos})

    def test_an_iterator_of_arms_is_refused(self, server, name):
        with pytest.raises(InvalidInput, match=r"give list\(arms\)"):
            RemoteStudy(server.url(name), server.key, arms=iter("ab"))

    def test_a_text_and_a_number_that_read_the_same_are_two_arms(self, server, name):
        with RemoteStudy(server.url(name), server.key, arms={1: "number", "1": "text"}) as study:
            assert (study.payload(1), study.payload("1")) == ("number", "text")
            study.withdraw("1")
            assert [arm.label for arm in study.arms(order="given") if not arm.withdrawn] == [1]
            with pytest.raises(UnknownLabel):
                study.why(2.5)

    def test_more_arms_than_a_page_come_by_pages(self, server, name):
        with RemoteStudy(server.url(name), server.key, arms=2500) as study:
            assert [arm.label for arm in study.arms(count=10**6, order="given")] == [*range(2500)]
            assert len(study.arms(999, 1002, order="given")) == 1002

    def test_pages_that_end_early_are_read_on(self, server, name):
        labels = [f"{'x' * 9_000}{number}" for number in range(70)]
        with RemoteStudy(server.url(name), server.key, arms=labels) as study:
            for ticket in study.ask(70):
                study.tell(ticket, float(ticket.id))
            assert sorted(arm.label for arm in study.top(1000)) == sorted(labels)
            assert len(study.top(65)) == 65
            assert [arm.label for arm in study.arms(count=70)] == [arm.label for arm in study.top(70)]
            assert all(len(box.arms) == box.size for box in study.boxes())
            assert {len(box.arms) for box in study.boxes(count=1)} <= {0, 1}
            assert sum(len(rung.arms) for rung in study.ladder()) == 70
            assert [len(rung.arms) for rung in study.ladder(count=3)] == [3]


def writes(study):
    """Return a call for each verb that writes: what it needs to know, the call, and what must be true afterwards."""

    def mine():
        return study.held()[0]

    def bobs():
        return study.held("bob")[0]

    def nothing():
        return None

    return [
        ("ask, ours", nothing, lambda _: study.ask(2), lambda: study.view().holders[study.holder] == 2),
        ("ask", nothing, lambda _: study.ask(2, holder="bob"), lambda: study.view().holders["bob"] == 2),
        ("tell", mine, lambda ticket: study.tell(ticket, 0.5), lambda: study.view().spent == 1),
        ("tell_all", mine, lambda ticket: study.tell_all([(ticket, 0.5)]), lambda: study.view().spent == 2),
        ("release", bobs, study.release, lambda: study.view().holders == {"bob": 1}),
        ("fail", bobs, study.fail, lambda: study.view().holders == {}),
        ("observe", nothing, lambda _: study.observe("a", 1.0), lambda: study.view().pulls == 3),
        ("observe_all", nothing, lambda _: study.observe_all({"a": [1.0, 2.0]}), lambda: study.view().pulls == 5),
        ("correct", nothing, lambda _: study.correct(0, 0.75), lambda: study.view().pulls == 5),
        ("exclude", nothing, lambda _: study.exclude(study.holder), lambda: study.view().excluded == (study.holder,)),
        ("include", nothing, lambda _: study.include(study.holder), lambda: study.view().excluded == ()),
        ("add", nothing, lambda _: study.add({"e": [1]}), lambda: study.view().arms == 5),
        ("withdraw", nothing, lambda _: study.withdraw("e"), lambda: study.view().withdrawn == 1),
        ("use", nothing, lambda _: study.use("us"), lambda: study.view().policy == "us"),
    ]


class TestLostReplies:
    @pytest.mark.usefixtures("study")
    def test_every_write_whose_reply_was_lost_counts_once(self, server, between, name):
        with RemoteStudy(between.url(name), server.key) as one:
            for what, look, call, is_right in writes(one):
                needed = look()
                between.lose = 1
                call(needed)
                assert between.lose == 0
                assert is_right(), what

    @pytest.mark.usefixtures("study")
    def test_tickets_of_a_lost_reply_are_handed_out_and_no_others(self, server, between, name):
        with RemoteStudy(between.url(name), server.key) as one:
            first = one.ask(2)
            between.lose = 1
            second = one.ask(2)
            assert [ticket.id for ticket in first + second] == [0, 1, 2, 3]
            assert one.held() == first + second

    def test_what_another_told_meanwhile_is_not_taken_for_ours(self, server, between, study, name):
        with RemoteStudy(between.url(name), server.key) as one:
            (ticket,) = one.ask()
            study.tell(ticket, 0.5)
            with pytest.raises(AlreadyTold):
                one.tell(ticket, 0.7)

    @pytest.mark.usefixtures("study")
    @pytest.mark.parametrize("status", [429, 502, 503, 504])
    def test_a_busy_server_is_asked_again(self, server, between, name, status):
        with RemoteStudy(between.url(name), server.key) as one:
            between.answers = [(status, {"Retry-After": "0"}, b"busy")] * 2
            (ticket,) = one.ask()
            assert one.view().open == 1
            between.answers = [(status, {}, b"busy")] * 2
            one.tell(ticket, 0.5)
            assert one.view().spent == 1

    @pytest.mark.usefixtures("study")
    def test_a_server_that_stays_busy_is_given_up_in_time(self, server, between, name):
        with RemoteStudy(between.url(name), server.key, timeout=30) as one:
            said = json.dumps({"detail": "too many", "advice": "try again in 1 s"}).encode()
            between.answers = [(429, {"Retry-After": "31"}, said)] * 20
            with pytest.raises(StudyUnavailable, match="too many") as trouble:
                one.view()
            assert trouble.value.transient
            between.answers = []

    @pytest.mark.usefixtures("study")
    def test_a_server_that_stopped_between_the_deed_and_its_reply_says_that_it_does_not_know(
        self, server, between, name, monkeypatch
    ):
        monkeypatch.setattr(server.service.replies, "end", lambda *_: server.service.replies._under_way.clear())
        with RemoteStudy(between.url(name), server.key) as one:
            between.lose = 1
            with pytest.raises(StudyUnavailable, match="may have succeeded") as trouble:
                one.observe("a", 1.0)
            assert not trouble.value.transient
            assert one.view().pulls == 1  # once, and never twice

    @pytest.mark.usefixtures("study")
    def test_a_call_that_is_given_up_says_whether_it_may_have_been_carried_out(self, server, between, name):
        body = b'{"detail": "the disk is full", "error": "StudyUnavailable", "transient": true}'
        busy = (503, {"Content-Type": "application/problem+json"}, body)
        with RemoteStudy(between.url(name), server.key, timeout=0.0) as one:
            between.answers = [busy]
            with pytest.raises(StudyUnavailable, match="the disk is full") as refused:
                one.observe("a", 1.0)
            assert (refused.value.unsure, one.view().pulls) == (False, 0)
            between.lose = 1
            with pytest.raises(StudyUnavailable, match=r"cannot be reached .*; the commit may have suc") as refused:
                one.observe("a", 1.0)
            assert (refused.value.unsure, one.view().pulls) == (True, 1)


class TestErrors:
    def test_a_refusal_has_the_attributes_of_the_same_refusal_here(self, server, study, name):
        with open_study(server.place, name) as here:
            for attempt in (
                lambda one: one.why("nobody"),
                lambda one: one.tell(99, 0.5),
                lambda one: one.include("nobody"),
                lambda one: one.use("sh:budget=4"),
            ):
                mine, theirs = refused(attempt, study), refused(attempt, here)
                assert mine == theirs

    def test_a_reward_that_is_not_on_the_scale_is_refused_with_the_scale(self, server):
        scale = [{"label": "unfunny", "reward": 0}, {"label": "funny", "reward": 1}]
        server.service.studies.new("scaled", ["a", "b"], about_of({"rating": {"scale": scale}}))
        with RemoteStudy(server.url("scaled"), server.key) as study:
            (ticket,) = study.ask()
            for attempt in (
                lambda: study.tell(ticket, 700),
                lambda: study.tell_all([(ticket, 700)]),
                lambda: study.observe("a", 700),
                lambda: study.tell(ticket, 1) or study.correct(ticket, 700),
            ):
                with pytest.raises(InvalidInput, match=r"the reward is 700, but must be .* scale: 0 \(unfunny\), 1 "):
                    attempt()
            assert study.recommend().mean == 1

    def test_a_finished_study_gives_no_tickets(self, study):
        study.pause()
        assert (study.ask(), study.status) == ([], "paused")
        study.resume()
        assert study.ask()
        study.finish()
        with pytest.raises(StudyFinished):
            study.ask()

    def test_a_ticket_of_a_study_that_was_deleted_is_not_told_to_another_of_its_name(self, server, study, name):
        (ticket,) = study.ask()
        server.service.delete_study(name)
        with RemoteStudy(server.url(name), server.key, arms=["a", "b", "c", "d"]) as other:
            other.ask(4)
            for attempt in (lambda: other.tell(ticket, 0.5), lambda: other.fail(ticket), lambda: other.release(ticket)):
                with pytest.raises(UnknownTicket, match="another study"):
                    attempt()


def refused(attempt, study):
    try:
        attempt(study)
    except Exception as error:  # noqa: BLE001  # whatever it is
        return type(error), error.problem, error.advice, error.transient
    return None


class TestWorkers:
    def test_tickets_of_a_worker_that_is_silent_for_a_minute_are_reclaimed(self, server, study, name):
        with RemoteStudy(server.url(name), server.key) as one:
            gone, here = one.worker(), study.worker()
            tickets = one.ask(2, holder=gone)
            kept = study.ask(1, holder=here)
            server.now += SECONDS - 1
            study._heart.add(here)  # a beat
            assert study.reclaim() == 0
            server.now += 2
            assert study.reclaim() == 2
            assert study.ask(2) == tickets
            assert study.held(here) == kept

    def test_a_worker_that_closes_is_not_waited_for(self, server, study, name):
        with RemoteStudy(server.url(name), server.key) as one:
            one.ask(2, holder=one.worker())
            assert study.reclaim() == 0
        assert study.reclaim() == 2

    def test_a_process_with_the_database_leaves_workers_of_the_server_alone(self, server, study, name):
        study.ask(2, holder=study.worker())
        with open_study(server.place, name) as here:
            assert here.reclaim() == 0
            here.ask(1, holder=here.worker())
            assert study.reclaim() == 0
        assert study.reclaim() == 1

    def test_a_server_that_starts_takes_workers_for_alive_until_a_minute_has_passed(self, tmp_path):
        first = Listening(tmp_path / "x.db")
        study = RemoteStudy(first.url(), first.key, arms=["a", "b"])
        study.ask(1, holder=study.worker())
        study._heart._names.clear()  # as if it were killed
        study.close()
        first.close()
        second = Listening(tmp_path / "x.db")
        with RemoteStudy(second.url(), second.key) as other:
            assert other.reclaim() == 0
            second.now += SECONDS + 1
            assert other.reclaim() == 1
        second.close()


def test_a_list_of_studies_that_comes_in_parts_is_read_to_its_end(server):
    names = {f"long {number}" for number in range(4)}
    for name in names:
        with RemoteStudy(server.url(name), server.key, arms=["x" * 19_000 + str(arm) for arm in range(9)]) as one:
            for ticket in one.ask(9):
                one.tell(ticket, 1.0)
    assert names <= {row["name"] for row in list_remote(server.url(), server.key)}


def test_a_server_sends_its_replies_at_once():
    from boxthirding.service.server import bind

    with (
        bind("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)  # else there is a delay of 40 ms


def test_it_can_be_closed_in_the_middle_of_its_own_calls(study):
    """As when it is garbage, which is collected in any thread, the one that says that it lives too."""
    study.worker()
    with study._connection._lock, study._heart._lock:
        study.close()
    assert study._heart._end.is_set()


class TestSpread:
    @pytest.mark.parametrize("rewards", [(0.0, 1.0, 1.0, 0.5), tuple(0.01 * k**2 for k in range(40)), (0.3,)])
    def test_it_is_that_of_the_study(self, server, name, rewards):
        with RemoteStudy(server.url(name), server.key, arms=["a", 7, "x" * 200]) as study:
            assert study.spread() == Spread(0.0, 0, frozenset(), {})
            for turn in range(40):
                study.tell(study.ask()[0], rewards[turn % len(rewards)])
            labels = [arm.label for arm in study.top(3)]
            with open_study(server.place, name) as local:
                assert study.spread(labels) == local.spread(labels)
                assert {*study.spread(labels[:2]).arms} == {*labels[:2]}

    def test_after_a_resume_the_interval_goes_by_all_results_and_stays_on_the_scale(self, server, name):
        details = {"rating": {"scale": [{"label": str(reward), "reward": reward} for reward in range(11)]}}
        with RemoteStudy(server.url(name), server.key, arms=["a", "b"], details=details) as study:
            study.observe_all([*[("a", 10)] * 10, ("a", 5), *(("b", reward) for reward in range(9))])
            for pulls in (1, 0):
                found = find_best(None, lambda arm: 10 * (arm == "a"), study=study, budget=1, progress=False)
                assert found.spending.pulls == pulls
            with open_study(server.place, name) as local:
                again = find_best(None, lambda _: 0, study=local, budget=1, progress=False)
                printed = str(found)
                assert printed.splitlines()[:6] == str(again).splitlines()[:6]
        low, high = map(float, re.search(r"95 % interval (\S+) to (\S+)", printed).groups())
        assert 0 < low < high == 10


class TestScale:
    SCALE: ClassVar = [{"label": word, "reward": reward} for word, reward in (("no", 0), ("half", 0.5), ("yes", 1))]
    DETAILS: ClassVar = {"rating": {"question": "Well?", "scale": SCALE}, "other": 3}

    def test_a_reward_outside_the_scale_that_a_program_made_the_study_with_is_refused(self, server, name):
        with RemoteStudy(server.url(name), server.key, arms=["a", "b"], details=self.DETAILS) as study:
            (ticket,) = study.ask()
            for attempt in (lambda: study.tell(ticket, 700), lambda: study.observe("a", 700)):
                with pytest.raises(
                    InvalidInput, match=r"the reward is 700, but must be one of the study's scale: 0 \(no"
                ):
                    attempt()
            study.tell(ticket, 0.5)
            assert study.pulls == 1
        with RemoteStudy(server.url(name), server.key, arms=["a", "b"], details=self.DETAILS) as study:
            assert study.pulls == 1

    def test_the_rewards_of_a_scale_that_has_ratings_cannot_be_made_others(self, server, name):
        with RemoteStudy(server.url(name), server.key, arms=["a", "b"], details=self.DETAILS) as study:
            study.observe("a", 1)
        stars = [{"label": str(reward), "reward": reward} for reward in range(1, 6)]
        for force in (False, True):
            with pytest.raises(InvalidInput):
                RemoteStudy(server.url(name), server.key, details={"rating": {"scale": stars}, "other": 3}, force=force)

    @pytest.mark.parametrize(
        "said", [3, {"scale": None}, {"scale": ["x"]}, {"scale": [{"label": "only", "reward": 1}]}]
    )
    def test_what_no_rater_could_be_shown_is_refused(self, server, name, said):
        with pytest.raises(InvalidInput):
            RemoteStudy(server.url(name), server.key, arms=["a", "b"], details={"rating": said})
        with pytest.raises(UnknownStudy):
            RemoteStudy(server.url(name), server.key)


class TestHistory:
    def test_it_is_that_of_the_study_with_its_own_labels(self, server, name):
        arms = ["x" * 100 + str(place) for place in range(3)] + [7, "b", "0123456789abcdef01234567"]
        with RemoteStudy(server.url(name), server.key, arms=arms) as study:
            for turn in range(40):
                (ticket,) = study.ask()
                study.tell(ticket, math.sin(turn + arms.index(ticket.label)))
            history = study.history()
            with RemoteStudy(server.url(name), server.key) as again:
                found = find_best(None, lambda arm: 5.0 * (arm == 7), study=again, budget=60, progress=False)
                axes = again.plot()
        assert {moment.label for moment in history} <= {*arms}
        assert [moment.results for moment in history[:3]] == [1, 2, 3]
        assert history[-1].results == 40
        before = [moment for place, moment in enumerate(history) if place == 0 or history[place - 1][1] != moment[1]]
        assert found.history[: len(before)] == [(moment.results, moment.label, moment.mean) for moment in before]
        assert axes.get_xlabel() == "pulls"

    def test_after_a_resume_history_and_picture_are_of_the_whole_study(self, server, name, monkeypatch):
        monkeypatch.setenv("BOXTHIRDING_KEY", server.key)
        draw = random.Random(2)
        told = {"budget": 60, "study": server.url(name), "progress": False}
        first = find_best(20, lambda arm: draw.gauss(arm / 20, 0.3), **told)
        found = find_best(20, lambda arm: draw.gauss(arm / 20, 0.3), **(told | {"budget": 120}))
        assert found.spending.pulls == 60
        assert found.history[: len(first.history)] == first.history
        with open_study(server.place, name) as study:
            history = study.history()
        assert history[0].results == 1
        assert any(60 < row.results <= 120 for row in history)
        line = found.plot().get_lines()[0]
        assert {*zip(*line.get_data(), strict=True)} >= {(row.results, row.mean) for row in history}


def test_a_field_that_an_older_server_does_not_send_has_its_default():
    class Newer(NamedTuple):
        pulls: int
        rate: float | None = None

    assert made(Newer, {"pulls": 3, "unknown": 1}) == Newer(3, None)
