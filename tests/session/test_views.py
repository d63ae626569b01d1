"""`view`, `glance` and the paged calls: one consistent read, as JSON too, and lists that are read page by page."""

import json

import numpy as np
import pytest
from asking import pull

from boxthirding import Session
from boxthirding.errors import InvalidInput, UnknownLabel
from boxthirding.session import ArmSummary
from boxthirding.session.values import BY_CLOCK, VIEW_VERSION

POLICIES = ["b3", "chase", "us", "prose:sigma=0.5", "asha", "dsh", "bsh", "bucb:sigma=0.5", "sh:budget=300"]


def busy(policy="b3", **settings):
    session = Session([f"Arm {i}" for i in range(40)], policy, seed=3, **settings)
    pull(session, 80, lambda ticket: int(ticket.label[4:]) / 64)
    session.ask(2, holder="ann")
    session.ask(3, holder="bob")
    session.withdraw(session.top(5)[-1].label)
    return session


class TestView:
    def test_it_has_the_counts_at_one_moment(self):
        session = busy()
        view = session.view()
        assert (view.name, view.status, view.policy, view.seed, view.direction) == (None, "open", "b3", 3, "maximize")
        assert (view.arms, view.withdrawn, view.pulls, view.spent) == (39, 1, 80, 80)
        assert view.open == sum(view.holders.values()) == session.open == 5
        assert view.holders == {"bob": 3, "ann": 2}
        assert view.tried == len(session.arms())
        assert view.untried == view.arms - sum(not arm.withdrawn for arm in session.arms())
        assert view.recommendation == session.recommend() == view.top[0]
        assert list(view.top) == session.top(10)
        assert [tuple(box) for box in view.boxes] == [(box.level, box.deferment, box.size) for box in session.boxes()]
        assert view.screening == session.screening(0.01)
        assert {getattr(view, name) for name in BY_CLOCK} == {None}
        assert view.excluded == ()

    @pytest.mark.parametrize("policy", POLICIES)
    def test_it_is_json_with_a_version(self, policy):
        view = busy(policy).view()
        told = json.loads(json.dumps(view.as_dict(), allow_nan=False))
        assert told["version"] == VIEW_VERSION == 1
        assert set(told) == {"version", *view.__dataclass_fields__}
        assert told["recommendation"]["label"] == view.recommendation.label
        assert [arm["mean"] for arm in told["top"]] == [arm.mean for arm in view.top]
        assert told["holders"] == view.holders
        assert told["boxes"] == [box._asdict() for box in view.boxes]
        assert told == json.loads(json.dumps(busy(policy).view().as_dict()))  # the same run, the same view

    def test_before_anything_has_happened(self):
        view = Session(5).view()
        assert (view.recommendation, view.top, view.boxes, view.pulls, view.holders) == (None, (), (), 0, {})
        json.dumps(view.as_dict())

    def test_arms_that_are_withdrawn_wait_no_longer_and_were_tried_all_the_same(self):
        session = Session(list("abcdef"), known={"a": 1.0, "b": 0.5, "c": 0.0})
        for label in "abd":
            session.withdraw(label)
        view = session.view()
        assert (view.arms, view.tried, view.untried, view.withdrawn) == (3, 3, 2, 3)
        assert Session(iter("abc")).view().untried is None

    def test_labels_that_come_from_arrays_are_plain(self):
        session = Session(np.arange(5), known={np.int64(3): np.float32(0.5)})
        assert json.loads(json.dumps(session.view().as_dict()))["recommendation"]["label"] == 3

    def test_it_does_not_grow_with_the_arms(self):
        session = Session(3_000, "us")
        pull(session, 2_000)
        assert len(session.view().top) == 10
        assert len(json.dumps(session.view().as_dict())) < 3_000

    def test_with_an_iterator_the_number_of_arms_is_open(self):
        session = Session(iter(range(10)))
        pull(session, 1)
        assert session.view().arms is None

    def test_wanted_are_pulls_that_nobody_has(self):
        session = Session(9, "b3:effort=4")
        session.ask()
        assert session.view().queued == 3

    def test_a_glance_has_counts_and_answer(self):
        session = busy(known={"Arm 3": 0.5})
        assert session.glance() == (81, 80, 5, 5, session.recommend())


class TestArms:
    @pytest.mark.parametrize("policy", POLICIES)
    def test_all_that_have_a_result_best_first_page_by_page(self, policy):
        session = busy(policy)
        everything = session.arms(0, 1_000)
        assert len({arm.label for arm in everything}) == len(everything) == session.view().tried
        assert [page for first in range(0, 45, 7) for page in session.arms(first, 7)] == everything
        gone = [arm for arm in everything if arm.withdrawn]
        assert len(gone) == 1
        assert everything[-1] == gone[0]
        assert session.arms(1_000, 5) == []

    def test_best_first_means_as_ranked(self):
        session = busy("us")
        assert [arm.label for arm in session.arms(0, 10)] == [arm.label for arm in session.top(10)]

    def test_in_the_order_in_which_they_were_tried(self):
        session = Session(30, "us", seed=5)
        labels = []
        for _ in range(20):
            (ticket,) = session.ask()
            labels.append(ticket.label)
            session.tell(ticket, 0.5)
        assert [arm.label for arm in session.arms(order="tried")] == labels
        assert [arm.label for arm in session.arms(3, 4, order="tried")] == labels[3:7]

    def test_all_as_they_were_given_tried_or_not(self):
        session = Session([f"arm {number}" for number in range(20)])
        session.withdraw("arm 3")
        ticket = session.ask()[0]
        session.tell(ticket, 0.5)
        session.add(["arm 20"])
        assert [arm.label for arm in session.arms(order="given")] == [f"arm {number}" for number in range(21)]
        assert [arm.label for arm in session.arms(2, 3, order="given")] == ["arm 2", "arm 3", "arm 4"]
        assert [arm.label for arm in session.arms(1, 2, order="given", search="ARM 1")] == ["arm 10", "arm 11"]
        assert [arm.label for arm in session.arms(order="given") if arm.withdrawn] == ["arm 3"]
        assert [(arm.label, arm.mean) for arm in session.arms(order="given") if arm.pulls] == [(ticket.label, 0.5)]
        assert session.arms(30, 5, order="given") == []

    @pytest.mark.parametrize("direction", ["maximize", "minimize"])
    def test_by_a_column_in_both_directions(self, direction):
        session = Session([f"Arm {number}" for number in range(40)], "b3", direction=direction)
        for number in range(120):
            (ticket,) = session.ask()
            session.tell(ticket, number % 7 / 7)
        whole = session.arms()
        for column in ("mean", "pulls", "level", "label"):
            values = [getattr(arm, column) for arm in session.arms(order=column)]
            values = [-1 if value is None else value for value in values]
            assert values == sorted(values) != sorted(values, reverse=True)
            turned = [getattr(arm, column) for arm in session.arms(order=f"-{column}")]
            assert [-1 if value is None else value for value in turned] == sorted(values, reverse=True)
            assert sorted(session.arms(order=column)) == sorted(whole)
            assert session.arms(3, 4, order=f"-{column}") == session.arms(order=f"-{column}")[3:7]
        with pytest.raises(InvalidInput, match="also with a minus"):
            session.arms(order="-best")

    def test_those_rated_last_first_whose_results_count(self):
        session = Session(5, "us")
        told = []
        for _ in range(5):
            (ticket,) = session.ask(holder="out" if len(told) == 4 else "in")
            session.tell(ticket, 0.5)
            told.append(ticket.label)
        session.observe(told[1], 0.5)
        session.exclude("out")
        assert [arm.label for arm in session.arms(order="latest")] == [told[1], told[3], told[2], told[0]]

    @pytest.mark.parametrize("order", ["best", "tried", "latest", "-mean", "label"])
    def test_those_with_a_text_in_their_label(self, order):
        session = busy("us")
        found = {arm.label for arm in session.arms(order=order, search="aRM 1")}
        assert found == {"Arm 1", *(f"Arm {i}" for i in range(10, 20))}
        assert len(session.arms(0, 4, order=order, search="arm 1")) == 4
        assert session.arms(order=order, search="nobody") == []

    def test_what_is_searched_for_is_a_text(self):
        for order in ("best", "given"):
            with pytest.raises(InvalidInput, match="search is 5, but must be a text"):
                Session(3).arms(order=order, search=5)

    def test_numbers_are_searched_as_text(self):
        session = Session(30, "us")
        pull(session, 30)
        assert {arm.label for arm in session.arms(search="7")} == {7, 17, 27}

    def test_an_arm_in_a_list(self):
        session = Session(["a"], "us", direction="minimize", known={"a": [0.5, 1.0]})
        assert session.arms() == [ArmSummary("a", 0.75, 2, None, withdrawn=False)]

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"first": -1}, "first is -1"),
            ({"count": 0}, "count is 0"),
            ({"first": 1.5}, "first is 1.5"),
            ({"order": "worst"}, "order is 'worst', but must be one of best, tried, latest, given"),
        ],
    )
    def test_what_is_refused(self, wrong, words):
        with pytest.raises(InvalidInput, match=words):
            busy().arms(**wrong)


class TestBoxes:
    def test_a_level_and_pages_of_its_boxes(self):
        session = busy()
        everything = session.boxes()
        levels = {box.level for box in everything}
        assert len(levels) > 1
        for level in levels:
            assert session.boxes(level) == [box for box in everything if box.level == level]
        (pile,) = [box for box in session.boxes(0) if box.deferment is None]
        assert pile.size == len(pile.arms) > 5
        pages = [session.boxes(0, first, 2)[-1].arms for first in range(0, pile.size, 2)]
        assert tuple(arm for page in pages for arm in page) == pile.arms
        assert session.boxes(0, 0, 2)[-1].size == pile.size
        assert session.boxes(99) == []

    @pytest.mark.parametrize(("level", "words"), [("first", "level is 'first'"), (-1, "level is -1"), (1.5, "level")])
    def test_what_is_refused(self, level, words):
        with pytest.raises(InvalidInput, match=words):
            busy().boxes(level)


class TestRanges:
    def test_a_range_of_any_size_at_once(self):
        session = Session(range(10**12), "b3")
        pull(session, 100, lambda ticket: ticket.label % 8)
        assert session.recommend().mean == session.recommend().label % 8
        session.observe(10**12 - 1, 2.0)
        session.withdraw(123_456_789_012)
        assert session.why(10**11).place == "in the pool"
        assert session.payload(10**12 - 1) == 10**12 - 1
        assert session.view().arms == 10**12 - 1
        for unknown in (10**12, -1, "x", 0.5, "5"):
            with pytest.raises(UnknownLabel):
                session.observe(unknown, 0.5)
        with pytest.raises(InvalidInput, match="is there already"):
            session.add([7])
        session.add(["x"])

    def test_a_range_with_steps(self):
        session = Session(range(5, 50, 5), "us")
        assert {ticket.label for ticket in session.ask(9)} == {5, 10, 15, 20, 25, 30, 35, 40, 45}
        assert all(ticket.payload == ticket.label for ticket in session.held())
        for unknown in (0, 6, 50):
            with pytest.raises(UnknownLabel):
                session.why(unknown)

    def test_a_range_downwards(self):
        session = Session(range(3, 0, -1), known={2: 0.5})
        assert session.recommend().label == 2
        assert sorted(arm.label for arm in session.ask(9, holder="ann") if arm.pull == 0) == [1, 3]

    @pytest.mark.parametrize("arms", [range(0), range(5, 5), range(2**70), 2**70])
    def test_what_is_no_range_of_arms(self, arms):
        with pytest.raises(InvalidInput, match=r"there are no arms|the number of arms is"):
            Session(arms)
