"""Refusing a simulation that cannot fit into memory, before it begins."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from boxthirding.errors import InvalidInput
from boxthirding.policies.base_policy import arrays_of

if TYPE_CHECKING:
    from boxthirding.lab.chunks import Experiment

_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container
_NUMBER: Final = 8  # bytes
_COPIES: Final = 4  # of each answer: as it arrived, in order, and its regret
_SAMPLE: Final = 1000  # arms of a state that is made to measure its size


def available() -> float:
    """Return how many bytes a process may have: of the machine, or of the container it runs in."""
    most = float("inf")
    with suppress(AttributeError, OSError, ValueError):  # not every system says
        most = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    for limit in _LIMITS:
        with suppress(OSError, ValueError):  # the limit may be the word max
            most = min(most, float(Path(limit).read_text(encoding="ascii")))
    return most


def refuse_too_large(what: str, size: float, way_out: str) -> None:
    """Raise if something needs more bytes than there are."""
    there = available()
    if size > there:
        raise InvalidInput(
            f"{what} would need about {size / 2**30:,.0f} GiB of memory, but there are {there / 2**30:,.0f}: {way_out}"
        )


def check_memory(experiment: "Experiment", replicates: int, threads: int) -> None:
    """Raise if the replicates of an experiment cannot fit into memory."""
    answers = replicates * (_COPIES * len(experiment.checkpoints) + 2) * _NUMBER
    refuse_too_large(f"the number of replicates is {replicates:,}, which", answers, "take fewer")
    source, arms = experiment.source, len(experiment.source.means)
    tables = source.means.nbytes + source.values.nbytes + source.cumulative.nbytes
    each = _state_size(experiment, arms) + tables + _NUMBER * arms  # the last is the random order
    refuse_too_large(
        f"a run of {experiment.policy} with {arms:,} arms in {threads} threads",
        answers + each * min(threads, replicates),
        "take fewer arms, a smaller budget or fewer threads",
    )


def _state_size(experiment: "Experiment", arms: int) -> float:
    """Return how many bytes the final state takes, as a pull touches at most one arm."""
    sample = min(arms, _SAMPLE)
    states = (experiment.policy.new(arms, experiment.seed, room) for room in (1, sample))
    small, larger = (sum(array.nbytes for array in arrays_of(state).values()) for state in states)
    return float(small + (larger - small) * min(arms, experiment.budget) / sample)
