"""`use`: another policy starts from every result that counts, and open tickets stay valid."""

import pytest
from asking import pull, refused

from boxthirding import Session, parse_policy
from boxthirding.errors import CannotAmend, InvalidInput

AMENDED = ["b3", "b3:reuse=pool", "b3:reuse=topup", "chase", "us", "prose:sigma=0.5", "asha"]
CANNOT = ["sh:budget=50", "sr:budget=50", "dsh", "bsh", "bucb:sigma=0.5", "ucbe:budget=50"]


def sums(session):
    return {arm.label: (arm.pulls, arm.mean) for arm in session.arms()}


@pytest.mark.parametrize("before", AMENDED)
@pytest.mark.parametrize("after", AMENDED)
def test_nothing_is_lost(before, after):
    session = Session(30, before, seed=4)
    pull(session, 50, lambda ticket: ticket.label / 32)
    there = sums(session)
    session.use(after)
    assert session.policy == Session(3, after).policy
    assert session.view().policy == Session(3, after).view().policy
    assert sums(session) == there
    assert session.recommend() is not None
    pull(session, 100, lambda ticket: ticket.label / 32)
    assert (session.pulls, session.spent) == (150, 150)
    assert all(mean == label / 32 for label, (_, mean) in sums(session).items())


@pytest.mark.parametrize("policy", CANNOT)
def test_from_a_policy_that_cannot_be_amended_to_one_that_can(policy):
    session = Session(10, policy)
    pull(session, 20, lambda ticket: ticket.label / 16)
    there = sums(session)
    session.use("chase")
    assert sums(session) == there
    session.observe(3, 0.5)


@pytest.mark.parametrize("policy", CANNOT)
def test_a_policy_that_cannot_take_over_is_refused(policy):
    session = Session(10, "b3")
    session.use(policy)  # nothing is there yet
    session.use("b3")
    (ticket,) = session.ask()
    words = "cannot start from results and open tickets.*use one that can, such as chase"
    refused(session, lambda: session.use(policy), words, CannotAmend)
    session.tell(ticket, 0.5)
    refused(session, lambda: session.use(policy), words, CannotAmend)


def test_what_is_no_policy_is_refused_and_changes_nothing():
    session = Session(100, "b3")
    refused(session, lambda: session.use("nobody"), "policy is 'nobody'")
    small = parse_policy("sr:budget=5")  # too small for the arms
    refused(session, lambda: session.use(small), "budget")
    refused(session, lambda: session._core.rule.check_policy(small), "budget")  # what a study asks first
    twin = Session(100, "b3")
    session.use("us")
    twin.use("us")
    assert session.ask(50) == twin.ask(50)  # a refused policy has drawn nothing
    arms = Session(iter(range(9)), "b3")
    with pytest.raises(InvalidInput, match="must know how many arms"):
        arms.use("dsh")


@pytest.mark.parametrize("policy", AMENDED)
def test_a_ticket_stays_valid(policy):
    session = Session(10, "us")
    tickets = session.ask(4, holder="ann")
    session.use(policy)
    assert session.held("ann") == tickets
    new = session.ask(3, holder="bob")
    assert not {ticket.id for ticket in new} & {ticket.id for ticket in tickets}
    taken = {(ticket.label, ticket.pull) for ticket in tickets}
    assert not taken & {(ticket.label, ticket.pull) for ticket in new}
    for ticket in tickets:
        session.tell(ticket, ticket.label / 16)
    assert session.pulls == 4
    best = max(ticket.label for ticket in tickets)
    if policy in ("chase", "us", "prose:sigma=0.5"):
        assert session.recommend().label == best


@pytest.mark.parametrize("policy", AMENDED)
def test_an_arm_with_an_open_ticket_and_no_result_may_be_withdrawn_afterwards(policy):
    session = Session(10, "us", seed=1)
    tickets = session.ask(6)
    session.use(policy)
    session.withdraw(tickets[4].label)
    told = set()
    for _ in range(60):
        (ticket,) = session.ask(1)
        told.add(ticket.label)
        session.tell(ticket, 0.5)
    assert tickets[4].label not in told


@pytest.mark.parametrize("policy", AMENDED)
def test_arms_keep_their_order_and_withdrawn_ones_stay_away(policy):
    session = Session(40, "us", seed=3)
    pull(session, 10, lambda ticket: ticket.label / 64)
    order = [arm.label for arm in session.arms(order="tried")]
    session.withdraw(order[2])
    session.use(policy)
    pull(session, 60, lambda ticket: ticket.label / 64)
    assert [arm.label for arm in session.arms(order="tried")][:10] == order
    assert session.why(order[2]).place == "withdrawn"
    assert session.why(order[2]).pulls == 1
    assert session.recommend().label != order[2]


def test_lifts_that_are_paid_for_happen_at_no_cost():
    session = Session(9, "us")
    pull(session, 9 * 12, lambda ticket: ticket.label / 16)
    session.use("b3:reuse=topup")
    (ticket,) = session.ask()
    assert session.recommend().level >= 2
    assert ticket.pull == 12


def test_when_all_arms_are_gone():
    session = Session(["a"], "b3")
    session.withdraw("a")
    session.use("chase")
    assert session.ask() == []
    session.add(["b"])
    assert session.ask()[0].label == "b"


def test_excluded_results_are_not_taken_over_and_can_be_included_later():
    session = Session(["a", "b"], "b3")
    for holder in ("ann", "bob"):
        (ticket,) = session.ask(holder=holder)
        session.tell(ticket, 0.5)
    session.exclude("bob")
    session.use("us")
    assert len(sums(session)) == 1
    session.include("bob")
    assert len(sums(session)) == 2
    assert len(session.top(5)) == 2


def test_each_policy_draws_the_order_of_what_is_left_from_its_own_stream():
    sessions = [Session(1_000, "us") for _ in range(4)]
    orders = []
    for times, session in enumerate(sessions):
        pull(session, 5)
        for _ in range(min(times, 2)):
            session.use("us")
        orders.append([ticket.label for ticket in session.ask(20)])
    assert orders[0] != orders[1] != orders[2] != orders[0]
    assert orders[2] == orders[3]
