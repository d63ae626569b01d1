"""What a study promises beyond a session: holders, leases, releases, pauses, sharing."""

import threading
from contextlib import closing

import numpy as np
import pytest
from keeping import Counted, Place, kinds, play, reward

from boxthirding import (
    AlreadyTold,
    AskTell,
    InvalidInput,
    StudyFinished,
    StudyUnavailable,
    TicketRefused,
    UnknownLabel,
    UnknownTicket,
)
from boxthirding.errors import CannotAmend
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Exchange, Settings, Study, decisions
from boxthirding.study.events import Asked, Failed, Given, Observed, Released, Told, Withdrawn


@pytest.fixture
def place():
    return Place()


class TestEvents:
    def test_each_verb_leaves_its_event(self, place):
        study = place.open("me", arms=["a", "b", "c"], seed=1)
        first, second = study.ask(2)
        study.tell(first, 0.5)
        study.fail(second.id)
        study.add({"d": object()})
        study.withdraw("d")
        study.pause()
        study.resume()
        study.observe("a", 0.25)
        study.correct(first, 0.75)
        study.exclude("me")
        study.include("me")
        study.use("us")
        study.release(*study.ask())
        study.finish()
        assert kinds(study) == [
            *("Asked", "Told", "Failed", "Added", "Withdrawn", "Paused", "Resumed", "Observed", "Corrected"),
            *("Excluded", "Included", "Switched", "Given", "Released", "Finished"),
        ]
        events = [entry.event for entry in study.events()]
        assert events[1] == Asked(100.0, "me", ((0, first.label, 0), (1, second.label, 0)))
        assert events[2:4] == [Told(100.0, 0, 0.5), Failed(100.0, 1)]
        assert events[8] == Observed(100.0, (("a", 0.25, None),))
        assert [entry.seq for entry in study.events(11)] == [12, 13, 14, 15, 16]

    def test_an_arm_that_fails_too_often_is_withdrawn_by_an_event(self, place):
        study = place.open("me", arms=["a", "b"], patience=2)
        (ticket,) = study.ask()
        study.fail(ticket)
        assert study.ask() == [ticket]
        study.fail(ticket)
        assert [*study.events()][-1].event == Withdrawn(100.0, ticket.label, "failed 2 times in a row")
        assert study.why(ticket.label).place == "withdrawn"
        assert study.open == 0

    def test_details_are_kept_with_a_result_and_who_told_it(self, place):
        study = place.open("me", arms=5)
        one, two = study.ask(2, holder="ann")
        study.tell(one, 0.5, details={"answer": "funny", "seconds": 2.5})
        study.release(two)
        study.tell(two, 0.25, holder="ann")
        told = [entry.event for entry in place.open().events() if isinstance(entry.event, Told)]
        assert told == [
            Told(100.0, one.id, 0.5, None, {"answer": "funny", "seconds": 2.5}),
            Told(100.0, two.id, 0.25, "ann"),
        ]

    def test_an_open_ticket_is_found_by_its_id(self, place):
        study = place.open("me", arms=["a", "b"])
        one, two = study.ask(2)
        assert study.ticket(one.id) == one
        study.tell(one, 1)
        study.withdraw(two.label)
        for ticket, refusal in [(one.id, AlreadyTold), (two.id, TicketRefused), (7, UnknownTicket)]:
            with pytest.raises(refusal, match=f"ticket {ticket} "):
                study.ticket(ticket)

    def test_what_is_refused_leaves_none(self, place):
        study = place.open(arms=["a", "b"])
        ticket, _ = study.ask(2)
        study.tell(ticket, 1)
        before, state = place.texts(), study.state()
        for refusal, attempt in [
            (AlreadyTold, lambda: study.tell(ticket, 1)),
            (UnknownTicket, lambda: study.tell(7, 1)),
            (InvalidInput, lambda: study.tell(ticket.id, float("nan"))),
            (InvalidInput, lambda: study.ask(0)),
            (UnknownLabel, lambda: study.withdraw("c")),
            (InvalidInput, lambda: study.add(["a"])),
            (InvalidInput, lambda: study.add("abc")),
            (UnknownLabel, lambda: study.observe("c", 1)),
            (InvalidInput, lambda: study.observe("a", float("inf"))),
            (InvalidInput, lambda: study.observe_all({"a": 1, "b": "much"})),
            (InvalidInput, lambda: study.observe("a", 1, pull=3)),
            (UnknownTicket, lambda: study.correct(7, 1)),
            (InvalidInput, lambda: study.exclude("the man in the moon")),
            (InvalidInput, lambda: study.include("me")),
            (InvalidInput, lambda: study.use("nonsense")),
            (InvalidInput, lambda: study.use("sh:budget=9")),
            (InvalidInput, lambda: study.tell(study.held()[0], 1, details={"a": object()})),
            (InvalidInput, lambda: study.tell(study.held()[0], 1, details=[1])),
            (InvalidInput, lambda: study.ask(holder="x" * 10_000)),
            (TicketRefused, lambda: study.tell(study.held()[0], 1, holder="ann")),
            (TicketRefused, lambda: study.correct(study.held()[0], 1)),
        ]:
            with pytest.raises(refusal):
                attempt()
        assert (place.texts(), study.state()) == (before, state)

    def test_a_policy_that_cannot_be_amended_says_what_to_do(self, place):
        study = place.open("me", arms=4, policy="sh:budget=40")
        (ticket,) = study.ask()
        study.tell(ticket, 1.0)
        before = place.texts()
        for attempt in (lambda: study.observe(0, 1.0), lambda: study.correct(ticket, 2), lambda: study.exclude("me")):
            with pytest.raises(CannotAmend, match=r"policy sh cannot .* choose a policy that can, .* use\('chase'\)"):
                attempt()
        assert place.texts() == before
        study.use("chase")
        study.correct(ticket, 2.0)
        assert study.recommend().mean == 2.0

    def test_a_rule_that_waits_is_asked_once_and_not_again(self, place):
        study = place.open(arms=["a"], policy="sh:budget=4")
        tickets = study.ask(9)
        assert 0 < len(tickets) < 9
        length = len(place.texts())
        assert [study.ask(3) for _ in range(5)] == [[]] * 5
        assert len(place.texts()) == length
        play_out(study, tickets)

    def test_numbers_of_numpy_are_numbers(self, place):
        study = place.open(arms=np.arange(3), seed=np.int64(1))
        (ticket,) = study.ask(np.int64(1))
        study.tell(np.int64(ticket.id), np.float32(0.5))
        study.withdraw(np.int64(2))
        assert place.open().why(2).place == "withdrawn"


def play_out(study, tickets):
    while tickets:
        for ticket in tickets:
            study.tell(ticket, reward(ticket))
        tickets = study.ask(9)


class TestManyResults:
    def test_they_are_taken_in_one_commit(self):
        journal = Counted()
        study = Study("study", journal, Settings(100))
        tickets, before = study.ask(20), journal.commits
        study.tell_all((ticket, reward(ticket)) for ticket in tickets)
        assert (study.pulls, journal.commits - before) == (20, 1)

    @pytest.mark.parametrize(
        ("refusal", "wrong"),
        [
            (UnknownTicket, (99, 0.5)),
            (AlreadyTold, (0, 0.5)),
            (InvalidInput, (3, float("inf"))),
            (InvalidInput, (3, "good")),
            (AlreadyTold, (2, 0.5)),
        ],
    )
    def test_all_or_none_of_them(self, place, refusal, wrong):
        study = place.open(arms=20)
        tickets = study.ask(4)
        study.tell(tickets[0], 0.5)
        before = study.state(), place.texts()
        with pytest.raises(refusal):
            study.tell_all([(1, 0.5), (tickets[2], 0.5), wrong])
        assert (study.state(), place.texts()) == before
        study.tell_all([(1, 0.5), (tickets[2], 0.5)])
        study.tell_all([])
        assert study.pulls == 3


class TestHolders:
    def test_one_who_comes_back_finds_its_own_tickets_and_is_asked_for_nothing_twice(self, place):
        study = place.open("ann", arms=20)
        tickets = study.ask(3)
        study.tell(tickets[0], 0.5)
        again = place.open("ann")
        assert again.held() == place.open("bob").held("ann") == tickets[1:]
        assert again.ask()[0].id == 3
        assert [ticket.id for ticket in again.held()] == [1, 2, 3]
        assert again.held("bob") == []

    def test_no_other_holder_gets_them(self, place):
        study = place.open("ann", arms=20)
        tickets = study.ask(3)
        assert [ticket.id for ticket in study.ask(3, holder="bob")] == [3, 4, 5]
        assert [ticket.id for ticket in place.open().ask(2)] == [6, 7]
        assert study.held() == tickets

    def test_a_rater_sees_no_arm_twice(self, place):
        study = place.open("ann", arms=20)
        given = [ticket.label for _ in range(30) for ticket in study.ask(holder="rater", unseen=True)]
        assert sorted(given) == list(range(20))
        texts = len(place.texts())
        assert study.ask(holder="rater", unseen=True) == []
        assert len(place.texts()) == texts  # asking in vain writes nothing
        assert place.open().ask(5, holder="rater", unseen=True) == []
        assert place.open().state() == study.state()

    def test_a_limit_counts_the_results_and_tickets_of_all_holders(self, place):
        ann, bob = place.open("ann", arms=20), place.open("bob")
        tickets = ann.ask(5, limit=3)
        assert (len(tickets), bob.ask(limit=3), len(bob.ask(5, limit=4))) == (3, [], 1)
        ann.tell(tickets[0], 0.5)
        assert bob.ask(limit=4) == []
        ann.withdraw(tickets[1].label)  # its ticket is void, and leaves room for another
        assert len(ann.ask(9, limit=4)) == 1

    def test_a_limit_holds_back_no_ticket_that_is_free(self, place):
        tickets = place.open("ann", arms=20).ask(3)
        ann = place.open("ann")
        ann.fail(tickets[2])
        assert ann.ask(9, limit=2) == []  # two are held, and that is the limit
        assert place.open("bob").ask(9, limit=3) == tickets[2:]
        with pytest.raises(InvalidInput, match="limit is -1, but must be at least 0"):
            ann.ask(limit=-1)

    def test_without_a_name_each_is_another(self, place):
        place.open(arms=20)
        assert place.open().holder != place.open().holder

    def test_open_tickets_are_counted_by_holder(self, place):
        study = place.open("ann", arms={"a": 1.5, "b": 2.5})
        one, two = study.ask(2)
        study.fail(two)
        assert study.held() == [one]
        assert (study.open, dict(study.view().holders)) == (2, {"ann": 1})
        assert one.payload in (1.5, 2.5)

    def test_any_process_may_tell_a_ticket(self, place):
        (ticket,) = place.open("ann", arms=20).ask()
        bob = place.open("bob")
        bob.tell(ticket, 0.5)
        assert bob.pulls == 1

    def test_a_ticket_of_another_study_is_refused(self, place):
        study, other = place.open(arms=5), place.open(arms=5, name="other")
        study.ask()
        (theirs,) = other.ask()
        with pytest.raises(UnknownTicket, match="not of this session"):
            study.tell(theirs, 0.5)


class TestLeases:
    def test_a_ticket_whose_lease_ran_out_goes_to_the_next_who_asks(self, place):
        ann, bob = place.open("ann", arms=20, lease=10), place.open("bob")
        (ticket,) = ann.ask()
        place.now += 9.9
        assert bob.ask()[0].id == 1
        place.now += 0.1
        assert [new.id for new in bob.ask(2)] == [0, 2]
        assert Given(110.0, "bob", (0,)) in study_events(bob)
        ann.tell(ticket, 0.5, holder="ann")  # late, and one more result of its arm
        bob.tell(ticket, 0.75)
        assert (bob.pulls, bob.spent, place.open().pulls) == (2, 2, 2)
        with pytest.raises(AlreadyTold):
            ann.tell(ticket, 0.5, holder="ann")
        assert place.open().state() == ann.state()

    def test_tickets_whose_lease_ran_out_are_given_again_within_a_limit_that_they_use_up(self, place):
        ann, bob = place.open("ann", arms=20, lease=10), place.open("bob")
        assert [ticket.id for ticket in ann.ask(3, limit=3)] == [0, 1, 2]
        place.now += 5
        assert bob.ask(3, limit=3) == []
        place.now += 5
        assert [ticket.id for ticket in bob.ask(2, limit=3)] == [0, 1]
        assert [ticket.id for ticket in place.open("cid").ask(9, limit=3)] == [2]
        assert place.open("dan").ask(9, limit=3) == []

    def test_tickets_that_are_held_in_time_go_before_those_whose_lease_ran_out(self, place):
        place.open("ann", arms=20, lease=10).ask(2)
        place.now += 5
        place.open("bob").ask(2)
        place.now += 5
        assert [ticket.id for ticket in place.open("cid").ask(9, limit=3)] == [0]
        assert place.open("dan").ask(9, limit=3) == []

    def test_what_failed_elsewhere_is_given_again(self, place):
        ann = place.open("ann", arms=20, lease=10)
        (ticket,) = ann.ask()
        place.open("bob").fail(ticket)
        assert ann.ask() == [ticket]

    def test_a_clock_that_is_ahead_keeps_no_other_lease_from_running_out(self, place):
        ann, bob = place.open("ann", arms=20, lease=60), place.open("bob")
        place.now += 30
        (early,) = ann.ask()  # its clock is half a lease ahead
        place.now -= 30
        (late,) = bob.ask()
        place.now += 60
        assert [ticket.id for ticket in place.open("cid").ask(2)] == [late.id, 2]
        place.now += 30
        assert early in place.open("dan").ask(9)

    def test_a_ticket_from_further_ahead_than_a_lease_counts_as_run_out(self, place):
        ann = place.open("ann", arms=20, lease=60)
        place.now += 1e8
        (ticket,) = ann.ask()
        place.now -= 1e8
        assert place.open("bob").ask() == [ticket]

    def test_a_journal_is_read_without_a_clock(self, place):
        ann = place.open("ann", arms=20, lease=10)
        ann.ask(2)
        place.now += 20
        place.open("cid").ask(1)
        place.now = -1e9
        assert place.open("bob").state() == ann.state()

    def test_a_failed_ticket_is_given_again(self, place):
        study = place.open("ann", arms=20)
        (ticket,) = study.ask()
        study.fail(ticket)
        with pytest.raises(TicketRefused, match="ticket 0 has no holder, so it cannot fail"):
            study.fail(ticket)
        assert place.open("bob").ask() == [ticket]


class TestReleases:
    def test_released_tickets_go_to_the_next_who_asks_and_nothing_has_failed(self, place):
        ann, bob = place.open("ann", arms=20, patience=1), place.open("bob")
        one, two, three = ann.ask(3)
        assert bob.release(three, 0) == [2, 0]
        assert study_events(bob)[-1] == Released(100.0, (2, 0))
        assert (ann.held(), bob.open) == ([two], 3)
        assert bob.ask(2) == [three, one]
        assert bob.why(one.label).place != "withdrawn"

    def test_all_that_a_holder_has(self, place):
        ann, bob = place.open("ann", arms=20), place.open("bob")
        tickets, (other,) = ann.ask(3), bob.ask()
        ann.tell(tickets[1], 0.5)
        assert place.open("cid").release(holder="ann") == [0, 2]
        assert place.open("ann").ask(3)[:2] == [tickets[0], tickets[2]]
        assert bob.held() == [other]

    def test_they_may_go_to_the_same_holder_again(self, place):
        study = place.open("ann", arms=20)
        tickets = study.ask(2)
        study.release(*tickets)
        assert study.ask(2) == tickets

    def test_a_late_answer_counts_too(self, place):
        ann, bob = place.open("ann", arms=20), place.open("bob")
        one, two = ann.ask(2)
        bob.release(one, two)
        ann.tell(one, 0.5, holder="ann")  # late, and before another was given it
        assert bob.ask() == [two]
        ann.tell(two, 0.5, holder="ann")
        bob.tell(two, 0.7)
        assert bob.pulls == 3
        assert place.open().state() == bob.state()

    def test_what_is_not_out_is_refused_and_nothing_is_released(self, place):
        study = place.open("ann", arms=20)
        one, two, three, four = study.ask(4)
        study.tell(one, 0.5)
        study.fail(two)
        study.withdraw(three.label)
        before = study.state(), place.texts()
        for refusal, wrong in [
            (AlreadyTold, one),
            (TicketRefused, two),
            (TicketRefused, three),
            (UnknownTicket, 99),
        ]:
            with pytest.raises(refusal):
                study.release(four, wrong)
        with pytest.raises(TicketRefused, match="ticket 1 has no holder: the next to ask is given it"):
            study.release(two)
        with pytest.raises(InvalidInput, match="holder 'bob' has no open tickets: holders who have some are 'ann'"):
            study.release(holder="bob")
        with pytest.raises(InvalidInput, match="must be one of them"):
            study.release()
        with pytest.raises(InvalidInput, match="must be one of them"):
            study.release(four, holder="ann")
        assert (study.state(), place.texts()) == before

    def test_it_is_the_same_when_the_journal_is_read_again(self, place):
        study = place.open("ann", arms=20)
        study.ask(3)
        study.release(1)
        assert place.open("bob").state() == study.state()

    def test_not_when_the_study_is_finished(self, place):
        study = place.open("ann", arms=20)
        (ticket,) = study.ask()
        study.finish()
        with pytest.raises(StudyFinished):
            study.release(ticket)


def study_events(study):
    return [entry.event for entry in study.events()]


class TestPauses:
    def test_a_paused_study_hands_out_nothing_and_takes_results(self, place):
        study = place.open(arms=20)
        (ticket,) = study.ask()
        study.pause()
        study.pause()
        assert place.open().ask(3) == []
        study.tell(ticket, 0.5)
        assert (study.status, study.pulls) == ("paused", 1)
        study.resume()
        study.resume()
        assert len(study.ask(3)) == 3
        assert kinds(study).count("Paused") == kinds(study).count("Resumed") == 1

    def test_a_finished_study_can_be_read_and_nothing_changes_its_answer(self, place):
        study = place.open("ann", arms=20, patience=1)
        told, *tickets = study.ask(3, holder="ann")
        study.tell(told, 0.5)
        study.tell(study.ask(holder="bob")[0], 0.25)
        study.exclude("bob")
        study.finish()
        study.finish()
        assert kinds(study).count("Finished") == 1
        before = study.view()
        again = place.open()
        for attempt in (
            *(again.ask, again.pause, again.resume, lambda: again.add([99]), lambda: again.withdraw(3)),
            *(lambda: again.observe(3, 0.5), lambda: again.use("us"), lambda: again.add_known([(3, 0.5)])),
            *(lambda: again.tell(tickets[0], 0.5), lambda: again.tell_all([(tickets[0], 0.5)])),
            *(lambda: again.fail(tickets[1]), lambda: again.correct(told, 1.0), lambda: again.release(*tickets)),
            *(lambda: again.exclude("ann"), lambda: again.include("bob")),
        ):
            with pytest.raises(StudyFinished, match="'study' is finished for good, so nothing changes its answer"):
                attempt()
        with pytest.raises(AlreadyTold):
            again.tell(told, 0.5)  # a reply was lost: it counts
        again.describe({"note": "handed on"})
        assert (again.view(), again.status) == (before, "finished")


class TestSharing:
    def test_each_sees_what_the_others_did(self, place):
        one, other = place.open(arms=["a", "b", "c"]), place.open()
        (ticket,) = one.ask()
        other.tell(ticket, 0.5)
        assert one.pulls == one.recommend().pulls == 1
        other.add(["d"])
        one.withdraw("d")
        assert other.why("d").place == "withdrawn"
        assert one.state() == other.state()

    def test_it_satisfies_the_protocol(self, place):
        study: AskTell = place.open(arms=3)
        play(study, 3)
        assert study.top(2)[0] == study.recommend()
        assert study.ladder()
        assert 0 < float(study.screening(0.5)) <= 1
        assert repr(study) == f"<Study 'study' of 3 arms, policy {study.policy.name}, 3 pulls>"
        assert (study.seed, study.direction, study.patience, study.lease) == (0, "maximize", 3, None)

    def test_threads_share_a_study(self, place):
        study = place.open(arms=500)
        threads = [threading.Thread(target=play, args=(study, 50)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert study.pulls == 400
        assert study.open == 0
        assert place.open().state() == study.state()

    def test_after_closing_it_says_so_and_the_study_is_not_finished(self, place):
        with place.open(arms=3) as study:
            study.ask()
        with pytest.raises(StudyUnavailable, match="closed here; open it again") as refused:
            study.ask()
        assert not refused.value.transient
        with closing(place.open()) as again:
            assert again.status == "open"
        assert place.open().status == "open"
        assert kinds(place.open()) == ["Asked"]


class TestListening:
    def test_a_listener_hears_every_event_once_with_its_number(self, place):
        study, heard = place.open("me", arms=["a", "b", "c"]), []
        study.listen(lambda seq, event: heard.append((seq, event)))
        play(study, 3)
        other = place.open("other")
        other.tell(other.ask()[0], 0.5)
        assert study.pulls == 4  # read here, and heard of
        study.pause()
        assert heard == [(entry.seq, entry.event) for entry in study.events(1)]

    def test_what_was_not_committed_is_not_heard_of(self, place):
        study, heard = place.open("me", arms=["a", "b", "c"]), []
        study.listen(lambda seq, _: heard.append(seq))
        (ticket,) = study.ask()
        before = len(heard)
        with pytest.raises(InvalidInput):
            study.tell(ticket, float("nan"))
        with pytest.raises(UnknownTicket):
            study.tell(99, 1.0)
        assert len(heard) == before

    def test_the_reason_of_a_release_is_kept(self, place):
        study = place.open("me", arms=["a", "b", "c"])
        (ticket,) = study.ask()
        study.release(ticket, why="skipped")
        assert place.texts()[-1].count('"why":"skipped"') == 1
        assert [entry.event.why for entry in place.open().events() if isinstance(entry.event, Released)] == ["skipped"]


class TestDetails:
    def test_details_are_described_anew_and_survive(self, place):
        study = place.open("me", arms=["a", "b"], details={"question": "Funny?"})
        study.describe({"question": "How funny?", "scale": [0, 1]})
        study.describe({"question": "How funny?", "scale": [0, 1]})
        assert kinds(study) == ["Redefined"]
        assert place.open().details == {"question": "How funny?", "scale": [0, 1]}

    def test_a_study_without_details_has_none(self, place):
        assert place.open(arms=2).details == {}


def exchanged(study, results, n, holder="ann", *, unseen=False):
    """Make one exchange; return what is wrong with each result, and the tickets."""
    (handed,) = study.exchange([Exchange(holder, results, n, unseen)])
    if isinstance(handed, BaseException):
        raise handed
    return handed.problems, handed.tickets


class TestTellAndAsk:
    def test_it_is_a_tell_and_an_ask_in_one_commit(self):
        journals = Counted(), Counted()
        one, two = (Study("s", journal, Settings(9), holder="m", clock=lambda: 0.0) for journal in journals)
        (first,), (other,) = one.ask(holder="ann", unseen=True), two.ask(holder="ann", unseen=True)
        for number in range(8):
            before = journals[0].commits
            problems, (first,) = exchanged(one, [(first, number / 3, {"answer": "x"})], 1, unseen=True)
            assert (problems, journals[0].commits - before) == ([None], 1)
            two.tell(other, number / 3, holder="ann", details={"answer": "x"})
            (other,) = two.ask(holder="ann", unseen=True)
            assert first == other
        assert [entry.event for entry in one.events(1)] == [entry.event for entry in two.events(1)]

    def test_each_result_says_what_is_wrong_with_it_and_the_others_are_taken(self):
        study = Study("s", MemoryJournal(), Settings(9))
        mine, theirs = study.ask(holder="ann")[0], study.ask(holder="bob")[0]
        rows = [(mine, 0.5, None), (mine.id, 0.7, None), (theirs, 0.5, None), (99, 0.5, None)]
        problems, tickets = exchanged(study, rows, 2)
        assert [type(problem) for problem in problems] == [type(None), AlreadyTold, TicketRefused, UnknownTicket]
        assert (study.pulls, len(tickets), study.held("ann")) == (1, 2, tickets)

    def test_a_finished_study_takes_no_results_and_gives_nothing(self):
        study = Study("s", MemoryJournal(), Settings(9))
        told, ticket = study.ask(2, holder="ann")
        study.tell(told, 0.5)
        study.finish()
        problems, tickets = exchanged(study, [(told, 0.5, None), (ticket, 0.5, None)], 1)
        assert ([*map(type, problems)], tickets, study.pulls) == ([AlreadyTold, StudyFinished], [], 1)

    def test_arms_of_an_iterator_are_drawn_for_it(self):
        study = Study("s", MemoryJournal(), Settings(iter(range(5)), "us"))
        (ticket,) = study.ask(holder="ann", unseen=True)
        problems, tickets = exchanged(study, [(ticket, 0.5, None)], 3, unseen=True)
        assert (problems, len(tickets)) == ([None], 3)

    def test_it_is_one_commit(self):
        journals = Counted(), Counted()
        one, two = (Study("s", journal, Settings(9), holder="m", clock=lambda: 0.0) for journal in journals)
        _, (first,) = exchanged(one, (), 1)
        before = journals[0].commits
        problems, tickets = exchanged(one, [(99, 0.5, None), (first, 0.5, None)], 2, unseen=True)
        assert journals[0].commits - before == 1
        (same,) = two.ask(holder="ann")
        two.tell(same, 0.5, holder="ann")
        assert ([*map(type, problems)], same) == ([UnknownTicket, type(None)], first)
        assert tickets == two.ask(2, holder="ann", unseen=True)

    @pytest.mark.parametrize(
        ("results", "holder"),
        [((), ""), ([(0, float("nan"), None)], "ann"), ([(0, 0.5, {"x": float("nan")})], "ann")],
    )
    def test_what_is_impossible_raises_and_changes_nothing(self, results, holder):
        study = Study("s", MemoryJournal(), Settings(9))
        study.ask(holder="ann")
        with pytest.raises(InvalidInput):
            exchanged(study, [(0, 0.5, None), *results] if results else (), 1, holder=holder)
        assert (study.seq, study.pulls) == (2, 0)

    def test_exchanges_of_several_are_one_commit_in_their_order(self):
        journals = Counted(), Counted()
        one, two = (Study("s", journal, Settings(9), holder="m", clock=lambda: 0.0) for journal in journals)
        tickets = {holder: one.ask(holder=holder)[0] for holder in ("ann", "bob")}
        assert tickets == {holder: two.ask(holder=holder)[0] for holder in ("ann", "bob")}
        together = [Exchange(holder, [(ticket.id, ticket.id / 7, None)], 2) for holder, ticket in tickets.items()]
        before = journals[0].commits
        handed = one.exchange(together)
        assert journals[0].commits - before == 1
        assert handed == [reply for exchange in together for reply in two.exchange([exchange])]
        assert [entry.event for entry in one.events(1)] == [entry.event for entry in two.events(1)]

    def test_an_error_ends_one_exchange_and_keeps_no_other_from_being_made(self, monkeypatch):
        study = Study("s", MemoryJournal(), Settings(9))
        tickets = study.ask(3)
        tell = decisions.tell

        def breaking(state, now, ticket, *rest):
            if ticket is tickets[1]:
                raise ZeroDivisionError
            return tell(state, now, ticket, *rest)

        monkeypatch.setattr(decisions, "tell", breaking)
        first, second, third = study.exchange(Exchange(study.holder, [(ticket, 0.5, None)]) for ticket in tickets)
        assert (first.problems, type(second), third.problems) == ([None], ZeroDivisionError, [None])
        assert study.pulls == 2

    def test_an_error_while_arms_are_drawn_is_said_and_the_results_are_taken(self, monkeypatch):
        study = Study("s", MemoryJournal(), Settings(iter(range(5)), "us"))
        (ticket,) = study.ask(holder="ann", unseen=True)

        def fail(_):
            raise StudyUnavailable("away", transient=True)

        with monkeypatch.context() as patch:
            patch.setattr(study._arms, "draw_ahead", fail)
            (error,) = study.exchange([Exchange("ann", [(ticket, 0.5, None)], 3, unseen=True)])
        assert (type(error), study.pulls) == (StudyUnavailable, 1)
        assert [*map(type, exchanged(study, [(ticket, 0.5, None)], 3, unseen=True)[0])] == [AlreadyTold]
        assert len(study.held("ann")) == 3

    def test_what_cannot_be_committed_is_said_to_all(self):
        journal = Counted()
        study = Study("s", journal, Settings(9))
        tickets = study.ask(2)
        journal.close()
        replies = study.exchange(Exchange(study.holder, [(ticket, 0.5, None)]) for ticket in tickets)
        assert [type(reply) for reply in replies] == [StudyUnavailable] * 2

    def test_a_finished_study_takes_part_in_none(self):
        study = Study("s", MemoryJournal(), Settings(9))
        (ticket,) = study.ask(holder="ann")
        study.finish()
        problems, tickets = exchanged(study, [(ticket, 0.5, None)], 1)
        assert ([*map(type, problems)], tickets) == ([StudyFinished], [])
        assert exchanged(study, (), 1, holder="cid") == ([], [])
