"""Run every benchmark, or those whose name contains a word given, and print one JSON object a line."""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import importing, live, simulation

BENCHMARKS: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "import": importing.measure,
    "simulate": simulation.measure,
    "live": live.measure,
}


def main(words: list[str]) -> None:
    """Run the benchmarks that were asked for."""
    for name, measure in BENCHMARKS.items():
        if not words or any(word in name for word in words):
            for row in measure():
                print(json.dumps({"benchmark": name, **row}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
