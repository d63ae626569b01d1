"""The combined bounds, by hand and against simulation."""

import math

import numpy as np
import pytest

from boxthirding import BoxThirding, Uniform, simulate
from boxthirding.errors import InvalidInput
from boxthirding.lab import Deterministic, Gaussian, Instance, equal, poly
from boxthirding.lab.theory.bounds import box_thirding_bound, bracketing_bound, combined_order, uniform_bound
from boxthirding.lab.theory.candidate_sets import candidates, candidates_at
from boxthirding.lab.theory.complexity import good_arms
from boxthirding.policies.lineage import record_for
from boxthirding.policies.rivals.bsh import BracketingSequentialHalving


def test_orders_by_hand():
    good, rest = math.exp(-0.1 * 3), math.exp(-0.1 * 0.25)
    assert combined_order("us", 1_000, 10_000, 3, 0.5, constant=0.01) == 1.0
    assert combined_order("b3", 1_000, 10_000, 3, 0.5, constant=0.01) == min(1.0, good + rest)
    assert combined_order("b3", 10, 1_000, 3, 0.5) == pytest.approx(math.exp(-300) + math.exp(-25))
    assert combined_order("us", 10, 1_000, 3, 0.5) == pytest.approx(10 * math.exp(-25))
    assert combined_order("bsh", 10, 1_000, 3, 0.9) == pytest.approx(
        math.exp(-300 / math.log(1_000) ** 2) + math.exp(-81 / math.log(1_000) ** 2)
    )


def test_the_smaller_exponent_decides():
    # theorem 4.3 prints max, its appendix min: a sum of two exponentials is never below the larger one
    n_arms, pulls, good, eps = 10, 1_000, 5, 0.5
    assert math.exp(-max(good, eps**2) * pulls / n_arms) < combined_order("b3", n_arms, pulls, good, eps)
    assert math.exp(-min(good, eps**2) * pulls / n_arms) <= combined_order("b3", n_arms, pulls, good, eps)


@pytest.mark.parametrize("instance", [equal(40), poly(40), Instance("one", [1.0, *[0.0] * 39])], ids=lambda i: i.name)
@pytest.mark.parametrize("budget", [20, 200])
def test_explicit_bounds_against_simulation(instance, budget):
    eps, sigma = 0.5, 0.004
    good = good_arms(instance.means, eps / 2)
    policy = BoxThirding()
    for rule, bound in (
        (Uniform(), uniform_bound(40, budget, good, eps, sigma=0.05)),
        (policy, box_thirding_bound(policy, 40, budget, good, eps, sigma=sigma)),
    ):
        model = Gaussian(0.05 if rule != policy else sigma)
        run = simulate(instance, model, rule, budget=budget, replicates=200, seed=5, compiled=False)
        wrong = float(np.mean(run.regret[:, -1] > eps))
        noise = 3 * math.sqrt(max(bound * (1 - bound), 0) / 200)  # three standard errors where the bound is nearly met
        assert wrong <= bound + noise
        if budget == 200 and rule != policy:
            assert bound < 0.01


@pytest.mark.parametrize(("budget", "sigma"), [(300, 0.01), (3_000, 0.02)])
def test_the_bound_on_brackets_against_simulation(budget, sigma):
    instance, eps = equal(12), 0.9
    good = good_arms(instance.means, eps / 2)
    bound = bracketing_bound(12, budget, good, eps, sigma=sigma)
    rule = BracketingSequentialHalving()
    run = simulate(instance, Gaussian(sigma), rule, budget=budget, replicates=60, seed=6, compiled=False)
    assert np.mean(run.regret[:, -1] > eps) <= bound
    assert bound < 1


def test_the_bound_on_brackets_by_hand():
    # Two arms, 31 pulls: the last finished run of the one bracket is a round of 8 pulls each. With ε/4 = 0.2, theorem
    # 4.10 gives 3 exp(-0.2² · 8 / 8σ²) inside, and two means off by more than 0.1 have 2 · 2 exp(-8 · 0.1² / 2σ²).
    assert bracketing_bound(2, 31, 1, 0.8, sigma=0.05) == pytest.approx(7 * math.exp(-16))
    # Four arms, 13 pulls: the first bracket, of two, has had a run of 2 pulls each; it misses the best of four half the
    # time.
    assert bracketing_bound(4, 13, 1, 0.8, sigma=0.05) == pytest.approx(0.5 + 7 * math.exp(-4))


def test_without_noise_brackets_err_by_non_inclusion_alone():
    for pulls in (1, 50, 400):
        exact = candidates(BracketingSequentialHalving(), 30, pulls).non_inclusion(3)
        assert bracketing_bound(30, pulls, 3, 0.9, sigma=1e-6) == pytest.approx(exact)


def test_without_noise_box_thirding_returns_its_best_candidate():
    # what its bound rests on: a candidate that never loses a comparison is not left behind
    policy = BoxThirding()
    for seed in range(5):
        means = np.random.default_rng(seed).permutation(300).tolist()
        state, record, told, pulls = policy.new(300, seed, 300), record_for(policy), {}, 0
        while pulls < 400:
            job, arm, times = policy.rule.ask(state)
            record.note(state, pulls)
            policy.rule.tell(state, job, times, means[arm] * times, 0.0)
            told[int(arm)] = True
            pulls += times
            best = max(record.candidate_set(state) or told, key=means.__getitem__)
            assert policy.rule.recommend(state) == best


@pytest.mark.parametrize("good", [1, 3])
def test_without_noise_box_thirding_errs_exactly_as_often_as_it_misses(good):
    # Before and after the base update at 74 pulls; three standard errors, .0027 a comparison, at a fixed seed.
    pulls, replicates = [14, 35, 60, 90, 130], 400
    instance = Instance("steps", np.arange(27)[::-1] / 27)
    run = simulate(
        instance,
        Deterministic(),
        BoxThirding(),
        budget=130,
        checkpoints=pulls,
        replicates=replicates,
        seed=3,
        compiled=False,
    )
    wrong = np.mean(run.regret > (good - 0.5) / 27, axis=0)
    for found, share in zip(candidates_at(BoxThirding(), 27, pulls), wrong, strict=True):
        chance = found.non_inclusion(good)
        assert abs(share - chance) <= 3 * math.sqrt(chance * (1 - chance) / replicates)


def test_box_thirding_is_left_with_what_level_0_confuses():
    small, large = (box_thirding_bound(BoxThirding(), 500, pulls, 100, 0.5, sigma=0.01) for pulls in (2_000, 20_000))
    assert small == pytest.approx(large, rel=1e-6)  # non-inclusion is gone; the rest does not fall with T
    more = box_thirding_bound(BoxThirding(effort=30.0), 500, 20_000, 100, 0.5, sigma=0.01)
    assert more < large


def test_explicit_bounds_are_never_below_non_inclusion():
    for pulls in (1, 30, 100):
        assert box_thirding_bound(BoxThirding(), 50, pulls, 2, 0.9, sigma=1e-4) >= candidates(
            BoxThirding(), 50, pulls
        ).non_inclusion(2)
        assert uniform_bound(50, pulls, 2, 0.9, sigma=1e-4) >= candidates(Uniform(), 50, pulls).non_inclusion(2)


def test_more_pulls_help():
    for bounds in (
        [combined_order(name, 100, pulls, 2, 0.5) for pulls in range(3_000, 10_000, 500)]
        for name in ("us", "bsh", "b3")
    ):
        assert bounds == sorted(bounds, reverse=True)
    bounds = [box_thirding_bound(BoxThirding(), 100, pulls, 2, 0.5, sigma=0.003) for pulls in range(1, 600, 50)]
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: combined_order("sh", 10, 100, 1, 0.5), "policy is 'sh', but must be one of us, bsh, b3"),
        (lambda: combined_order("b3", 10, 100, 11, 0.5), "good is 11, but there are only 10 arms"),
        (lambda: combined_order("b3", 10, 100, 1, 1.5), r"eps is 1.5, but must lie in \(0, 1\)"),
        (lambda: uniform_bound(10, 0, 1, 0.5), "budget is 0, but must be at least 1"),
        (lambda: uniform_bound(10, 10, 0, 0.5), "good is 0, but must be at least 1"),
        (lambda: bracketing_bound(10, 1, 1, 0.5, sigma=0), "sigma is 0, but must be a finite number above 0"),
        (
            lambda: box_thirding_bound(BoxThirding(reuse="pool"), 10, 10, 1, 0.5),
            "the statement needs b3 with reuse none",
        ),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
