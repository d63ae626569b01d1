"""What a study promises beyond a session: holders, leases, pauses, sharing, and one transaction for each decision."""

import threading
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from keeping import Place, kinds, play, reward

from boxthirding import (
    AlreadyTold,
    AskTell,
    InvalidInput,
    JournalBroken,
    StudyClosed,
    StudyUnavailable,
    TicketRefused,
    UnknownLabel,
    UnknownTicket,
)
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Asked, Failed, Reissued, Released, Settings, Study, Told
from boxthirding.study.turns import Request, Turns


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


class Counted(MemoryJournal):
    """A journal that counts its commits and can be held up in one."""

    def __init__(self):
        super().__init__()
        self.commits = 0
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Event()

    @contextmanager
    def writing(self):
        with super().writing():
            yield
            self.reached.set()
            self.gate.wait()
        self.commits += 1


class TestOneTransaction:
    def test_threads_that_wait_for_a_commit_share_the_next_one(self):
        journal = Counted()
        study = Study("study", journal, Settings(100))
        tickets = study.ask(8)
        journal.gate.clear()
        journal.reached.clear()
        before = journal.commits
        threads = [threading.Thread(target=study.tell, args=(ticket, 0.5)) for ticket in tickets]
        threads[0].start()
        journal.reached.wait()
        for thread in threads[1:]:
            thread.start()
        while len(study._scribe.turns) < 7:
            time.sleep(0.001)
        journal.gate.set()
        for thread in threads:
            thread.join()
        assert study.pulls == 8
        assert journal.commits - before == 2

    def test_one_refusal_in_a_shared_commit_is_nobody_elses(self):
        journal = Counted()
        study = Study("study", journal, Settings(100))
        one, two, three = study.ask(3)
        journal.gate.clear()
        journal.reached.clear()
        refused = []

        def tell(ticket):
            try:
                study.tell(ticket, 0.5)
            except AlreadyTold as error:
                refused.append(error)

        threads = [threading.Thread(target=tell, args=(ticket,)) for ticket in (one, two, two, three)]
        threads[0].start()
        journal.reached.wait()
        for thread in threads[1:]:
            thread.start()
        while len(study._scribe.turns) < 3:
            time.sleep(0.001)
        journal.gate.set()
        for thread in threads:
            thread.join()
        assert study.pulls == 3
        assert len(refused) == 1


class Held(MemoryJournal):
    """A journal whose commits wait, once it is held, to be let through one by one."""

    def __init__(self):
        super().__init__()
        self.is_writing = self.is_held = False
        self.at_the_gate = threading.Semaphore(0)
        self.may_pass = threading.Semaphore(0)

    @contextmanager
    def writing(self):
        self.is_writing = True
        try:
            with super().writing():
                yield
                if self.is_held:
                    self.at_the_gate.release()
                    self.may_pass.acquire()
        finally:
            self.is_writing = False

    def let_all_through(self):
        self.is_held = False
        self.may_pass.release(100)


class Stumbling(Held):
    """A journal that is interrupted when two have been told in one commit, and it is done."""

    stumbles = False

    @contextmanager
    def writing(self):
        before = len(self._pages.texts)
        with super().writing():
            yield
        if self.stumbles and len(self._pages.texts) == before + 2:
            raise KeyboardInterrupt


class TestThreadsThatShareACommit:
    @pytest.fixture
    def journal(self):
        return Held()

    @pytest.fixture
    def study(self, journal):
        return Study("study", journal, Settings(100), holder="me")

    def line_up(self, study, journal, acts):
        """Start a thread for each act: the commit of the first waits, and the others wait behind it."""
        journal.is_held = True
        threads = [threading.Thread(target=act) for act in acts]
        threads[0].start()
        journal.at_the_gate.acquire()
        for place, thread in enumerate(threads[1:], 1):
            thread.start()
            while len(study._scribe.turns) < place:
                time.sleep(0.001)
        return threads

    def test_nobody_is_acknowledged_before_the_commit(self, study, journal):
        tickets = study.ask(8)
        acknowledged = []

        def tell(ticket):
            study.tell(ticket, 0.5)
            acknowledged.append((ticket, any(f",{ticket.id},0.5]" in text for text in journal.read(0, 999))))

        threads = self.line_up(study, journal, [partial(tell, ticket) for ticket in tickets])
        journal.may_pass.release()
        journal.at_the_gate.acquire()  # all has happened for the other seven, and their commit waits
        threads[0].join()
        for thread in threads[1:]:
            thread.join(0.05)  # whoever was acknowledged too early has time to say so
        assert acknowledged == [(tickets[0], True)]
        journal.let_all_through()
        for thread in threads:
            thread.join()
        assert sorted(acknowledged) == [(ticket, True) for ticket in tickets]

    def test_an_error_of_one_is_nobody_elses_and_leaves_nothing_half_done(self, study, journal):
        tickets, raised = study.ask(4), {}

        def half_done():
            study._happen(Told(0.0, tickets[3].id, 0.5))
            raise ZeroDivisionError

        def attempt(name, act):
            try:
                act()
            except ZeroDivisionError:
                raised[name] = True

        acts = {
            "first": partial(study.tell, tickets[0], 0.5),
            "before": partial(study.tell, tickets[1], 0.5),
            "broken": partial(study._scribe.do, half_done),
            "after": partial(study.tell, tickets[2], 0.5),
        }
        threads = self.line_up(study, journal, [partial(attempt, *each) for each in acts.items()])
        journal.let_all_through()
        for thread in threads:
            thread.join()
        assert raised == {"broken": True}
        assert study.pulls == 3
        assert [lent.ticket for lent in study.lent()] == tickets[3:]
        assert Study("study", journal).state() == study.state()

    def test_an_error_of_the_one_who_serves_is_its_own(self, study, journal):
        tickets, raised = study.ask(3), []

        def broken():
            with pytest.raises(ZeroDivisionError):
                study._scribe.do(lambda: 1 / 0)
            raised.append(True)

        acts = [partial(study.tell, tickets[0], 0.5), broken, *[partial(study.tell, each, 0.5) for each in tickets[1:]]]
        threads = self.line_up(study, journal, acts)
        journal.let_all_through()
        for thread in threads:
            thread.join()
        assert (raised, study.pulls) == ([True], 3)

    def test_a_ticket_is_in_hand_as_soon_as_it_is_committed(self, study):
        """Before its own thread has seen it, another one may find that the journal must be read again."""
        study._scribe.do(lambda: study._ask(1, None))
        study._scribe._forget()
        assert [ticket.id for ticket in study.ask()] == [1]

    def test_one_who_is_interrupted_while_another_serves_it_gets_its_tickets_later(self, study, journal, monkeypatch):
        (first,), wait, interrupted = study.ask(), Request.wait, []

        def broken_off(request):
            wait(request)
            if request.is_done:  # by another thread, which has committed it
                raise KeyboardInterrupt

        def ask():
            with pytest.raises(KeyboardInterrupt):
                study.ask()
            interrupted.append(True)

        monkeypatch.setattr(Request, "wait", broken_off)
        threads = self.line_up(
            study, journal, [partial(study.tell, first, 0.5), partial(study.withdraw, 99), ask]
        )  # the second serves the third
        journal.let_all_through()
        for thread in threads:
            thread.join()
        monkeypatch.undo()
        assert interrupted == [True]
        assert [ticket.id for ticket in study.ask() + study.ask()] == [1, 2]

    @pytest.mark.parametrize("comes", ["before", "after"])
    @pytest.mark.parametrize(
        ("kind", "step"), [(Request, "end"), (Request, "wake"), (Turns, "_take_everybody"), (Turns, "_leave")]
    )
    def test_an_interrupt_of_the_one_who_serves_leaves_nobody_waiting(
        self, study, journal, monkeypatch, kind, step, comes
    ):
        tickets, original, interrupted, told = study.ask(5), getattr(kind, step), [], []

        def broken_off(*args):
            if comes == "after":
                original(*args)
            if serves() and not interrupted:
                interrupted.append(True)
                raise KeyboardInterrupt
            if comes == "before":
                original(*args)

        def serves():
            return threading.current_thread() is threads[1]

        def tell(ticket):
            try:
                study.tell(ticket, 0.5)
            except KeyboardInterrupt:
                assert serves()
            else:
                told.append(ticket)

        threads = []
        threads += self.line_up(study, journal, [partial(tell, ticket) for ticket in tickets])
        monkeypatch.setattr(kind, step, broken_off)
        journal.let_all_through()
        for thread in threads:
            thread.join()
        assert interrupted == [True]
        assert sorted(told) == [tickets[0], *tickets[2:]]
        assert study.pulls - 4 in (0, 1)

    def test_an_interrupt_while_a_broken_request_is_told_leaves_nobody_waiting(self, study, journal, monkeypatch):
        tickets, end, interrupted, raised = study.ask(3), Request.end, [], []

        def broken_off(request, error=None):
            if isinstance(request.error, ZeroDivisionError) and not interrupted:
                interrupted.append(True)
                raise KeyboardInterrupt
            end(request, error)

        def attempt(act):
            try:
                act()
            except (ZeroDivisionError, KeyboardInterrupt) as error:
                raised.append(type(error))

        acts = [*[partial(study.tell, each, 0.5) for each in tickets], partial(study._scribe.do, lambda: 1 / 0)]
        monkeypatch.setattr(Request, "end", broken_off)
        threads = self.line_up(study, journal, [partial(attempt, act) for act in acts])
        journal.let_all_through()
        for thread in threads:
            thread.join()
        assert raised == [KeyboardInterrupt, ZeroDivisionError]
        assert study.pulls == 2

    def test_whoever_shared_a_commit_that_was_broken_off_is_told_that_it_may_have_happened(self):
        study = Study("study", journal := Stumbling(), Settings(100))
        one, two, three = study.ask(3)
        said = []

        def tell(ticket):
            try:
                study.tell(ticket, 0.5)
            except (StudyUnavailable, KeyboardInterrupt) as error:
                said.append(str(error))

        threads = self.line_up(study, journal, [partial(tell, ticket) for ticket in (one, two, three)])
        journal.stumbles = True
        journal.let_all_through()
        for thread in threads:
            thread.join()
        interrupted, told = sorted(said)
        assert interrupted == ""
        assert "it may have been carried out or not" in told

    def test_arms_to_add_are_made_before_anybody_has_to_wait_for_them(self, study, journal):
        while_writing = []

        def arms(last):
            yield "c"
            while_writing.append(journal.is_writing)
            yield 1 / last

        with pytest.raises(ZeroDivisionError):
            study.add(arms(0))
        with pytest.raises(UnknownLabel):
            study.why("c")
        study.add(arms(0.5))
        assert while_writing == [False, False]


class Failing(MemoryJournal):
    """A journal that fails when it is told to, before or after it has committed."""

    def __init__(self):
        super().__init__()
        self.failure = None
        self.moment = ""

    @contextmanager
    def writing(self):
        with super().writing():
            yield
            self._fail_if("before")
        self._fail_if("after")

    def _fail_if(self, moment):
        if self.failure is not None and self.moment == moment:
            failure, self.failure = self.failure, None
            raise failure


@pytest.mark.parametrize("failure", [StudyUnavailable("gone"), KeyboardInterrupt(), JournalBroken("torn")], ids=repr)
class TestFailingCommits:
    def study(self):
        journal = Failing()
        study = Study("study", journal, Settings(50), holder="me")
        play(study, 5)
        return journal, study

    def test_what_was_not_committed_has_not_happened(self, failure):
        journal, study = self.study()
        (ticket,) = study.ask()
        state, length = study.state(), len(journal.read(0, 999))
        for verb in (lambda: study.tell(ticket, 0.5), study.ask, lambda: study.add([77]), study.pause):
            journal.failure, journal.moment = failure, "before"
            with pytest.raises(type(failure)):
                verb()
            assert study.state() == state
            assert len(journal.read(0, 999)) == length
        study.tell(ticket, 0.5)
        assert study.pulls == 6

    def test_what_was_committed_and_not_acknowledged_is_there(self, failure):
        journal, study = self.study()
        journal.failure, journal.moment = failure, "after"
        with pytest.raises(type(failure)):
            study.ask(2)
        tickets = study.ask(2)
        assert [ticket.id for ticket in tickets] == [5, 6]
        assert kinds(study)[-1] == "Reissued"
        journal.failure = failure
        with pytest.raises(type(failure)):
            study.tell(tickets[0], 0.5)
        with pytest.raises(AlreadyTold):
            study.tell(tickets[0], 0.5)
        assert study.pulls == 6
        assert study.ask()[0].id == 7  # the other one is in hand
