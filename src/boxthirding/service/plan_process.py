"""A plan in a process of its own: what is asked comes in as JSON, the plan goes out as JSON.

It yields to all else on the machine, so that ratings do not wait for it.
"""

import json
import os
import sys
import threading
import time
from dataclasses import asdict
from typing import Any

from boxthirding.errors import BoxThirdingError
from boxthirding.planning import plan

_YIELDING = 10  # of 19


def planned(asked: dict[str, Any]) -> dict[str, Any]:
    """Return a plan as plain values, or what is wrong with what is asked."""
    try:
        found = plan(**asked)
    except BoxThirdingError as error:
        return {"problem": error.problem, "advice": error.advice}
    rows = [{**row.as_dict(), "percentile_9_of_10": row.percentile_9_of_10, "ratio": row.ratio} for row in found.rows]
    granted = [one.as_dict() | {"ratio": one.row.ratio} for one in found.granted]
    return {
        "arms": found.arms,
        "known": asdict(found.known),
        "rows": rows,
        "granted": granted,
        "notes": list(found.notes),
    }


def _end_with(parent: int) -> None:
    """End when the server has, however it did."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_YIELDING)
    json.dump(planned(json.load(sys.stdin)), sys.stdout)
