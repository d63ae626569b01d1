"""Live ask and tell, beside the libraries that people would reach for."""

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from boxthirding import BoxThirding, Session

PULLS = 10_000


def measure() -> Iterator[dict[str, Any]]:
    """Time one pull, ask and tell, at few and at very many arms; then the others."""
    few, many = (min(_ours(n_arms) for _ in range(5)) for n_arms in (1_000, 10_000_000))
    yield {"what": "ask + tell, 1,000 arms", "microseconds": round(few, 2), "at most": 25}
    yield {"what": "ask + tell, 10,000,000 arms", "microseconds": round(many, 2), "at most": 25}
    default = min(_ours(1_000, None) for _ in range(5))
    yield {"what": "ask + tell, the default policy, 1,000 arms", "ratio to b3": round(default / few, 2), "at most": 6}
    yield {"what": "10,000,000 arms to 1,000", "ratio": round(many / few, 2), "at most": 1.5}
    tracemalloc.start()
    session = _run(10_000_000)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    yield {
        "what": f"memory of a session on 10,000,000 arms after {session.pulls:,} pulls",
        "megabytes": round(held / 1e6, 2),
        "at most": 50,
    }
    for name, other in {"Optuna, in memory": _optuna, "MABWiser, 100,000 arms": _mabwiser}.items():
        theirs = other()
        if theirs is not None:
            ratio = round(theirs / few, 1)
            yield {"what": f"ask + tell, {name}", "microseconds": round(theirs, 1), "ratio to ours": ratio}


def _ours(n_arms: int, policy: str | None = "b3") -> float:
    rewards = np.random.default_rng(0).standard_normal(PULLS).tolist()
    session = Session(n_arms, policy, seed=1)
    return _timed(PULLS, lambda k: session.tell(session.ask()[0], rewards[k]))


def _run(n_arms: int) -> Session:
    rewards = np.random.default_rng(0).standard_normal(PULLS).tolist()
    session = Session(n_arms, BoxThirding(), seed=1)
    for reward in rewards:
        session.tell(session.ask()[0], reward)
    return session


def _optuna() -> float | None:
    try:
        import optuna  # noqa: PLC0415  # an optional rival
    except ImportError:
        return None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))

    def pull(_: int) -> None:
        trial = study.ask()
        trial.suggest_int("arm", 0, 99_999)
        study.tell(trial, 0.5)

    return _timed(2_000, pull)


def _mabwiser() -> float | None:
    try:
        from mabwiser.mab import MAB, LearningPolicy  # noqa: PLC0415  # an optional rival
    except ImportError:
        return None
    arms = list(range(100_000))
    bandit = MAB(arms, LearningPolicy.UCB1(alpha=1.0))
    bandit.fit([0], [0.5])
    return _timed(20, lambda _: bandit.partial_fit([bandit.predict()], [0.5]))


def _timed(times: int, pull: Callable[[int], object]) -> float:
    """Return microseconds a pull."""
    gc.collect()
    began = time.perf_counter()
    for k in range(times):
        pull(k)
    return 1e6 * (time.perf_counter() - began) / times
