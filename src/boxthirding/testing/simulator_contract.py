"""The contract between a policy and the simulator: one rule, the same live, interpreted and compiled."""

import unittest
from functools import partial
from itertools import cycle

import numpy as np

from boxthirding import _compile, lab
from boxthirding.lab.chunks import play_out
from boxthirding.lab.driver import POSITIONS, loop_of
from boxthirding.rng import REWARDS, spawn
from boxthirding.session import Session
from boxthirding.testing.scenarios import STEP, Scenario, expect, suited
from boxthirding.types import Ints, Policy

_OUTCOMES = 3  # values that an arm of a table can give
_FALSE_ALARM = 5.0  # standard errors: six in ten million comparisons are further apart by chance


def dyadic_table(n_arms: int, seed: int) -> lab.Table:
    """Return a reward model whose rewards are multiples of 2**-10."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, rng.choice([2, 1024]), (n_arms, _OUTCOMES)) * np.float64(STEP)
    chances = rng.random((n_arms, _OUTCOMES)) + 0.1
    return lab.Table(values, chances / chances.sum(axis=1, keepdims=True))


def check_live(policy: Policy, scenario: Scenario) -> None:
    """Check that a session with one worker makes the simulator's decisions, pull by pull."""
    budget = scenario.budget
    model = dyadic_table(scenario.n_arms, scenario.seed)
    source = model.source(model.instance())
    pulls, seed = range(1, budget + 1), scenario.seed
    arms = model.instance()
    run = lab.simulate(arms, model, policy, budget=budget, checkpoints=pulls, seed=seed, threads=1, compiled=False)
    jobs, recommended = _recorded(policy, source, budget, seed)
    expect(np.array_equal(recommended, run.recommended), "a copy of the driver that only takes notes decides otherwise")
    simulated = [arm for arm, times in jobs for _ in range(times)]

    session = Session(scenario.n_arms, policy, seed=seed)
    stream = spawn(seed, 0, 1)[0, REWARDS]
    live: list[int] = []
    for t in range(budget):
        for ticket in session.ask():
            arm = int(ticket.label)
            live.append(arm)
            session.tell(ticket, lab.draw(source, arm, 1, False, stream)[0])  # noqa: FBT003  # a kernel's
        best = session.recommend()
        expect(best is not None, f"after {t + 1} pulls a session has no answer")
        answer = run.recommended[0, t]
        expect(best is not None and best.label == answer, f"after {t + 1} pulls live and simulated answers differ")
    expect(live[: len(simulated)] == simulated, f"live {live} and simulated {simulated} pulls differ")
    expect(len(set(live[len(simulated) :])) <= 1, "beyond the last whole job, a session pulls more than one arm")


def _recorded(policy: Policy, source: lab.Source, budget: int, seed: int) -> tuple[list[tuple[int, int]], Ints]:
    """Run the simulator's loop, interpreted; return its jobs and what it recommended after every pull, [1, T]."""
    jobs: list[tuple[int, int]] = []

    def noted(source: lab.Source, arm: int, times: int, with_squares: bool, stream: Ints) -> tuple[float, float]:  # noqa: FBT001
        jobs.append((int(arm), int(times)))
        return lab.draw(source, arm, times, with_squares, stream)

    drive = _compile.bound(loop_of(policy.rule, compiled=False, parallel=False), draw=noted)
    n_arms = len(source.means)
    recommended = np.zeros((1, budget), np.int64)
    order, at = np.zeros(n_arms, np.int64), np.zeros(POSITIONS, np.int64)
    state = policy.new(n_arms, seed, 1)
    checkpoints = np.arange(1, budget + 1)
    play_out(
        drive, policy, state, source, policy.squares, spawn(seed, 0, 1), order, budget, checkpoints, at, recommended
    )
    return jobs, recommended


def check_compiled(policy: Policy) -> None:
    """Check that compiled runs are interpreted runs to the last bit, under every reward model, alone and in a crowd."""
    if not _compile.available():
        raise unittest.SkipTest("numba is not installed")
    n_arms, budget = 40, 400
    policy = suited(policy, budget)
    plain = lab.Instance("forty", np.random.default_rng(1).random(n_arms))
    table = dyadic_table(n_arms, 2)
    noisy: list[lab.RewardModel] = [lab.Gaussian(0.5), lab.Gaussian(0.5)]
    models = [*noisy, lab.Deterministic(), lab.Bernoulli(), lab.Kumaraswamy(), table]
    for model, workers in zip(models, cycle((1, 7)), strict=False):
        arms = table.instance() if model is table else plain
        run = partial(lab.simulate, arms, model, policy, budget=budget, checkpoints=range(1, budget, 3), replicates=3)
        one, other = (run(seed=4, workers=workers, threads=1, compiled=compiled) for compiled in (False, True))
        same = np.array_equal(one.recommended, other.recommended) and np.array_equal(one.idle, other.idle)
        expect(same, f"compiled and interpreted runs differ with {model.spec} rewards and {workers} workers")


def check_order(policy: Policy) -> None:
    """Check that the order in which arms are given does not matter: best first, worst first, shuffled.

    The bound is five standard errors of a difference, so a sound policy fails one time in half a million.
    """
    n_arms, budget = 48, 150
    policy = suited(policy, budget)
    means = np.linspace(0.9, 0.1, n_arms)
    shuffled = np.random.default_rng(3).permutation(means)
    replicates = 2_000 if _compile.available() else 200
    regrets = []
    for seed, given in enumerate((means, means[::-1], shuffled)):
        arms = lab.Instance("order", given)
        run = lab.simulate(arms, lab.Bernoulli(), policy, budget=budget, replicates=replicates, seed=seed)
        regrets.append(run.regret[:, -1])
    for name, regret in zip(("worst first", "shuffled"), regrets[1:], strict=True):
        error = np.sqrt((regret.var() + regrets[0].var()) / replicates) + 1e-12
        distance = abs(regret.mean() - regrets[0].mean()) / error
        expect(
            distance <= _FALSE_ALARM, f"arms {name} and best first differ by {distance:.1f} standard errors in regret"
        )
