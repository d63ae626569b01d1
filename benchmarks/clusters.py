"""A Dask cluster: how much faster two workers are than one, and what our decisions add to a pull."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from boxthirding import find_best

PAUSE = 0.05
"""Seconds that an evaluation takes."""


def measure() -> Iterator[dict[str, Any]]:
    """Yield evaluations a second with two workers beside one, and the milliseconds of a decision."""
    one, two = (_rate_of_cluster(workers) for workers in (1, 2))
    yield {
        "what": "evaluations of 50 ms on Dask, 2 workers beside 1",
        "ratio": round(two / one, 3),
        "at least": 1.7,
        "per_second": [round(one, 1), round(two, 1)],
    }
    decision = 1e3 / max(_rate(float, 4_000, None) for _ in range(5))
    yield {"what": "a pull of find_best without its evaluation", "milliseconds": round(decision, 3), "at most": 1}


def _rate_of_cluster(workers: int) -> float:
    import distributed  # noqa: PLC0415  # only for this

    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        find_best(9, _pause, budget=20, executor=client, progress=False)
        return max(_rate(_pause, 40 * workers, client) for _ in range(5))


def _rate(evaluate: Callable[[Any], float], pulls: int, executor: Any) -> float:
    began = time.perf_counter()
    find_best(1_000, evaluate, budget=pulls, executor=executor, progress=False)
    return pulls / (time.perf_counter() - began)


def _pause(arm: int) -> float:
    time.sleep(PAUSE)
    return float(arm)


if __name__ == "__main__":
    for row in measure():
        print(row)
