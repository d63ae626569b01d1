"""`Session.boxes` and `Session.ladder`: where every arm stands, as a person would draw it."""

from collections import Counter

import numpy as np
import pytest

from boxthirding import BoxThirding, SequentialHalving, Session, Uniform
from boxthirding.errors import InvalidInput


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


def chased(pulls=300, n_arms=100, batch=1):
    noise = np.random.default_rng(4)
    session = Session(n_arms, "chase", seed=4)
    while session.pulls < pulls:
        for ticket in session.ask(batch):
            session.tell(ticket, float(noise.normal(ticket.label / n_arms, 0.3)))
    return session


def test_rungs_hold_every_arm_that_was_tried_by_its_pulls():
    session = chased()
    ladder = session.ladder(count=1_000)
    bounds = [(1, 1), (2, 2), (3, 4), (5, 7), (8, 11), (12, 17), (18, 26), (27, 40), (41, 61), (62, 92)]
    assert [(rung.fewest, rung.most) for rung in ladder] == bounds[: len(ladder)]
    assert len(ladder) > 5
    for rung in ladder:
        assert rung.size == len(rung.arms)
        assert all(rung.fewest <= arm.pulls <= rung.most for arm in rung.arms)
    standing = {arm.label: (arm.mean, arm.pulls) for rung in ladder for arm in rung.arms}
    assert standing == {arm.label: (arm.mean, arm.pulls) for arm in session.arms(count=1_000)}
    assert ladder[-1].size > 0


def test_the_leader_comes_first_then_those_that_keep_up_then_the_best_by_mean():
    session = chased(n_arms=1_000, pulls=600, batch=50)
    ladder = session.ladder(count=1_000)
    (leader,) = [arm for rung in ladder for arm in rung.arms if arm.standing == "leads"]
    assert leader.label == session.recommend().label
    for rung in ladder:
        places = [("leads", "keeps up", "").index(arm.standing) for arm in rung.arms]
        assert [(place, -arm.mean) for place, arm in zip(places, rung.arms, strict=True)] == sorted(
            (place, -arm.mean) for place, arm in zip(places, rung.arms, strict=True)
        )
        assert rung.keep_up == places.count(1)
    ahead = [arm for rung in ladder for arm in rung.arms if arm.standing == "keeps up"]
    assert ahead
    assert all(arm.mean > leader.mean for arm in ahead)


def test_a_rung_is_read_by_pages():
    session = chased()
    lowest = session.ladder(count=1_000)[0]
    assert lowest.size > 5
    assert session.ladder(1, 2, 3) == [lowest._replace(arms=lowest.arms[2:5])]
    assert session.ladder(1_000_000) == []
    (top,) = [rung for rung in session.ladder() if rung.fewest <= session.recommend().pulls <= rung.most]
    assert session.ladder(session.recommend().pulls) == [top]


@pytest.mark.parametrize("policy", [Uniform(), SequentialHalving(200), BoxThirding()])
def test_every_policy_has_a_ladder_and_in_chase_alone_arms_keep_up(policy):
    session = told(Session(10, policy), 70, float)
    ladder = session.ladder()
    assert sum(rung.size for rung in ladder) == 10
    assert {rung.keep_up for rung in ladder} == {None}
    assert {arm.standing for rung in ladder for arm in rung.arms} == {"leads", ""}
    assert ladder[0].size > 0  # what is below the lowest arm is left out


def test_the_ladder_of_costs_has_the_lowest_first():
    session = told(Session(9, "us", direction="minimize"), 9, float)
    (rung,) = session.ladder()
    assert [arm.mean for arm in rung.arms] == [arm.label for arm in rung.arms] == [*range(9)]


def test_arms_that_are_withdrawn_or_have_no_result_are_not_on_the_ladder():
    session = Session(9, "chase")
    assert session.ladder() == []
    session = told(session, 30, float)
    best = session.recommend().label
    session.withdraw(best)
    assert best not in {arm.label for rung in session.ladder() for arm in rung.arms}
    for label in range(8):
        session.withdraw(label)
    assert session.ladder() == []


@pytest.mark.parametrize("asked", [(0,), (None, -1), (None, 0, 0), (1.5,)])
def test_a_rung_that_cannot_be_is_refused(asked):
    with pytest.raises(InvalidInput):
        chased(30).ladder(*asked)
