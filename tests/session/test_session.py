"""A session as a practitioner meets it: what it takes as arms, and how they come and go."""

import math
import threading
import tracemalloc

import numpy as np
import pytest
from asking import all_of, drawn, pull

from boxthirding import BoxThirding, SequentialHalving, Session, Uniform
from boxthirding.errors import (
    ArmsUnavailable,
    InvalidInput,
    UnknownLabel,
)


class TestArms:
    def test_a_sequence_of_labels(self):
        session = Session(["ann", "bob", 7])
        tickets = session.ask(3)
        assert {ticket.label for ticket in tickets} == {"ann", "bob", 7}
        assert all(ticket.payload == ticket.label for ticket in tickets)
        assert [ticket.arm for ticket in tickets] == [0, 1, 2]

    @pytest.mark.parametrize(
        "arms", [5, range(5), dict.fromkeys(range(5)).keys(), iter(range(5)), np.arange(5), (i for i in range(5))]
    )
    def test_five_arms_in_any_form(self, arms):
        assert sorted(drawn(Session(arms))) == [0, 1, 2, 3, 4]

    def test_a_mapping_gives_labels_and_what_rides_along(self):
        arms = {"small": {"size": 1}, "large": {"size": 9}}
        for ticket in Session(arms).ask(2):
            assert ticket.payload is arms[ticket.label]

    def test_anything_else_rides_along_and_its_position_is_its_label(self):
        arms = [{"size": 1}, ("a", 2), None, 0.5, True]
        tickets = Session(arms).ask(5)
        assert {ticket.label for ticket in tickets} == set(range(5))
        assert all(ticket.payload is arms[ticket.label] for ticket in tickets)

    def test_the_same_with_an_iterator(self):
        arms = [{"size": 1}, {"size": 2}, {"size": 3}]
        tickets = Session(iter(arms)).ask(3)
        assert [ticket.payload for ticket in tickets] == arms
        assert [ticket.label for ticket in tickets] == [0, 1, 2]

    @pytest.mark.parametrize("arms", ["abc", b"abc", "", None, 2.5, 0, -1, [], {}, iter(())])
    def test_what_is_no_set_of_arms_is_refused(self, arms):
        with pytest.raises(InvalidInput):
            Session(arms)

    @pytest.mark.parametrize("arms", [["a", "b", "a"], [1, 2, 1], ("a", "a")])
    def test_a_label_given_twice_is_refused_by_name(self, arms):
        with pytest.raises(InvalidInput, match=f"label {arms[0]!r}"):
            Session(arms)

    def test_a_label_that_is_neither_text_nor_number_is_refused(self):
        with pytest.raises(InvalidInput, match=r"\(1, 2\).*tuple"):
            Session({(1, 2): "arm"})

    def test_an_iterator_ends_early(self):
        session = Session(iter("abc"))
        labels = {session.ask()[0].label}
        assert session.screening(0.1).arms is None  # there may be more
        labels |= {ticket.label for ticket in session.ask(10)}
        assert labels == set("abc")
        assert session.screening(0.1).arms == 3

    def test_an_iterator_is_drawn_one_ahead_at_the_most(self):
        given = []
        session = Session((given.append(i) or i for i in range(1_000)), "b3")
        pull(session, 20)
        assert len(given) == 11  # rule by rule: ten arms are introduced by then

    def test_a_policy_that_must_know_the_number_of_arms_refuses_an_iterator_before_it_begins(self):
        given = []
        with pytest.raises(InvalidInput, match="sh must know how many arms"):
            Session((given.append(i) for i in range(9)), SequentialHalving(budget=100))
        assert given == []

    def test_an_iterator_that_raises_costs_no_ticket_and_may_go_on(self):
        class Flaky:
            def __init__(self):
                self.given = 0

            def __iter__(self):
                return self

            def __next__(self):
                self.given += 1
                if self.given == 4:
                    raise OSError("the file is gone")
                return f"arm {self.given}"

        session = Session(Flaky())
        assert [ticket.label for ticket in session.ask(8)] == ["arm 1", "arm 2", "arm 3"]
        with pytest.raises(ArmsUnavailable, match=r"the file is gone.*at arm 4") as trouble:
            session.ask(8)
        assert isinstance(trouble.value.__cause__, OSError)
        assert session.open == 3
        assert session.ask(2)[0].label == "arm 5"

    def test_an_iterator_that_raises_does_not_get_in_the_way_of_add_and_withdraw(self):
        def arms():
            yield "a"
            raise OSError

        session = Session(arms())
        (ticket,) = session.ask()
        session.add(["b", "c"])
        session.withdraw("b")
        session.tell(ticket, 0.5)
        with pytest.raises(ArmsUnavailable):
            session.ask()
        assert session.ask()[0].label == "c"

    def test_an_iterator_that_repeats_itself_is_refused_by_name(self):
        session = Session(iter(["a", "b", "a", "c"]))
        assert [ticket.label for ticket in session.ask(9)] == ["a", "b"]
        with pytest.raises(InvalidInput, match="'a'"):
            session.ask(9)
        assert session.ask(9)[0].label == "c"

    def test_an_arm_without_a_label_does_not_take_somebody_elses(self):
        session = Session(iter([1, {"size": 2}, "b"]))
        assert [ticket.label for ticket in session.ask(9)] == [1]
        with pytest.raises(InvalidInput, match="label 1"):
            session.ask()
        assert session.ask()[0].label == "b"

    def test_ten_million_arms_cost_nothing_until_they_are_touched(self):
        tracemalloc.start()
        try:
            session = Session(10_000_000)
            pull(session, 10_000, lambda ticket: (ticket.label % 1000) / 1000)
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert session.pulls == 10_000
        assert held < 50e6

    def test_arms_come_in_a_random_order(self):
        # Each of 6 orders of three arms has a chance of one in six; χ² with 5 degrees of freedom exceeds 35.9 with a
        # chance of 1e-6.
        counts = {}
        for seed in range(3_000):
            order = "".join(ticket.label for ticket in Session(["a", "b", "c"], seed=seed).ask(3))
            counts[order] = counts.get(order, 0) + 1
        assert len(counts) == 6
        assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 35.9

    def test_the_same_seed_is_the_same_run(self):
        one, other, third = (Session(1_000, seed=seed) for seed in (5, 5, 6))
        labels = [[ticket.label for ticket in session.ask(20)] for session in (one, other, third)]
        assert labels[0] == labels[1] != labels[2]


class TestComingAndGoing:
    def test_added_arms_join_at_a_random_place(self):
        # Two arms of four are added: the next one is an added one with a chance of one half. 1,000 of 2,000 runs,
        # give or take 4.9 standard deviations: a false alarm in a million.
        added = 0
        for seed in range(2_000):
            session = Session(["a", "b", "c"], seed=seed)
            session.ask()
            session.add(["d", "e"])
            added += session.ask()[0].label in "de"
        assert abs(added - 1_000) < 4.9 * math.sqrt(2_000 / 4)

    def test_added_arms_may_ride_along_too(self):
        session = Session(["a"])
        session.add({"b": 1.5})
        session.add([{"size": 3}])
        assert {(ticket.label, str(ticket.payload)) for ticket in session.ask(3)} == {
            ("a", "a"),
            ("b", "1.5"),
            (2, "{'size': 3}"),
        }

    @pytest.mark.parametrize("arms", [["x", "a"], ["x", "x"], ["x", "gone"], "xy", 5, None, {(1,): 2}])
    def test_arms_are_added_all_or_none(self, arms):
        session = Session(["a", "b", "gone"])
        session.withdraw("gone")
        before = all_of(session)
        with pytest.raises(InvalidInput):
            session.add(arms)
        assert all_of(session) == before
        with pytest.raises(UnknownLabel):
            session.why("x")

    def test_what_an_iterator_will_give_next_cannot_be_added(self):
        session = Session(iter("abc"))
        with pytest.raises(InvalidInput, match="'a' is there already"):
            session.add(["a"])

    def test_an_added_number_may_not_be_one_of_those_given_as_a_number(self):
        session = Session(5)
        with pytest.raises(InvalidInput, match="label 4 is there already"):
            session.add([7, 4])
        session.add([7, -1])
        assert sorted(ticket.label for ticket in session.ask(7)) == [-1, 0, 1, 2, 3, 4, 7]

    def test_a_withdrawn_arm_is_neither_pulled_nor_recommended(self):
        session = Session(["a", "b", "c", "d"])
        pull(session, 30, lambda ticket: ord(ticket.label) / 128)
        while (best := session.recommend()) is not None:
            session.withdraw(best.label)
            assert all(ticket.label != best.label for ticket in session.ask(3))
        assert session.ask() == []
        assert session.open == 0
        assert session.pulls == 30

    def test_an_arm_may_go_before_anybody_met_it(self):
        session = Session(["a", "b", "c", "d"])
        session.withdraw("b")
        session.withdraw("d")
        assert sorted(drawn(session)) == ["a", "c"]
        assert session.why("b").place == "withdrawn"

    @pytest.mark.parametrize("policy", [BoxThirding(), Uniform(), SequentialHalving(budget=200)])
    def test_an_arm_that_goes_before_the_start_leaves_the_others_a_random_order(self, policy):
        # Three arms are left, each comes first with a chance of one third: χ² with 2 degrees of freedom exceeds 27.7
        # with a chance of 1e-6.
        first = dict.fromkeys("abd", 0)
        for seed in range(1_500):
            session = Session(["a", "b", "c", "d"], policy, seed=seed)
            session.withdraw("c")
            first[session.ask()[0].label] += 1
        assert sum((count - 500) ** 2 / 500 for count in first.values()) < 27.7

    @pytest.mark.parametrize("met", [True, False])
    def test_to_withdraw_twice_is_refused_by_name(self, met):
        session = Session(["a", "b"])
        if met:
            session.ask(2)
        session.withdraw("a")
        with pytest.raises(InvalidInput, match="'a' is withdrawn already"):
            session.withdraw("a")
        with pytest.raises(InvalidInput, match="'a' is there already"):
            session.add(["a"])

    @pytest.mark.parametrize("label", ["c", 0, None, 1.5, True, ("a",), ["a"]], ids=repr)
    @pytest.mark.parametrize("verb", ["withdraw", "why"])
    def test_a_label_that_does_not_exist_is_refused_by_name(self, verb, label):
        session = Session(["a", "b"])
        with pytest.raises(UnknownLabel) as refused:
            getattr(session, verb)(label)
        assert repr(label) in str(refused.value)

    def test_sequential_halving_goes_on_without_those_withdrawn(self):
        session = Session(16, SequentialHalving(budget=400), seed=2)
        for label in (3, 9):
            session.withdraw(label)
        told = set()
        while tickets := session.ask(50):
            for ticket in tickets:
                told.add(ticket.label)
                session.tell(ticket, ticket.label / 16)
            if 15 in told and session.why(15).place != "withdrawn":
                session.withdraw(15)
        assert told == set(range(16)) - {3, 9}
        assert session.recommend().label == 14


def test_threads_share_a_session():
    session = Session(300, seed=1)
    tickets, errors = [], []

    def work():
        try:
            for _ in range(250):
                for ticket in session.ask(2):
                    tickets.append(ticket.id)
                    session.tell(ticket, ticket.label / 512)
                    session.recommend()
        except Exception as error:  # noqa: BLE001  # whatever it is, the test below shows it
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(tickets) == list(range(len(tickets)))
    assert session.pulls == len(tickets) == sum(session.why(label).pulls for label in range(300))
    assert session.open == 0


class TestPolicies:
    def test_a_spec_will_do(self):
        assert Session(3, "b3:reuse=topup").policy == BoxThirding(reuse="topup")

    @pytest.mark.parametrize("policy", [BoxThirding, 42, "nobody"])
    def test_what_is_no_policy_is_refused(self, policy):
        with pytest.raises(InvalidInput, match="policy is"):
            Session(3, policy)

    def test_a_set_is_refused_because_its_order_is_not_the_same_twice(self):
        with pytest.raises(InvalidInput, match=r"sorted\(arms\)"):
            Session({"a", "b"})

    def test_numpy_integers_are_labels(self):
        session = Session(np.arange(3))
        session.withdraw(np.int64(2))
        assert {ticket.label for ticket in session.ask(2)} == {0, 1}
