"""The input-order trap: data sets are sorted by quality, and whatever leaks the order leaks the answer.

With Bernoulli rewards most means are tied. Were ties broken by the arms' order in the file, uniform sampling would look
three times better on captions than it is.
"""

import numpy as np
import pytest

from boxthirding import _compile
from boxthirding.lab import Bernoulli, Instance, captions, driver, simulate
from boxthirding.policies import POLICIES as KNOWN
from boxthirding.policies import BoxThirding, Chase, SequentialHalving, Uniform, parse_policy
from boxthirding.policies.rivals import uniform
from boxthirding.rng import spawn
from boxthirding.types import NONE

BUDGET = 1_000
REPLICATES = 1_500
MEANS = captions(1_000).means  # the best first, as in the file
ORDERS = {
    "best first": MEANS,
    "worst first": MEANS[::-1],
    "shuffled": np.random.default_rng(7).permutation(MEANS),
}
FEW = captions(400).means

POLICIES = [BoxThirding(), Uniform(), SequentialHalving(budget=BUDGET), Chase()]
OTHERS = [  # held to the order of few arms by the contract suite, like the policies above
    BoxThirding(reuse="pool"),
    BoxThirding(reuse="topup", effort=0.3),
    BoxThirding(schedule="linear"),
    SequentialHalving(budget=BUDGET, mode="paper", growth=1.7),
    SequentialHalving(budget=BUDGET, mode="fit", growth=2.0),
    *(parse_policy(name, budget=2 * BUDGET, sigma=0.5) for name in sorted(set(KNOWN) - {"b3", "us", "sh", "chase"})),
]


def distance(one, other):
    """Return how many standard errors two samples are apart."""
    return abs(one.mean() - other.mean()) / np.sqrt(one.var() / len(one) + other.var() / len(other))


@pytest.mark.skipif(not _compile.available(), reason="numba is not installed")
@pytest.mark.parametrize("workers", [1, pytest.param(20, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    "policy", [*POLICIES, *(pytest.param(policy, marks=pytest.mark.soak) for policy in OTHERS)], ids=repr
)
def test_the_order_in_which_arms_are_given_does_not_matter(policy, workers):
    # Two samples are five standard errors apart one time in 1.7 million: 90 comparisons, a false alarm in 18,000.
    regrets = {
        order: simulate(
            Instance(order, means),
            Bernoulli(),
            policy,
            budget=BUDGET,
            replicates=REPLICATES,
            seed=seed,
            workers=workers,
        ).regret[:, -1]
        for seed, (order, means) in enumerate(ORDERS.items())
    }
    for one, other in (("best first", "worst first"), ("best first", "shuffled"), ("worst first", "shuffled")):
        assert distance(regrets[one], regrets[other]) < 5, (one, other)


def in_the_given_order(order, stream, at, arm):  # noqa: ARG001
    """Number the arms as they are given."""
    at[driver.NUMBERED] = max(int(at[driver.NUMBERED]), arm + 1)


def lowest_among_equals(state):
    """Recommend the largest mean, the lowest number among equals."""
    seen = int(state.scalars[uniform.SEEN])
    return int(np.argmax(state.arms.total[:seen] / state.arms.pulls[:seen])) if seen else NONE


def uniform_regrets(means, **traps):
    """Run uniform sampling for a round, interpreted, with parts of the driver replaced."""
    policy = Uniform()
    drive = _compile.bound(driver.loop_of(policy.rule, compiled=False, parallel=False), **traps)
    model = Bernoulli()
    source = model.source(Instance("order", means))
    replicates = 60
    recommended = np.zeros((replicates, 1), np.int64)
    n_arms = len(means)
    state = policy.new(n_arms, 0, n_arms)
    order, at = np.zeros(n_arms, np.int64), np.zeros(driver.POSITIONS, np.int64)
    budgets = np.array([n_arms])
    assert drive(state, source, False, spawn(1, 0, replicates), order, n_arms, budgets, at, recommended) == driver.DONE
    return means.max() - means[recommended[:, 0]]


def test_the_trap_shows_when_the_random_order_is_off_and_ties_go_to_the_lower_index():
    # Five standard errors as above: the same comparison, which now must fail.
    traps = {"number": in_the_given_order, "recommend": lowest_among_equals}
    best, worst = uniform_regrets(FEW, **traps), uniform_regrets(FEW[::-1], **traps)
    assert distance(best, worst) > 10
    fair = uniform_regrets(FEW)
    assert best.mean() < fair.mean() / 3  # the answer has leaked
    assert distance(fair, uniform_regrets(FEW[::-1])) < 5


@pytest.mark.parametrize("guard", ["number", "recommend"])
def test_either_guard_alone_is_enough_for_uniform_sampling(guard):
    """A random order, or random ties: with one of them off and the other on, nothing leaks."""
    traps = {"number": in_the_given_order, "recommend": lowest_among_equals}
    del traps[guard]
    assert distance(uniform_regrets(FEW, **traps), uniform_regrets(FEW[::-1], **traps)) < 5
