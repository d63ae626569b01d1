"""What the view would be without some holders, and the results of an arm one by one."""

import pytest
from keeping import Place

from boxthirding import InvalidInput

POLICIES = ("chase", "b3:reuse=topup", "us")


@pytest.fixture
def place():
    return Place()


def rated(place, policy="chase", examples=None):
    """Return a study in which one holder of three likes other arms than the rest, with tickets open."""
    study = place.open("me", arms=[f"arm {number}" for number in range(20)], seed=3, policy=policy, examples=examples)
    for turn in range(150):
        holder = ("ann", "bob", "odd")[turn % 3]
        for ticket in study.ask(1, holder=holder):
            good = int(ticket.label.split()[1])
            study.tell(ticket, float(-good if holder == "odd" else good), holder=holder)
    study.ask(2, holder="ann")
    return study


@pytest.mark.parametrize("policy", POLICIES)
def test_it_is_what_the_view_is_then_and_nothing_has_changed(place, policy):
    study = rated(place, policy)
    before, text, events = study.view(), study.state(), len([*study.events()])
    without = study.what_if(exclude=["odd"])
    assert (study.view(), study.state(), len([*study.events()])) == (before, text, events)
    assert without.recommendation != before.recommendation
    study.exclude("odd")
    assert study.view() == without
    again = study.what_if(include=["odd"], exclude=["bob"])
    study.include("odd")
    study.exclude("bob")
    assert study.view() == again


def test_arms_of_an_iterator_are_left_as_they_are(place):
    study = place.open("me", arms=(f"arm {number}" for number in range(1000)), seed=1)
    for turn in range(40):
        (ticket,) = study.ask(1, holder=f"rater {turn % 2}")
        study.tell(ticket, turn % 7)
    without = study.what_if(exclude=["rater 1"])
    study.exclude("rater 1")
    assert study.view() == without
    assert study.ask(1, holder="rater 0")


def test_a_holder_who_told_nothing_is_refused(place):
    study = rated(place)
    with pytest.raises(InvalidInput, match="no one"):
        study.what_if(exclude=["no one"])
    with pytest.raises(InvalidInput, match="is not excluded"):
        study.what_if(include=["ann"])


def test_the_results_of_an_arm_are_listed_latest_first_as_they_stand(place):
    study = place.open("me", arms=["a"], seed=1, policy="us")
    study.observe("a", 0.5)
    first, second = (study.ask(1, holder=holder)[0] for holder in ("ann", "bob"))
    study.tell(first, 1.0)
    study.tell(second, 0.0)
    study.correct(first, 0.25)
    study.exclude("bob")
    expected = [(second.id, 2, "bob", 0.0, False), (first.id, 1, "ann", 0.25, True), (None, 0, "", 0.5, True)]
    assert study.results("a") == expected
    assert study.results("a", 1, 1) == expected[1:2]


def test_an_arm_that_was_not_tried_has_no_results(place):
    study = place.open("me", arms=["a", "b"], seed=1)
    assert study.results("b") == []
