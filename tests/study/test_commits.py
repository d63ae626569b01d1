"""One transaction for each decision: threads share commits, and what fails or is broken off has not happened."""

import itertools
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from functools import partial

import pytest
from keeping import Counted, play

from boxthirding import (
    AlreadyTold,
    JournalBroken,
    StudyUnavailable,
    UnknownLabel,
)
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Settings, Study, transactions
from boxthirding.study.events import Told
from boxthirding.study.transactions import Transactions


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
        while len(study._transactions._waiting) < 7:
            time.sleep(0.001)
        journal.gate.set()
        for thread in threads:
            thread.join()
        assert study.pulls == 8
        assert journal.commits - before == 2

    def test_one_refusal_in_a_shared_commit_is_no_other_ones(self):
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
        while len(study._transactions._waiting) < 3:
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
        self.failure = None
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
                if self.failure is not None:
                    failure, self.failure = self.failure, None
                    raise failure
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


SERVING = ("_serve", "_try", "_caught_up", "_carry_out", "_take_snapshot")


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
            while len(study._transactions._waiting) < place:
                time.sleep(0.001)
        return threads

    def test_none_is_acknowledged_before_the_commit(self, study, journal):
        tickets = study.ask(8)
        acknowledged = []

        def tell(ticket):
            study.tell(ticket, 0.5)
            acknowledged.append((ticket, any(f'"ticket":{ticket.id},' in text for text in journal.read(0, 999))))

        threads = self.line_up(study, journal, [partial(tell, ticket) for ticket in tickets])
        journal.may_pass.release()
        journal.at_the_gate.acquire()  # all has happened for the other seven, and their commit waits
        threads[0].join()
        for thread in threads[1:]:
            thread.join(0.05)  # one that was acknowledged too early has time to say so
        assert acknowledged == [(tickets[0], True)]
        journal.let_all_through()
        for thread in threads:
            thread.join()
        assert sorted(acknowledged) == [(ticket, True) for ticket in tickets]

    def test_an_error_of_one_is_no_other_ones_and_leaves_nothing_half_done(self, study, journal):
        tickets, raised = study.ask(4), {}

        def half_done(state, _now):
            state.apply(Told(0.0, tickets[3].id, 0.5))
            raise ZeroDivisionError

        def attempt(name, act):
            try:
                act()
            except ZeroDivisionError:
                raised[name] = True

        acts = {
            "first": partial(study.tell, tickets[0], 0.5),
            "before": partial(study.tell, tickets[1], 0.5),
            "broken": partial(study._transactions.do, half_done),
            "after": partial(study.tell, tickets[2], 0.5),
        }
        threads = self.line_up(study, journal, [partial(attempt, *each) for each in acts.items()])
        journal.let_all_through()
        for thread in threads:
            thread.join()
        assert raised == {"broken": True}
        assert study.pulls == 3
        assert study.held() == tickets[3:]
        assert Study("study", journal).state() == study.state()

    def test_an_error_of_the_one_who_serves_is_its_own(self, study, journal):
        tickets, raised = study.ask(3), []

        def broken():
            with pytest.raises(ZeroDivisionError):
                study._transactions.do(lambda _state, _now: 1 / 0)
            raised.append(True)

        acts = [partial(study.tell, tickets[0], 0.5), broken, *[partial(study.tell, each, 0.5) for each in tickets[1:]]]
        threads = self.line_up(study, journal, acts)
        journal.let_all_through()
        for thread in threads:
            thread.join()
        assert (raised, study.pulls) == ([True], 3)

    @pytest.mark.parametrize("comes", ["before", "after"])
    @pytest.mark.parametrize("step", SERVING)
    def test_an_interrupt_of_the_one_who_serves_leaves_none_waiting_and_none_served_twice(
        self, study, journal, monkeypatch, step, comes
    ):
        tickets, original, interrupted, told = study.ask(5), getattr(Transactions, step), [], []

        def broken_off(*args):
            if comes == "after":
                result = original(*args)
            if serves() and not interrupted:
                interrupted.append(True)
                raise KeyboardInterrupt
            return original(*args) if comes == "before" else result

        def serves():
            return threading.current_thread() is not threads[0]

        def tell(ticket):
            try:
                study.tell(ticket, 0.5)
            except KeyboardInterrupt:
                interrupted.append(ticket)
            else:
                told.append(ticket)

        threads = []
        threads += self.line_up(study, journal, [partial(tell, ticket) for ticket in tickets])
        monkeypatch.setattr(Transactions, step, broken_off)
        journal.let_all_through()
        for thread in threads:
            thread.join()
        assert sorted([*told, interrupted[1]]) == tickets
        assert study.pulls - 4 in (0, 1)
        assert Study("study", journal).state() == study.state()

    def test_an_interrupt_at_any_line_of_the_one_who_serves_leaves_none_waiting_and_none_served_twice(self):
        """Wherever it comes: before the commit others are served anew, after it they have what they wanted."""
        for line in range(1000):
            if not self.interrupted_at(line):
                assert line > 25
                return
        pytest.fail("it never came to an end")

    def interrupted_at(self, line):
        """Interrupt the thread that serves others at its k-th line of transactions.py; return whether it got there."""
        study = Study("study", journal := Held(), Settings(100), holder="me")
        tickets, ended, lines = study.ask(3), {}, iter(range(line + 1))

        def trace(frame, event, _):
            if frame.f_code.co_filename != transactions.__file__:
                return None
            if event == "line" and frame.f_code.co_name in SERVING and next(lines, -1) == line:
                raise KeyboardInterrupt
            return trace

        def tell(ticket):
            sys.settrace(trace)
            try:
                study.tell(ticket, 0.5)
            except (KeyboardInterrupt, StudyUnavailable) as error:
                ended[ticket.id] = type(error)
            else:
                ended[ticket.id] = None
            finally:
                sys.settrace(None)

        threads = [threading.Thread(target=tell, args=(ticket,)) for ticket in tickets]
        with study._transactions.lock:
            for thread in threads:
                thread.start()
            while len(study._transactions._waiting) < len(threads):
                time.sleep(0.0005)
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive(), f"line {line}: {thread} waits for ever"
        there = {entry.event.ticket for entry in study.events() if isinstance(entry.event, Told)}
        for ticket, error in ended.items():
            assert error is not None or ticket in there, f"line {line}: ticket {ticket} was acknowledged and is lost"
        assert len(ended) == 3, f"line {line}: only {ended} have ended"
        assert study.pulls == len(there)
        assert Study("study", journal).state() == study.state()
        return KeyboardInterrupt in ended.values()

    def test_threads_that_were_served_need_no_lock_to_leave(self, study, journal, monkeypatch):
        monkeypatch.setattr(transactions, "_PATIENCE", 600.0)
        tickets, snapshots, may_end = study.ask(4), itertools.count(), threading.Event()
        threads = self.line_up(study, journal, [partial(study.tell, ticket, 0.5) for ticket in tickets])
        monkeypatch.setattr(Transactions, "_take_snapshot", lambda _: next(snapshots) and may_end.wait(600))
        journal.let_all_through()
        for _ in range(6000):  # the first, and two of the three that one of them serves, which keeps the lock
            if sum(thread.is_alive() for thread in threads) == 1:
                break
            time.sleep(0.01)
        alive = sum(thread.is_alive() for thread in threads)
        may_end.set()
        for thread in threads:
            thread.join()
        assert (alive, study.pulls) == (1, 4)

    def test_a_shared_commit_that_fails_is_acknowledged_to_none(self, study, journal):
        tickets, failed = study.ask(4), []

        def tell(ticket):
            try:
                study.tell(ticket, 0.5)
            except StudyUnavailable as error:
                failed.append((ticket, error.transient, error.advice))

        threads = self.line_up(study, journal, [partial(tell, ticket) for ticket in tickets])
        journal.may_pass.release()
        journal.at_the_gate.acquire()  # the other three are in one commit
        journal.failure = StudyUnavailable("gone", advice="come back", transient=True)
        journal.let_all_through()
        for thread in threads:
            thread.join()
        assert sorted(failed) == [(ticket, True, "come back") for ticket in tickets[1:]]
        assert study.pulls == 1

    def test_one_that_is_interrupted_while_it_waits_disturbs_no_other(self, study, journal):
        """Its request is carried out by another thread, or not at all."""
        one, two, three = study.ask(3)
        threads = self.line_up(study, journal, [partial(study.tell, one, 0.5)])
        is_interrupted = threading.Event()

        def once(*_):
            if not is_interrupted.is_set():
                is_interrupted.set()
                raise KeyboardInterrupt

        def interrupt():
            while not len(study._transactions._waiting):
                time.sleep(0.001)
            while not is_interrupted.is_set():  # a signal that comes just before a thread waits does not wake it
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                time.sleep(0.01)

        signal.signal(signal.SIGINT, once)
        helper = threading.Thread(target=interrupt)
        helper.start()
        with pytest.raises(KeyboardInterrupt):
            study.tell(two, 0.5)
        helper.join()
        other = threading.Thread(target=study.tell, args=(three, 0.5))
        other.start()
        journal.let_all_through()
        for thread in [*threads, other]:
            thread.join()
        assert study.pulls == 3
        with pytest.raises(AlreadyTold):
            study.tell(two, 0.5)

    def test_a_fork_waits_for_the_commit_of_a_thread(self, study, journal):
        (ticket,) = study.ask()
        (thread,) = self.line_up(study, journal, [partial(study.tell, ticket, 0.5)])
        threading.Timer(0.1, journal.let_all_through).start()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            is_free = study._transactions.lock.acquire(blocking=False)
            os._exit(0 if is_free and len(journal.read(0, 99)) == 3 else 1)
        thread.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert study.ask()  # the parent has its lock back

    def test_one_who_shared_a_commit_that_was_broken_off_is_told_that_it_may_have_happened(self):
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
        assert "interrupted and may have succeeded" in told

    def test_arms_to_add_are_made_before_any_thread_has_to_wait_for_them(self, study, journal):
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
        # An error of the journal is looked up, an interrupt is raised.
        ends = pytest.raises(KeyboardInterrupt) if isinstance(failure, KeyboardInterrupt) else nullcontext()
        journal.failure, journal.moment = failure, "after"
        with ends:
            study.ask(2)
        tickets = study.held()
        assert [ticket.id for ticket in tickets] == [5, 6]
        journal.failure = failure
        with ends:
            study.tell(tickets[0], 0.5)
        with pytest.raises(AlreadyTold):
            study.tell(tickets[0], 0.5)
        assert study.pulls == 6
        assert study.ask()[0].id == 7  # the other one is held
