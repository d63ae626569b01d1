"""What a simulation needs in memory, known before it begins."""

from typing import Any, Final

from boxthirding.lab.chunks import Task
from boxthirding.lab.memory_check import refuse_too_large

_NUMBER: Final = 8  # bytes
_COPIES: Final = 4  # of each answer: as it came in, in order, and its regret
_SAMPLE: Final = 1000  # arms of a state that is made to see what one takes


def check_room(task: Task, replicates: int, threads: int) -> None:
    """Refuse a simulation that cannot fit into memory."""
    answers = replicates * (_COPIES * len(task.checkpoints) + 2) * _NUMBER
    refuse_too_large(f"the number of replicates is {replicates:,}, which", answers, "take fewer")
    arms = len(task.source.means)
    tables = sum(table.nbytes for table in (task.source.means, task.source.values, task.source.cumulative))
    lane = _state(task, arms) + tables + _NUMBER * arms  # and the random order
    refuse_too_large(
        f"a run of {task.policy} with {arms:,} arms in {threads} threads",
        answers + lane * min(threads, replicates),
        "take fewer arms, a smaller budget or fewer threads",
    )


def _state(task: Task, arms: int) -> float:
    """Return how many bytes a state takes in the end: a pull touches one arm at most."""
    small, larger = (_bytes(task.policy.new(arms, task.seed, room)) for room in (1, min(arms, _SAMPLE)))
    return small + (larger - small) * min(arms, task.budget) / min(arms, _SAMPLE)


def _bytes(state: Any) -> int:
    return sum(array.nbytes for array in state)
