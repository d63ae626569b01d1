"""What is said on stderr: the plan before the start, how far it is, what was spent in the end."""

import math
import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from boxthirding.find.budget import Limits, counted
from boxthirding.policies.arrays import interpreted
from boxthirding.session import AskTell
from boxthirding.types import GROW, NONE, Label, Policy

_REHEARSED = 20_000  # pulls: a rehearsal of more would take seconds
_PULLS_A_WORKER = 100  # advise at most T/100 workers
_NAMED = 3  # of those who have tickets
_PAUSE = 0.1  # seconds between two updates of the line


class Forecast(NamedTuple):
    """What a policy does with a budget."""

    met: int
    """Arms that are pulled at all."""
    finalist: int
    """Pulls of the arm that is recommended in the end."""
    spent: int
    """Pulls until the policy has no more to ask."""


def forecast(policy: Policy, n_arms: int | None, budget: int) -> Forecast:
    """Rehearse a policy on pure noise: what Box Thirding pulls, and when, does not depend on the rewards."""
    state = policy.new(budget if n_arms is None else n_arms, seed=0, capacity=64)
    seen = interpreted(state)
    noise = np.random.default_rng(0)
    pulls: Counter[int] = Counter()
    left = budget
    while left:
        job, arm, times = policy.rule.ask(seen)
        if job == GROW:
            state = policy.grow(state)
            seen = interpreted(state)
        elif job < 0:
            break
        else:
            times = min(int(times), left)
            policy.rule.tell(seen, job, times, float(noise.normal(0, math.sqrt(times))), float(times))
            pulls[int(arm)] += times
            left -= times
    best = int(policy.rule.recommend(seen))
    return Forecast(len(pulls), 0 if best == NONE else pulls[best], budget - left)


def plan(limits: Limits, n_arms: int | None, workers: int, policy: Policy | None) -> list[str]:
    """Return the plan of a run in a few plain sentences."""
    arms = "arms from an iterator" if n_arms is None else counted(n_arms, "arm")
    budget = {"pulls": counted(limits.pulls or 0, "pull"), "cost": f"a total cost of {limits.cost}", "seconds": ""}
    parts = [arms, budget[limits.unit], f"at most {limits.seconds:g} s" if limits.seconds else ""]
    sentence = ", ".join(filter(None, [*parts, counted(workers, "worker")]))
    if policy is None or limits.pulls is None or limits.pulls > _REHEARSED:
        lines = [sentence + "."]
    else:
        expected = forecast(policy, n_arms, limits.pulls)
        met, times = counted(expected.met, "arm"), counted(expected.finalist, "time")
        lines = [f"{sentence}: about {met} will be met, the finalist pulled about {times}."]
        if policy.squares:  # it learns the noise, and goes by it
            all_met = counted(min(limits.pulls, n_arms or limits.pulls), "arm")
            lines = [
                f"{sentence}: about {met} will be met if scores are mostly noise, up to {all_met} if they have none."
            ]
        if expected.spent < limits.pulls:
            lines.append(f"Policy {policy.name} ends after {counted(expected.spent, 'pull')}.")
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


class Progress:
    """Lines on stderr, if wanted; on a terminal also one that is kept up to date."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr is not None  # a program without a console has none
        self._live = self._wanted and sys.stderr.isatty()
        self._next = 0.0
        self._last = ""

    def say_once(self, line: str) -> None:
        """Print a line, unless it is empty or was the last of these."""
        if line and line != self._last:
            self.say(line)
        self._last = line

    def say(self, *lines: str) -> None:
        """Print lines."""
        if self._wanted:
            clear = "\r\x1b[K" if self._live else ""
            sys.stderr.write(clear + "".join(f"{line}\n" for line in lines))
            sys.stderr.flush()

    def update(self, pulls: int, limits: Limits, session: AskTell) -> None:
        """Rewrite the line that says how far the run is."""
        if not self._live or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _PAUSE
        of = f"{pulls:,} of " if limits.pulls is not None else ""
        best = session.recommend()
        so_far = "" if best is None else f", best so far: {named(best.label)}, {measured(best.mean, best.pulls)}"
        line = f"{of}{counted(limits.pulls or pulls, 'pull')}{so_far}"[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r{line}\x1b[K")
        sys.stderr.flush()


def measured(mean: float, pulls: int) -> str:
    """Return a mean with what it is made of."""
    return f"mean {mean:.4g} over {counted(pulls, 'pull')}"


def named(label: Label) -> str:
    """Return a label on one line, shortened if it is a whole text."""
    text = repr(label)
    most = 60
    return text if len(text) <= most else f"{text[: most - 2]}…'"


def having(holders: Mapping[str, int]) -> str:
    """Say who has how many tickets.

    >>> having({"plate-1.csv": 3, "the lab": 1})
    'plate-1.csv has 3, the lab has 1'
    """
    shown = [f"{holder} has {tickets:,}" for holder, tickets in list(holders.items())[:_NAMED]]
    rest = list(holders.values())[_NAMED:]
    return ", ".join([*shown, *([f"{counted(len(rest), 'other')} have {sum(rest):,}"] if rest else [])])
