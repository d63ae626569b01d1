"""One session for any number of holders: who holds which ticket, late results, and who may tell."""

import pytest
from asking import pull, refused

from boxthirding import Session
from boxthirding.errors import AlreadyTold, ArmWithdrawn, InvalidInput, TicketRefused


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def given_twice(policy="us", **settings):
    """Return a session, and a ticket that ann had and bob has."""
    session = Session(["a", "b"], policy, **settings)
    (ticket,) = session.ask(holder="ann")
    session.release(ticket)
    assert session.ask(holder="bob") == [ticket]
    return session, ticket


class TestHeld:
    def test_each_holder_has_its_own_open_tickets(self):
        session = Session(10)
        ann, bob = session.ask(2, holder="ann"), session.ask(3, holder="bob")
        mine = session.ask()
        assert (session.held("ann"), session.held("bob"), session.held()) == (ann, bob, mine)
        assert session.view().holders == {"bob": 3, "ann": 2, "session": 1}
        session.tell(bob[1], 0.5)
        assert session.held("bob") == [bob[0], bob[2]]
        assert session.held("nobody") == []

    def test_ask_gives_new_tickets(self):
        session = Session(10)
        assert session.ask(2, holder="ann") != session.ask(2, holder="ann")
        assert len(session.held("ann")) == 4

    def test_worker_names_no_one_twice(self):
        session = Session(3)
        assert session.worker() != session.worker()
        assert session.reclaim() == 0

    @pytest.mark.parametrize("holder", ["", "x" * 201, "x" * 10_000, "a\nb", 5, None.__class__, ["ann"]])
    def test_a_name_that_is_none_is_refused(self, holder):
        session = Session(3)
        refused(session, lambda: session.ask(holder=holder), "the holder is .*1 to 200 printable characters")
        refused(session, lambda: session.held(holder), "the holder is .*1 to 200 printable characters")

    @pytest.mark.parametrize("limit", [-1, 1.5, "3", True])
    def test_a_limit_that_is_none_is_refused(self, limit):
        session = Session(3)
        refused(session, lambda: session.ask(limit=limit), "limit is .*must be")

    def test_a_limit_counts_what_is_spent_and_what_is_open(self):
        session = Session(10, "us", known={3: 0.5})
        pull(session, 3)
        session.ask(2, holder="ann")
        assert len(session.ask(9, limit=7)) == 2
        assert session.ask(9, limit=7) == []
        session.release(holder="ann")
        assert len(session.ask(9, limit=7)) == 2  # those without a holder


class TestRelease:
    def test_the_next_to_ask_is_given_them_first(self):
        session = Session(10)
        tickets = session.ask(3, holder="ann")
        assert session.release(tickets[0], tickets[2].id) == [0, 2]
        assert session.view().holders == {"ann": 1}
        assert session.open == 3
        assert session.ask(3, holder="bob")[:2] == [tickets[0], tickets[2]]

    def test_all_of_a_holder(self):
        session = Session(10)
        session.ask(3, holder="ann")
        assert session.release(holder="ann") == [0, 1, 2]
        assert session.held("ann") == []

    def test_what_cannot_be_released(self):
        session = Session(10)
        session.ask(holder="ann")
        refused(session, lambda: session.release(holder="bob"), "'bob' has no open tickets: .* are 'ann'")
        refused(session, lambda: session.release(holder="x" * 10_000), "has no open tickets")
        refused(session, lambda: session.release(holder=["ann"]), r"\['ann'\] has no open tickets")
        refused(session, session.release, "neither tickets nor a holder is given, but must be one of them")
        refused(session, lambda: session.release(0, holder="ann"), "tickets and the holder .ann. are given")
        session.release(0)
        refused(session, lambda: session.release(0), "ticket 0 has no holder", TicketRefused)

    def test_that_is_no_failure_of_the_arm(self):
        session = Session(["a"], "us")
        for _ in range(10):
            session.release(*session.ask())
        assert session.why("a").place != "withdrawn"


class TestWhoTells:
    def test_a_holder_who_never_had_the_ticket_is_refused(self):
        session = Session(3)
        session.ask(holder="ann")
        words = "ticket 0 was never given to 'bob'"
        refused(session, lambda: session.tell(0, 0.5, holder="bob"), words, TicketRefused)
        refused(session, lambda: session.tell(0, 0.5, holder="x" * 10_000), "ticket 0 was never given", TicketRefused)
        session.tell(0, 0.5, holder="ann")
        refused(session, lambda: session.tell(0, 0.5, holder="bob"), "told already", AlreadyTold)
        refused(session, lambda: session.tell(0, 0.5, holder="ann"), "told already", AlreadyTold)

    def test_without_a_name_it_is_the_holder(self):
        session = Session(3)
        (ticket,) = session.ask(holder="ann")
        session.tell(ticket, 0.5)
        assert session.exclude("ann") == 1

    def test_without_a_name_and_a_holder_it_is_the_last_one(self):
        session, ticket = given_twice()
        session.release(ticket)
        session.tell(ticket, 0.5)
        assert session.exclude("bob") == 1


class TestLate:
    """Ann's ticket was given to bob meanwhile."""

    def test_it_counts_as_one_more_result_and_the_ticket_stays_open(self):
        session, ticket = given_twice()
        session.tell(ticket, 0.25, holder="ann")
        assert (session.pulls, session.spent, session.open) == (1, 1, 1)
        assert session.held("bob") == [ticket]
        session.tell(ticket, 0.75, holder="bob")
        assert (session.pulls, session.spent, session.open) == (2, 2, 0)
        assert session.why(ticket.label).mean == 0.5
        ledger = session._core.ledger
        assert [(ledger.result(row).holder, ledger.result(row).pull) for row in (0, 1)] == [("ann", 1), ("bob", 0)]

    def test_so_it_does_after_the_other_has_told(self):
        session, ticket = given_twice()
        session.tell(ticket, 0.75, holder="bob")
        session.tell(ticket, 0.25, holder="ann")
        assert session.why(ticket.label).pulls == 2
        for holder in ("ann", "bob"):
            refused(session, lambda who=holder: session.tell(ticket, 0.5, holder=who), "told already", AlreadyTold)

    def test_a_released_ticket_is_told_by_whom_had_it(self):
        session, ticket = given_twice()
        session.release(ticket)
        session.tell(ticket, 0.25, holder="ann")
        assert (session.pulls, session.open) == (1, 0)
        session.tell(ticket, 0.75, holder="bob")  # the late one now
        assert session.pulls == 2

    def test_of_an_arm_that_is_gone_it_is_refused(self):
        session, ticket = given_twice()
        session.withdraw(ticket.label)
        refused(session, lambda: session.tell(ticket, 0.5, holder="ann"), "is void", ArmWithdrawn)

    def test_with_examples_the_first_answer_counts(self):
        session, ticket = given_twice(examples=10)
        session.tell(ticket, 0.25, holder="ann")
        assert (session.pulls, session.open, session.held("bob")) == (1, 0, [])
        refused(session, lambda: session.tell(ticket, 0.75, holder="bob"), "told already", AlreadyTold)

    def test_so_it_does_with_a_policy_that_cannot_be_amended(self):
        session, ticket = given_twice("dsh")
        session.tell(ticket, 0.25, holder="ann")
        assert (session.pulls, session.open) == (1, 0)
        refused(session, lambda: session.tell(ticket, 0.75, holder="bob"), "told already", AlreadyTold)

    def test_it_makes_up_for_failures(self):
        session, ticket = given_twice()
        for _ in range(2):
            session.fail(ticket)
            session.ask(holder="bob")
        session.tell(ticket, 0.5, holder="ann")
        session.fail(ticket)
        assert session.why(ticket.label).place != "withdrawn"

    def test_a_lease_that_ran_out_gives_it_to_another(self):
        clock = Clock()
        session = Session(["a", "b"], "us", lease=10, clock=clock)
        (ticket,) = session.ask(holder="ann")
        clock.now = 10.0
        assert session.ask(holder="bob") == [ticket]
        session.tell(ticket, 0.5, holder="ann")
        assert session.held("bob") == [ticket]

    def test_given_back_to_the_first_it_is_theirs(self):
        session, ticket = given_twice()
        for _ in range(3):
            session.release(ticket)
            assert session.ask(holder="ann") == [ticket]
        session.tell(ticket, 0.5, holder="ann")
        assert (session.pulls, session.open) == (1, 0)
        refused(session, lambda: session.tell(ticket, 0.5, holder="ann"), "told already", AlreadyTold)


class TestDetails:
    @pytest.mark.parametrize("details", [{}, {"answer": "funny", "seconds": 2.5}, {"a": [1, None, {"b": True}]}])
    def test_a_small_json_object(self, details):
        session = Session(3)
        session.tell(session.ask()[0], 0.5, details=details)

    @pytest.mark.parametrize(
        "details",
        [[], "x", 5, {1: 2}, {"a": {1, 2}}, {"a": float("nan")}, {"a": object()}, {"a": "x" * 10_001}, {"a": b"x"}],
        ids=lambda value: repr(value)[:20],
    )
    def test_anything_else_is_refused(self, details):
        session = Session(3)
        (ticket,) = session.ask()
        words = "details .*must be a small JSON object, such as"
        refused(session, lambda: session.tell(ticket, 0.5, details=details), words)

    def test_one_that_is_too_long_says_how_long_it_may_be(self):
        session = Session(3)
        (ticket,) = session.ask()
        words = "details has 20,009 characters, but must be a small JSON object, such as .*, of at most 10,000$"
        refused(session, lambda: session.tell(ticket, 0.5, details={"a": "x" * 20_000}), words)

    def test_one_that_holds_itself(self):
        details = {}
        details["me"] = details
        session = Session(3)
        (ticket,) = session.ask()
        with pytest.raises(InvalidInput, match="small JSON object"):
            session.tell(ticket, 0.5, details=details)

    def test_one_that_is_nested_deeper_than_python_can_follow(self):
        details = {}
        for _ in range(100_000):
            details = {"in": details}
        session = Session(3)
        (ticket,) = session.ask()
        refused(session, lambda: session.tell(ticket, 0.5, details=details), r"details is .*\.\.\..*small JSON object")
