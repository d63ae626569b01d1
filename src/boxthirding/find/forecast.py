"""What a policy will do with a budget, said before the start: rehearsed on noise, and never in the way of a pull."""

import math
import threading
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from boxthirding._text import counted, written
from boxthirding.find.budget import Limits
from boxthirding.policies.rule_runner import LiveState
from boxthirding.types import NONE, Policy

AT_ONCE: Final = 500
"""Pulls that are rehearsed before the start, in some milliseconds; more are rehearsed beside the run."""

_MOST = 20_000  # pulls: a rehearsal of more would take seconds
_PULLS_A_WORKER = 100  # advise at most T/100 workers


class Forecast(NamedTuple):
    """What a policy does with a budget."""

    tried: int
    """Arms that are pulled at all."""
    answer: int
    """Pulls of the arm that is recommended in the end."""
    spent: int
    """Pulls until the policy has no more to ask."""


def forecast(policy: Policy, n_arms: int | None, budget: int) -> Forecast:
    """Rehearse a policy on pure noise: what Box Thirding pulls, and when, does not depend on the rewards."""
    live = LiveState(policy, budget if n_arms is None else n_arms, seed=0)
    noise = np.random.default_rng(0)
    pulls: Counter[int] = Counter()
    left = budget
    while left:
        job, arm, times = live.ask()
        if job < 0:
            break
        times = min(int(times), left)
        live.tell(job, times, float(noise.normal(0, math.sqrt(times))), float(times))
        pulls[int(arm)] += times
        left -= times
    best = live.recommend()
    return Forecast(len(pulls), 0 if best == NONE else pulls[best], budget - left)


def plan(limits: Limits, n_arms: int | None, workers: int, policy: Policy) -> list[str]:
    """Return what is known at once about a run, in a few plain sentences."""
    arms = "arms from an iterator" if n_arms is None else counted(n_arms, "arm")
    budget = {
        "pulls": counted(limits.pulls or 0, "pull"),
        "cost": f"a total cost of {written(limits.limit)}",
        "seconds": "",
    }
    parts = [arms, budget[limits.unit], f"at most {limits.seconds:g} s" if limits.seconds else ""]
    lines = [", ".join(filter(None, [*parts, counted(workers, "worker")])) + "."]
    planned = getattr(policy, "budget", None)
    if planned is not None and limits.pulls is not None and planned > limits.pulls:
        lines.append(f"The policy plans for {counted(planned, 'pull')}, and will be cut short.")
    most = max(1, (limits.pulls or 0) // _PULLS_A_WORKER)
    if limits.pulls is not None and workers > most:
        lines.append(
            f"For {counted(limits.pulls, 'pull')} at most {counted(most, 'worker')} would be better: "
            "with more, decisions are taken before results are in."
        )
    return lines


def expect(limits: Limits, n_arms: int | None, policy: Policy, say: Callable[..., None]) -> None:
    """Say what a policy will do with a budget of pulls: at once if that is quick, else as soon as it is known."""
    if limits.pulls is None or limits.pulls > _MOST:
        return
    if limits.pulls <= AT_ONCE:
        say(*_expected(policy, n_arms, limits.pulls))
        return

    def rehearse() -> None:
        say(*_expected(policy, n_arms, limits.pulls or 0))

    threading.Thread(target=rehearse, name="forecast", daemon=True).start()


def _expected(policy: Policy, n_arms: int | None, pulls: int) -> list[str]:
    expected = forecast(policy, n_arms, pulls)
    tried, times = counted(expected.tried, "arm"), counted(expected.answer, "time")
    lines = [f"About {tried} will be tried, the answer about {times}."]
    if policy.squares:  # it learns the noise, and goes by it
        most = min(pulls, n_arms or pulls)
        depends = f" if scores are mostly noise, up to {counted(most, 'arm')} if they have none"
        lines = [f"About {tried} will be tried{depends if expected.tried < most else ''}."]
    if expected.spent < pulls:
        lines.append(f"Policy {policy.name} ends after {counted(expected.spent, 'pull')}.")
    return lines
