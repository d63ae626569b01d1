"""What `import boxthirding` costs beyond NumPy."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

_SCRIPT = """
import time, numpy
began = time.perf_counter()
import boxthirding
print(time.perf_counter() - began)
"""


def measure() -> Iterator[dict[str, Any]]:
    """Import in fresh processes, with the bytecode that an installed package has; the shortest counts."""
    command = [sys.executable, "-c", _SCRIPT]
    with tempfile.TemporaryDirectory() as bytecode:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}  # empty: write it
        runs = [
            subprocess.run(command, check=True, capture_output=True, text=True, env=environment)  # noqa: S603  # our own
            for _ in range(8)
        ]
    times = [float(run.stdout) for run in runs]
    yield {"what": "import beyond NumPy", "milliseconds": round(1000 * min(times), 1), "at most": 100}
