"""One transaction for each decision: threads share commits, and what fails or is broken off has not happened."""

import threading
import time
from contextlib import contextmanager
from functools import partial

import pytest
from keeping import Counted, kinds, play

from boxthirding import (
    AlreadyTold,
    JournalBroken,
    StudyUnavailable,
    UnknownLabel,
)
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Settings, Study, Told
from boxthirding.study.turns import Request, Turns


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
