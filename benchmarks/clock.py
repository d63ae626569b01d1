"""The stop-watch of the benchmarks."""

import time
from collections.abc import Callable


def best_of(times: int, *functions: Callable[[], object]) -> list[float]:
    """Return the shortest time of each function, run in turn so that a busy moment hits all of them alike."""
    shortest = [float("inf")] * len(functions)
    for _ in range(times):
        for i, function in enumerate(functions):
            began = time.perf_counter()
            function()
            shortest[i] = min(shortest[i], time.perf_counter() - began)
    return shortest
