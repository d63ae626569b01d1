"""What `import boxthirding` costs beyond NumPy."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

_SCRIPT = """
import time, numpy
began = time.perf_counter()
import boxthirding
print(time.perf_counter() - began)
"""


def measure() -> Iterator[dict[str, Any]]:
    """Import in fresh processes; the shortest counts."""
    command = [sys.executable, "-c", _SCRIPT]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(7)]  # noqa: S603  # our own
    times = [float(run.stdout) for run in runs]
    yield {"what": "import beyond NumPy", "milliseconds": round(1000 * min(times), 1), "at most": 150}
