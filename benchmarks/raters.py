"""What the ledger is worth, measured on simulated raters of the captions: `python -m benchmarks.raters [WORD …]`.

    exclude   a fifth of 20 raters answers at random and is excluded at 5,000 ratings: regret at once, to that of a run
              that never had them and has as many good ratings
    unseen    200 raters with 25 ratings each, all at once, none sees a caption twice: regret, to that of the same
              raters without that condition
    warm      500 known ratings of 500 random captions and a budget of 1,500: regret, to that of a budget of 2,000
    over      another policy takes a study of 4,000 ratings over: regret 1,230 ratings later, to that of the one that
              went on

Rewards are Bernoulli. Both runs of a replicate see the same captions and the same coins: the reward of the k-th rating
of a caption follows from the seed, the caption and k. `--replicates R` replaces the number that each measurement has.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from boxthirding.lab import captions
from boxthirding.session import Session

MEANS = captions().means
BEST = float(MEANS.max())
RATERS, CARELESS = 20, 4
CROWD, RATINGS = 200, 25


class Coins:
    """Bernoulli rewards: the k-th rating of a caption is the same in every run of a replicate."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._pulls: dict[int, int] = {}

    def rate(self, caption: int) -> float:
        """Return the next rating of a caption."""
        pull = self._pulls.get(caption, 0)
        self._pulls[caption] = pull + 1
        chance = random.Random(f"{self._seed} {caption} {pull}").random()  # noqa: S311  # a simulation
        return float(chance < MEANS[caption])


def regret(session: Session) -> float:
    """Return how far the answer is below the best caption."""
    best = session.recommend()
    return BEST - float(MEANS[best.label]) if best is not None else BEST - float(MEANS.mean())


def exclude(seed: int) -> tuple[float, float]:
    """Return the regret after careless raters are excluded, and that of a run that never had them."""
    order = random.Random(seed)  # noqa: S311
    coins, session = Coins(seed), Session(len(MEANS), seed=seed)
    good = 0
    for turn in range(5_000):
        rater = turn % RATERS
        (ticket,) = session.ask(holder=f"rater {rater}")
        if rater < CARELESS:
            reward = float(order.random() < 0.5)  # noqa: PLR2004  # a fair coin
        else:
            reward = coins.rate(ticket.label)
            good += 1
        session.tell(ticket, reward)
    for rater in range(CARELESS):
        session.exclude(f"rater {rater}")
    coins, other = Coins(seed), Session(len(MEANS), seed=seed)
    for _ in range(good):
        (ticket,) = other.ask()
        other.tell(ticket, coins.rate(ticket.label))
    return regret(session), regret(other)


def unseen(seed: int) -> tuple[float, float]:
    """Return the regret of a crowd whose raters see no caption twice, and that of the same crowd without that."""
    return _crowd(seed, unseen=True), _crowd(seed, unseen=False)


def _crowd(seed: int, *, unseen: bool) -> float:
    order, coins, session = random.Random(seed), Coins(seed), Session(len(MEANS), seed=seed)  # noqa: S311
    seen: set[tuple[int, int]] = set()
    left = dict.fromkeys(range(CROWD), RATINGS)
    held: dict[int, Any] = {}
    while left or held:
        for rater in [rater for rater in left if rater not in held]:
            tickets = session.ask(holder=f"rater {rater}", unseen=unseen)
            if tickets:
                held[rater] = tickets[0]
                if unseen and (rater, tickets[0].label) in seen:
                    raise RuntimeError(f"rater {rater} sees caption {tickets[0].label} twice")
                seen.add((rater, tickets[0].label))
        rater = order.choice(list(held))
        ticket = held.pop(rater)
        session.tell(ticket, coins.rate(ticket.label))
        left[rater] -= 1
        if not left[rater]:
            del left[rater]
    return regret(session)


def warm(seed: int) -> tuple[float, float]:
    """Return the regret of a warm start with 500 known ratings and 1,500 more, and that of 2,000 without."""
    coins = Coins(seed)
    known = random.Random(seed).sample(range(len(MEANS)), 500)  # noqa: S311
    session = Session(len(MEANS), seed=seed, known={caption: coins.rate(caption) for caption in known})
    for _ in range(1_500):
        (ticket,) = session.ask()
        session.tell(ticket, coins.rate(ticket.label))
    coins, other = Coins(seed), Session(len(MEANS), seed=seed)
    for _ in range(2_000):
        (ticket,) = other.ask()
        other.tell(ticket, coins.rate(ticket.label))
    return regret(session), regret(other)


def over(seed: int) -> tuple[float, float]:
    """Return the regret of a run that was taken over by the same policy at 4,000 ratings, and of one that went on."""
    regrets = []
    for takes_over in (True, False):
        coins, session = Coins(seed), Session(len(MEANS), seed=seed)
        for pull in range(5_230):
            if takes_over and pull == 4_000:  # noqa: PLR2004  # as in the docstring
                session.use("chase")
            (ticket,) = session.ask()
            session.tell(ticket, coins.rate(ticket.label))
        regrets.append(regret(session))
    return regrets[0], regrets[1]


@dataclass(frozen=True)
class Measurement:
    """One comparison, how often it is made, and the largest ratio of mean regrets that is promised."""

    compare: Callable[[int], tuple[float, float]]
    replicates: int
    at_most: float


MEASUREMENTS = {
    "exclude": Measurement(exclude, 500, 1.25),
    "unseen": Measurement(unseen, 2_000, 1.20),
    "warm": Measurement(warm, 3_000, 1.10),
    "over": Measurement(over, 500, 1.10),
}


def measured(name: str, replicates: int) -> dict[str, Any]:
    """Return the two mean regrets and their ratio, with its standard error over replicates (delta method)."""
    measurement = MEASUREMENTS[name]
    with ProcessPoolExecutor() as pool:
        pairs = np.array(
            list(_watched(pool.map(measurement.compare, range(replicates), chunksize=4), name, replicates))
        )
    with_it, without = pairs.mean(axis=0)
    ratio = with_it / without
    error = float((pairs[:, 0] - ratio * pairs[:, 1]).std(ddof=1) / without / np.sqrt(replicates))
    return {
        "what": name,
        "replicates": replicates,
        "regret": round(float(with_it), 4),
        "to": round(float(without), 4),
        "ratio": round(float(ratio), 3),
        "standard error": round(error, 3),
        "at most": measurement.at_most,
    }


def _watched(pairs: Iterator[tuple[float, float]], name: str, total: int) -> Iterator[tuple[float, float]]:
    for number, pair in enumerate(pairs, start=1):
        if number % max(1, total // 20) == 0:
            print(f"{name}: {number} of {total}", file=sys.stderr)
        yield pair


def main() -> None:
    """Print one JSON object a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "words", nargs="*", choices=[*MEASUREMENTS, []], help="which measurements; all, if none is named"
    )
    parser.add_argument("--replicates", type=int, help="instead of the number that each has")
    chosen = parser.parse_args()
    for name in chosen.words or MEASUREMENTS:
        replicates = chosen.replicates or MEASUREMENTS[name].replicates
        print(json.dumps(measured(name, replicates)), flush=True)


if __name__ == "__main__":
    main()
