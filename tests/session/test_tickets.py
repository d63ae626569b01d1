"""Tickets: what is taken as a result, what is refused and changes nothing, failures and leases."""

import decimal
import fractions
import math
import pickle

import numpy as np
import pytest
from asking import all_of, pull

from boxthirding import Session, Uniform
from boxthirding.errors import (
    AlreadyTold,
    ArmWithdrawn,
    InvalidInput,
    TicketRefused,
    UnknownTicket,
)


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class TestTell:
    @pytest.mark.parametrize(
        "reward",
        [
            0,
            1,
            True,
            np.float32(0.5),
            np.int64(3),
            np.bool_(True),
            fractions.Fraction(1, 4),
            np.array(0.5),
            decimal.Decimal("0.5"),
        ],
    )
    def test_any_real_number_is_a_reward(self, reward):
        session = Session(["a"])
        session.tell(session.ask()[0], reward)
        assert session.recommend().mean == float(reward)

    @pytest.mark.parametrize(
        "reward",
        [
            *(math.nan, math.inf, -math.inf, np.float64("nan"), np.float32("inf"), 1e300, 10**400, -(10**400)),
            *("0.5", b"1", None, 1j, [0.5], np.array([0.5, 0.5]), decimal.Decimal("nan"), ...),
        ],
        ids=repr,
    )
    def test_a_reward_that_is_no_finite_number_changes_nothing(self, reward):
        session = Session(["a", "b"])
        pull(session, 1)
        (ticket,) = session.ask()
        before = all_of(session)
        with pytest.raises(InvalidInput, match="the reward is"):
            session.tell(ticket, reward)
        assert all_of(session) == before
        session.tell(ticket, 0.5)

    @pytest.mark.parametrize("verb", ["tell", "fail"])
    @pytest.mark.parametrize("ticket", [2, -1, 10**9, True, False, 1.0, "0", None, [0], (0,), {}], ids=repr)
    def test_a_ticket_that_was_never_issued_is_refused_by_name(self, ticket, verb):
        session = Session(["a", "b"])
        session.ask(2)
        before = all_of(session)
        with pytest.raises(UnknownTicket) as refused:
            getattr(session, verb)(ticket, *([0.5] if verb == "tell" else []))
        assert repr(ticket) in str(refused.value)
        assert all_of(session) == before

    def test_a_ticket_of_another_session_is_refused(self):
        session, other = Session(["a", "b"], seed=1), Session(["c", "d"], seed=1)
        (mine,), (foreign,) = session.ask(), other.ask()
        assert mine.id == foreign.id
        before = all_of(session)
        with pytest.raises(UnknownTicket, match="not of this session"):
            session.tell(foreign, 0.5)
        assert all_of(session) == before

    def test_the_first_answer_counts_and_the_second_is_refused_by_name(self):
        session = Session(["a", "b"])
        (ticket,) = session.ask()
        session.tell(ticket, 0.25)
        before = all_of(session)
        for again in (ticket, ticket.id):
            with pytest.raises(AlreadyTold, match=f"ticket {ticket.id} was told already"):
                session.tell(again, 0.75)
            with pytest.raises(AlreadyTold):
                session.fail(again)
        assert all_of(session) == before
        assert session.recommend().mean == 0.25

    def test_an_id_may_be_a_numpy_integer(self):
        session = Session(["a"])
        session.tell(np.int64(session.ask()[0].id), 0.5)
        assert session.pulls == 1

    def test_a_ticket_of_a_withdrawn_arm_is_refused_by_name(self):
        session = Session(["a", "b"])
        ticket, _ = session.ask(2)
        session.withdraw(ticket.label)
        before = all_of(session)
        with pytest.raises(ArmWithdrawn, match=f"ticket {ticket.id} is void"):
            session.tell(ticket, 0.5)
        assert all_of(session) == before

    def test_every_refusal_of_a_ticket_is_also_a_value_error(self):
        assert issubclass(TicketRefused, ValueError)
        assert all(issubclass(kind, TicketRefused) for kind in (UnknownTicket, AlreadyTold, ArmWithdrawn))


class TestFailures:
    def test_a_failed_ticket_is_issued_again(self):
        session = Session(["a", "b", "c"])
        first, second = session.ask(2)
        session.fail(first)
        assert session.open == 2
        assert session.ask() == [first]
        session.tell(first, 0.5)
        session.tell(second, 0.5)

    def test_three_failures_in_a_row_withdraw_the_arm(self):
        session = Session(["a", "b"])
        (ticket,) = session.ask()
        for _ in range(2):
            session.fail(ticket)
            assert session.ask() == [ticket]
        session.fail(ticket)
        assert session.open == 0
        assert session.why(ticket.label).place == "withdrawn"
        assert session.ask()[0].label != ticket.label
        with pytest.raises(ArmWithdrawn):
            session.tell(ticket, 0.5)

    def test_a_success_makes_up_for_failures(self):
        session = Session(["a"], Uniform())
        for _ in range(5):
            for _ in range(2):
                session.fail(session.ask()[0])
            session.tell(session.ask()[0], 0.5)
        assert session.pulls == 5

    def test_patience_is_how_often(self):
        session = Session(["a", "b"], patience=1)
        (ticket,) = session.ask()
        session.fail(ticket)
        assert session.why(ticket.label).place == "withdrawn"

    def test_when_every_arm_has_failed_there_is_nothing_to_ask(self):
        session = Session(["a", "b"], patience=1)
        while tickets := session.ask(5):
            session.fail(tickets[0])
        assert session.recommend() is None
        assert session.top(3) == []
        assert session.screening(0.5).probability == 0


class TestLeases:
    def test_a_ticket_that_ran_out_is_issued_again_and_the_first_answer_counts(self):
        clock = Clock()
        session = Session(["a", "b", "c", "d"], lease=10, clock=clock)
        late, told = session.ask(2)
        session.tell(told, 0.5)
        clock.now = 9.9
        assert session.ask()[0].id == 2
        clock.now = 10.0
        assert session.ask(2) == [late, session_ticket(session, 3)]
        session.tell(late, 0.25)
        with pytest.raises(AlreadyTold, match=f"ticket {late.id} "):
            session.tell(late, 0.75)
        assert session.pulls == 2

    def test_the_lease_of_a_failed_ticket_starts_anew(self):
        clock = Clock()
        session = Session(["a", "b", "c", "d"], lease=10, clock=clock)
        (ticket,) = session.ask()
        session.fail(ticket)
        clock.now = 5
        assert session.ask() == [ticket]
        clock.now = 12  # beyond its first lease, not beyond its second
        assert ticket not in session.ask(2)
        clock.now = 15
        assert session.ask() == [ticket]

    def test_without_a_lease_a_ticket_stays_out(self):
        session = Session(["a", "b"], Uniform())
        tickets = session.ask(100)
        assert len({ticket.id for ticket in tickets}) == 100

    def test_many_leases_run_out_at_once(self):
        clock = Clock()
        session = Session(100_000, lease=1, clock=clock)
        tickets = session.ask(20_000)
        clock.now = 2
        assert session.ask(20_000) == tickets


def session_ticket(session, ticket_id):
    return next(ticket for ticket in session.held() if ticket.id == ticket_id)


class TestFailingTwice:
    def test_one_failure_reported_again_is_refused_and_counts_once(self):
        session = Session(["a", "b"])
        (ticket,) = session.ask()
        session.fail(ticket)
        for _ in range(3):
            with pytest.raises(TicketRefused, match="has no holder, so it cannot fail"):
                session.fail(ticket)
        assert session.ask() == [ticket]
        session.tell(ticket, 1.0)
        assert session.recommend().label == ticket.label


class TestForeignTickets:
    def test_the_ticket_of_a_twin_is_refused_and_a_copy_of_our_own_is_not(self):
        one, other = Session(5, seed=1), Session(5, seed=1)
        (ours,), (theirs,) = one.ask(), other.ask()
        assert ours == theirs
        with pytest.raises(UnknownTicket, match="not of this session"):
            one.tell(theirs, 1.0)
        assert one.pulls == 0
        one.tell(pickle.loads(pickle.dumps(ours)), 1.0)  # noqa: S301  # our own
        assert one.pulls == 1
