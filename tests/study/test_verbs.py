"""What a study promises beyond a session: holders, leases, releases, pauses, sharing."""

import threading

import numpy as np
import pytest
from keeping import Counted, Place, kinds, play, reward

from boxthirding import (
    AlreadyTold,
    AskTell,
    InvalidInput,
    StudyClosed,
    StudyUnavailable,
    TicketRefused,
    UnknownLabel,
    UnknownTicket,
)
from boxthirding.study import Asked, Failed, Reissued, Released, Settings, Study, Told


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
        study.close()
        assert kinds(study) == ["Asked", "Told", "Failed", "ArmsAdded", "ArmWithdrawn", "Paused", "Resumed", "Closed"]
        events = [entry.event for entry in study.events()]
        assert events[1] == Asked(100.0, "me", 0, (first.label, second.label))
        assert events[2:4] == [Told(100.0, 0, 0.5), Failed(100.0, 1)]
        assert [entry.seq for entry in study.events(4)] == [5, 6, 7, 8, 9]

    def test_what_is_refused_leaves_none(self, place):
        study = place.open(arms=["a", "b"])
        (ticket,) = study.ask()
        study.tell(ticket, 1)
        before = place.texts()
        for refusal, attempt in [
            (AlreadyTold, lambda: study.tell(ticket, 1)),
            (UnknownTicket, lambda: study.tell(7, 1)),
            (InvalidInput, lambda: study.tell(ticket.id, float("nan"))),
            (InvalidInput, lambda: study.ask(0)),
            (UnknownLabel, lambda: study.withdraw("c")),
            (InvalidInput, lambda: study.add(["a"])),
            (InvalidInput, lambda: study.add("abc")),
        ]:
            with pytest.raises(refusal):
                attempt()
        assert place.texts() == before

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
    def test_one_who_comes_back_gets_its_own_tickets_first_and_nothing_else(self, place):
        study = place.open("ann", arms=20)
        tickets = study.ask(3)
        study.tell(tickets[0], 0.5)
        again = place.open("ann")
        assert again.ask(5) == tickets[1:]
        assert kinds(again)[-1] == "Reissued"
        assert again.ask()[0].id == 3

    def test_as_many_as_it_asks_for_at_a_time(self, place):
        tickets = place.open("ann", arms=20).ask(3)
        again = place.open("ann")
        assert again.ask() + again.ask() + again.ask() == tickets
        assert again.ask()[0].id == 3

    def test_tickets_that_were_told_meanwhile_are_not_given_again(self, place):
        study = place.open("ann", arms=20)
        tickets = study.ask(2)
        again = place.open("ann")
        study.tell(tickets[0], 0.5)
        assert again.ask(5) == tickets[1:]

    def test_nobody_else_gets_them(self, place):
        tickets = place.open("ann", arms=20).ask(3)
        assert [ticket.id for ticket in place.open("bob").ask(3)] == [3, 4, 5]
        assert [ticket.id for ticket in place.open().ask(2)] == [6, 7]
        assert place.open("ann").ask(3) == tickets

    def test_a_limit_counts_the_results_and_tickets_of_everybody(self, place):
        ann, bob = place.open("ann", arms=20), place.open("bob")
        tickets = ann.ask(5, limit=3)
        assert (len(tickets), bob.ask(limit=3), len(bob.ask(5, limit=4))) == (3, [], 1)
        ann.tell(tickets[0], 0.5)
        assert bob.ask(limit=4) == []
        ann.withdraw(tickets[1].label)  # its ticket is void, and leaves room for another
        assert len(ann.ask(9, limit=4)) == 1

    def test_a_limit_holds_back_no_ticket_that_is_out_already(self, place):
        tickets = place.open("ann", arms=20).ask(3)
        ann = place.open("ann")
        assert ann.ask(9, limit=0) == tickets
        ann.fail(tickets[2])
        assert place.open("bob").ask(9, limit=0) == tickets[2:]
        with pytest.raises(InvalidInput, match="limit is -1, but must be at least 0"):
            ann.ask(limit=-1)

    def test_without_a_name_everybody_is_somebody_new(self, place):
        place.open(arms=20)
        assert place.open().holder != place.open().holder

    def test_the_tickets_that_are_out_are_listed_with_their_holders(self, place):
        study = place.open("ann", arms={"a": 1.5, "b": 2.5})
        one, two = study.ask(2)
        study.fail(two)
        assert study.lent() == [(one, "ann", 100.0), (two, None, None)]
        assert one.payload in (1.5, 2.5)

    def test_anybody_may_tell_a_ticket(self, place):
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
    def test_a_ticket_whose_lease_ran_out_goes_to_whoever_asks(self, place):
        ann, bob = place.open("ann", arms=20, lease=10), place.open("bob")
        (ticket,) = ann.ask()
        place.now += 9.9
        assert bob.ask()[0].id == 1
        place.now += 0.1
        assert bob.ask(2) == [ticket, place_ticket(bob, 2)]
        assert Reissued(110.0, "bob", (0,)) in [entry.event for entry in bob.events()]
        ann.tell(ticket, 0.5)
        with pytest.raises(AlreadyTold):
            bob.tell(ticket, 0.7)

    def test_what_is_in_hand_here_is_not_handed_out_here_again(self, place):
        ann = place.open("ann", arms=20, lease=10)
        (ticket,) = ann.ask()
        place.now += 20
        assert [new.id for new in ann.ask(2)] == [1, 2]
        place.now += 20
        assert ticket not in ann.ask(9)  # whoever works on it here still does

    def test_what_was_in_hand_here_and_went_to_somebody_else_is_when_that_ones_lease_ran_out_too(self, place):
        ann = place.open("ann", arms=20, lease=10)
        (ticket,) = ann.ask()
        with place.open("operator") as operator:
            operator.release(ticket)
        assert place.open("bob").ask() == [ticket]  # who is killed with it
        place.now += 20
        assert ann.ask() == [ticket]

    def test_what_failed_elsewhere_is(self, place):
        ann = place.open("ann", arms=20, lease=10)
        (ticket,) = ann.ask()
        place.open("bob").fail(ticket)
        assert ann.ask() == [ticket]

    def test_a_clock_that_is_ahead_keeps_nobody_elses_lease_from_running_out(self, place):
        ann, bob = place.open("ann", arms=20, lease=60), place.open("bob")
        place.now += 30
        (early,) = ann.ask()  # its clock is half a lease ahead
        place.now -= 30
        (late,) = bob.ask()
        place.now += 60
        assert place.open("cid").ask(2) == [late, place_ticket(ann, 2)]
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
        with pytest.raises(TicketRefused, match="waiting to be issued again"):
            study.fail(ticket)
        assert place.open("bob").ask() == [ticket]


def place_ticket(study, ticket_id):
    return next(lent.ticket for lent in study.lent() if lent.ticket.id == ticket_id)


class TestReleases:
    def test_released_tickets_go_to_whoever_asks_next_and_nothing_has_failed(self, place):
        ann, bob = place.open("ann", arms=20, patience=1), place.open("bob")
        one, two, three = ann.ask(3)
        assert bob.release(three, 0) == [2, 0]
        assert study_events(bob)[-1] == Released(100.0, (2, 0))
        assert [(lent.ticket, lent.holder) for lent in bob.lent()] == [(one, None), (two, "ann"), (three, None)]
        assert bob.ask(2) == [three, one]
        assert bob.why(one.label).place != "withdrawn"

    def test_all_that_a_holder_has(self, place):
        ann, bob = place.open("ann", arms=20), place.open("bob")
        tickets, (other,) = ann.ask(3), bob.ask()
        ann.tell(tickets[1], 0.5)
        assert place.open("cid").release(holder="ann") == [0, 2]
        assert place.open("ann").ask(3)[:2] == [tickets[0], tickets[2]]
        assert {lent.ticket: lent.holder for lent in bob.lent()}[other] == "bob"

    def test_one_who_comes_back_has_nothing_before_others_any_more(self, place):
        tickets = place.open("ann", arms=20).ask(2)
        bob, ann = place.open("bob"), place.open("ann")
        bob.release(*tickets)
        assert bob.ask(2) == tickets
        assert ann.ask()[0].id == 2

    def test_what_was_in_hand_here_may_be_handed_out_here_again(self, place):
        study = place.open("ann", arms=20)
        tickets = study.ask(2)
        study.release(*tickets)
        assert study.ask(2) == tickets

    def test_the_first_answer_counts_whosever_it_is(self, place):
        ann, bob = place.open("ann", arms=20), place.open("bob")
        one, two = ann.ask(2)
        bob.release(one, two)
        ann.tell(one, 0.5)  # late, and before anybody else was given it
        assert bob.ask() == [two]
        ann.tell(two, 0.5)
        with pytest.raises(AlreadyTold):
            bob.tell(two, 0.7)
        assert bob.pulls == 2

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
        with pytest.raises(TicketRefused, match="ticket 1 is nobody's: whoever asks next is given it"):
            study.release(two)
        with pytest.raises(InvalidInput, match="holder 'bob' has no tickets: those who have some are 'ann'"):
            study.release(holder="bob")
        with pytest.raises(InvalidInput, match="must be one or the other"):
            study.release()
        with pytest.raises(InvalidInput, match="must be one or the other"):
            study.release(four, holder="ann")
        assert (study.state(), place.texts()) == before

    def test_it_is_the_same_when_the_journal_is_read_again(self, place):
        study = place.open("ann", arms=20)
        study.ask(3)
        study.release(1)
        assert place.open("bob").state() == study.state()

    def test_not_when_the_study_is_closed(self, place):
        study = place.open("ann", arms=20)
        (ticket,) = study.ask()
        study.close()
        with pytest.raises(StudyClosed):
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

    def test_a_closed_study_can_be_read_and_told_and_that_is_all(self, place):
        study = place.open(arms=20)
        tickets = study.ask(2)
        study.close()
        study.close()
        again = place.open()
        for attempt in (again.ask, again.pause, again.resume, lambda: again.add([99]), lambda: again.withdraw(3)):
            with pytest.raises(StudyClosed, match="study 'study' is closed"):
                attempt()
        again.tell(tickets[0], 0.5)
        again.fail(tickets[1])
        assert (again.status, again.recommend().label) == ("closed", tickets[0].label)


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
        assert study.boxes()
        assert 0 < float(study.screening(0.5)) <= 1
        assert repr(study) == "<Study 'study' of policy b3auto>"
        assert (study.seed, study.direction, study.patience, study.lease) == (0, "maximize", 3, None)

    def test_threads_share_a_study(self, place):
        study = place.open(arms=500)
        threads = [threading.Thread(target=play, args=(study, 50)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert study.pulls == 400
        assert study.waiting == 0
        assert place.open().state() == study.state()

    def test_after_disconnecting_it_says_so(self, place):
        with place.open(arms=3) as study:
            study.ask()
        with pytest.raises(StudyUnavailable, match="disconnected"):
            study.ask()
