"""Run every benchmark, or those whose name contains a word given: one JSON object a line, and an error for each limit.

A row breaks its `limit` (or `at most`) when what it measured is larger, its `at least` when it is smaller. An `aim` is
what we would like to see. Everything is run before the limits that were broken are named.
"""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import clusters, durable, importing, live, page, serving, simulation, views

Row = dict[str, Any]

BENCHMARKS: dict[str, Callable[[], Iterator[Row]]] = {
    "import": importing.measure,
    "simulate": simulation.measure,
    "live": live.measure,
    "durable": durable.measure,
    "views": views.measure,
    "serving": serving.measure,
    "page": page.measure,
    "clusters": clusters.measure,
}

MEASURES = ("ratio", "milliseconds", "microseconds", "megabytes")
"""What a limit may be about; the first of them that a row has."""


def main(words: list[str]) -> str | None:
    """Run the benchmarks that were asked for; return what is wrong, or None."""
    chosen = [name for name in BENCHMARKS if not words or any(word in name for word in words)]
    if not chosen:
        return f"no benchmark is named like {' or '.join(words)}: there are {', '.join(BENCHMARKS)}"
    broken = []
    for name in chosen:
        for row in BENCHMARKS[name]():
            print(json.dumps({"benchmark": name, **row}), flush=True)
            broken += [f"{name}: {sentence}" for sentence in broken_limits(row)]
    return "\n".join(broken) or None


def broken_limits(row: Row) -> Iterator[str]:
    """Yield a sentence for each limit that a row breaks."""
    measure = next((name for name in MEASURES if name in row), None)
    for bound in ("limit", "at most", "at least"):
        limit = row.get(bound)
        if limit is None:
            continue
        if measure is None:
            raise KeyError(f"{row} has a limit, but none of {', '.join(MEASURES)} that it could be about")
        beyond = row[measure] < limit if bound == "at least" else row[measure] > limit
        if beyond:
            rule = "at least" if bound == "at least" else "at most"
            yield f"{row['what']}: {measure} is {row[measure]}, but must be {rule} {limit}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
