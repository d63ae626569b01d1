"""`Session.boxes`: where every arm stands, as a person would draw it."""

from collections import Counter

import pytest

from boxthirding import BoxThirding, SequentialHalving, Session, Uniform


def told(session, pulls, reward):
    while session.pulls < pulls:
        for ticket in session.ask():
            session.tell(ticket, reward(ticket.label))
    return session


def test_the_first_boxes_are_those_of_the_worked_example():
    session = told(Session(1_000, "b3"), 16, float)
    sizes = [(box.level, box.deferment, len(box.arms)) for box in session.boxes()]
    assert sizes == [(0, 0, 1), (0, 1, 3), (0, None, 3), (1, 0, 3)]  # before Box(1, 0) is arranged


def test_means_and_pulls_are_those_an_arm_competes_with():
    session = told(Session(1_000, "b3"), 100, float)
    costs = BoxThirding().costs()
    for box in session.boxes():
        for arm in box.arms:
            assert arm.mean == arm.label
            assert arm.pulls == costs.cost(box.level)


@pytest.mark.parametrize("pulls", [1, 7, 50, 333])
def test_every_arm_with_a_finished_job_stands_in_one_place(pulls):
    session = told(Session(1_000, "b3", seed=3), pulls, float)
    places = Counter(arm.label for box in session.boxes() for arm in box.arms)
    assert set(places.values()) == {1}
    assert len(places) == len(session.top(1_000))


def test_costs_are_shown_as_costs():
    session = told(Session(1_000, "b3", direction="minimize"), 10, float)
    assert all(arm.mean == arm.label for box in session.boxes() for arm in box.arms)


@pytest.mark.parametrize("policy", [Uniform(), SequentialHalving(100)])
def test_a_policy_without_boxes_has_none(policy):
    assert told(Session(10, policy), 20, float).boxes() == []
