"""Who gets which number: uniformly at random from those that have none, whatever comes and goes in between."""

import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxthirding.errors import InvalidInput
from boxthirding.rng import ORDER, spawn
from boxthirding.session.labels import Labels


def labels_of(arms, seed=0):
    return Labels(arms, spawn(seed, 0, 1)[0, ORDER])


def next_label(labels):
    """Give the next number and return its label."""
    number = next_number(labels)
    labels.available()  # looks one arm ahead, as a session does before it asks
    labels.number(number)
    return labels.label(number)


def next_number(labels):
    return len(labels.numbered)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    n_arms=st.integers(0, 8),
    by_iterator=st.booleans(),
    steps=st.lists(st.sampled_from(["number", "add", "remove", "look"]), max_size=60),
    seed=st.integers(0, 2**32),
)
def test_every_arm_is_in_exactly_one_place(n_arms, by_iterator, steps, seed):
    rng = random.Random(seed)
    arms = [f"arm {i}" for i in range(n_arms)]
    labels = labels_of(iter(arms) if by_iterator or not arms else arms, seed)
    coming = list(arms) if by_iterator or not arms else []
    pool = set() if coming or not arms else set(arms)
    numbered, gone = [], set()
    for count, step in enumerate(steps):
        if step == "number" and labels.available() > len(numbered):
            label = next_label(labels)
            assert label in pool or (not pool and label == coming[0])
            coming = [arm for arm in coming if arm != label]
            pool.discard(label)
            numbered.append(label)
        elif step == "add":
            labels.add([f"new {count}"])
            pool.add(f"new {count}")
        elif step == "remove" and pool:
            label = rng.choice(sorted(pool))
            labels.withdraw(label)
            pool.discard(label)
            gone.add(label)
        assert labels.available() == len(numbered) + len(pool) + bool(coming)
        assert labels.in_sight == labels.available()
        assert [labels.label(k) for k in range(len(numbered))] == numbered
        assert [labels.find(label) for label in numbered] == list(range(len(numbered)))
        assert all(labels.find(label) is None and not labels.is_withdrawn(label) for label in pool)
        assert all(labels.is_withdrawn(label) for label in gone)


def test_every_order_has_the_same_chance_while_arms_come_and_go():
    # One of a, c, d is first; then b and e come, b goes, and one of the three others is second: nine outcomes.
    # χ² with 8 degrees of freedom exceeds 42.7 with a chance of 1e-6.
    runs = 6_000
    counts = Counter()
    for seed in range(runs):
        labels = labels_of(["a", "c", "d"], seed)
        first = next_label(labels)
        labels.add(["b", "e"])
        labels.withdraw("b")
        counts[first, next_label(labels)] += 1
    assert len(counts) == 9
    expected = runs / 9
    assert sum((count - expected) ** 2 for count in counts.values()) / expected < 42.7


def test_a_number_of_arms_is_its_own_labels_in_a_random_order():
    # The first label of 10: χ² with 9 degrees of freedom exceeds 45.1 with a chance of 1e-6.
    counts = Counter(next_label(labels_of(10, seed)) for seed in range(4_000))
    assert set(counts) == set(range(10))
    assert sum((count - 400) ** 2 for count in counts.values()) / 400 < 45.1


def test_ten_million_arms_hold_a_few_entries_only():
    labels = labels_of(10_000_000)
    drawn = [next_label(labels) for _ in range(1_000)]
    assert len(set(drawn)) == 1_000
    assert abs(sum(drawn) / 1_000 - 5e6) < 4.9 * 10_000_000 / math.sqrt(12 * 1_000)  # a false alarm in a million
    assert len(labels._swapped) <= 2_000


def test_the_order_is_that_of_the_simulator():
    import numpy as np

    from boxthirding.lab import driver

    stream = spawn(3, 0, 1)[0, ORDER]
    order, at = np.arange(50), np.zeros(driver.POSITIONS, np.int64)
    driver.number(order, stream, at, 49)
    labels = labels_of(50, seed=3)
    labels.number(49)
    assert [labels.label(k) for k in range(50)] == order.tolist()


def test_what_the_iterator_has_given_can_be_withdrawn_before_it_is_needed():
    labels = labels_of(iter("abc"))
    assert labels.available() == 1
    labels.withdraw("a")
    assert labels.is_withdrawn("a")
    assert labels.in_sight == 0
    assert labels.available() == 1
    assert next_label(labels) == "b"


def test_what_is_added_while_the_iterator_waits_keeps_its_own_label():
    labels = labels_of(iter([{"size": 1}, {"size": 2}]))
    labels.available()
    labels.add([{"size": 3}])
    with pytest.raises(InvalidInput, match="0 is there already"):
        labels.add({0: "zero"})
    found = set()
    while labels.available() > next_number(labels):
        next_label(labels)
        number = next_number(labels) - 1
        found.add((labels.label(number), labels.arm(number)[1]["size"]))
    assert found == {(0, 1), (1, 3), (2, 2)}
