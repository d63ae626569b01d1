"""A pickled session goes on with the same tickets."""

import pickle
import time

import pytest
from every_policy import AMENDABLE, EVERY

from boxthirding import Session, parse_policy
from boxthirding.errors import InvalidInput

REUSES = ["b3:reuse=pool", "b3:reuse=topup"]


def copied(session):
    return pickle.loads(pickle.dumps(session))  # noqa: S301  # our own


def go_on(session, steps):
    """Let a good deal happen, the same each time; return all that was seen."""
    seen = []
    for step in range(steps):
        tickets = session.ask(1 + step % 4, holder=f"rater {step % 3}", unseen=step % 5 == 0)
        seen.append(tickets)
        for ticket in tickets[step % 2 :]:
            session.tell(ticket, (ticket.label * 37 + ticket.pull) % 64 / 64)
    return seen, session.view(), session.arms(0, 1_000), session.boxes()


@pytest.mark.parametrize("policy", [*EVERY, *REUSES])
def test_it_goes_on_with_the_same_tickets(policy):
    session = Session(60, policy, seed=3)
    go_on(session, 40)
    twin = copied(session)
    assert twin.view() == session.view()
    assert go_on(twin, 60) == go_on(session, 60)


@pytest.mark.parametrize("policy", [*AMENDABLE, *REUSES])
def test_whatever_has_happened(policy):
    session = Session(60, policy, seed=3, known={5: [0.5, 0.25]}, direction="minimize", examples=None)
    go_on(session, 30)
    session.exclude("rater 1")
    session.correct(session._core.ledger.result(3).ticket, 0.75)
    session.withdraw(session.recommend().label)
    session.use("chase" if policy == "us" else "us")
    session.use(policy)
    go_on(session, 10)
    twin = copied(session)
    for each in (twin, session):
        each.include("rater 1")
        each.add([99])
    assert go_on(twin, 60) == go_on(session, 60)
    assert twin.use("us") == session.use("us")
    assert go_on(twin, 20) == go_on(session, 20)


def test_the_copy_is_another_session_that_takes_our_tickets():
    session = Session(5)
    (ticket,) = session.ask()
    twin = copied(session)
    twin.tell(ticket, 0.5)
    assert (twin.pulls, session.pulls) == (1, 0)
    session.tell(ticket, 0.25)
    assert (twin.recommend().mean, session.recommend().mean) == (0.5, 0.25)


def test_payloads_go_along():
    session = Session({"a": {"size": 1}, "b": {"size": 2}}, lease=5.0, clock=time.time)
    assert copied(session).payload("b") == {"size": 2}


def test_one_that_was_restored_shares_nothing_with_its_rule():
    session = copied(Session(10, "b3"))
    for _ in range(30):
        for ticket in session.ask():
            session.tell(ticket, ticket.label / 16)
    state = session._core.rule.live
    assert sum(state.arrays.arms.pulls) > 0  # what the rule wrote is what answers read


def test_arms_of_an_iterator_cannot_be_pickled():
    session = Session(iter(range(5)))
    with pytest.raises(InvalidInput, match="come from an iterator, which cannot be pickled: give a list"):
        pickle.dumps(session)


def test_a_policy_object_goes_along():
    assert copied(Session(3, parse_policy("b3:reuse=topup,effort=0.5"))).policy == parse_policy(
        "b3:reuse=topup,effort=0.5"
    )
