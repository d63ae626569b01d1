"""What tests of saved results share: comparing runs, and starting the real program."""

import subprocess
import sys

import numpy as np

START = "from boxthirding.cli import main; main()"
WITHOUT_NUMBA = "import sys; sys.modules['numba'] = None; " + START


def same(one, other):
    """Tell whether two runs are equal, timings aside."""
    arrays = ("checkpoints", "recommended", "regret", "idle", "numbers")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)


def all_same(some, others):
    return len(some) == len(others) and all(same(one, other) for one, other in zip(some, others, strict=True))


def same_files(one, other):
    """Tell whether two lists that `load` returned are equal, timings aside."""
    described = [description for description, _ in one] == [description for description, _ in other]
    return described and all_same([run for _, run in one], [run for _, run in other])


def program(*arguments, start=START):
    """Start `boxthirding`."""
    command = [sys.executable, "-c", start, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(*arguments, start=START):
    """Run `boxthirding` to its end; return what it printed."""
    with program(*arguments, start=start) as process:
        output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output
