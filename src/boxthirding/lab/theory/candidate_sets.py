"""Candidate sets (section 4.1): the arms that could be returned if the rewards were different.

The policy's own rule is run with all rewards 0, because the candidates do not depend on them. The set is a uniformly
random one of its size or, for brackets, the union of several that are drawn independently.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput
from boxthirding.lab.theory._checks import several
from boxthirding.policies.box_thirding import BoxThirding
from boxthirding.policies.boxes import SEEN, WIDTH, highest
from boxthirding.policies.lineage import BoxRecord
from boxthirding.policies.rivals.brackets import OPENED
from boxthirding.policies.rivals.bsh import BUDGET, KEPT, BracketingSequentialHalving
from boxthirding.policies.rivals.sequential_halving import SequentialHalving
from boxthirding.policies.rivals.uniform import Uniform
from boxthirding.policies.rule_runner import LiveState
from boxthirding.screening import non_inclusion
from boxthirding.types import NONE, WAIT, Policy

_CAPACITY = 1024  # arms; a state grows beyond it if needed


@dataclass(frozen=True)
class CandidateSet:
    """The candidate set of a policy: a union of independent, uniformly random sets of arms."""

    pulls: int
    n_arms: int
    sizes: tuple[int, ...]
    """The size of each of these sets: one set of c₀ arms, or one for each bracket that has finished a run."""
    introduced: int
    """How many arms the rule has asked for."""
    level: int | None
    """L, the level of the answer, where the rule has levels."""

    @property
    def size(self) -> float:
        """Return c₀, or its expectation where several sets may overlap.

        >>> CandidateSet(40, 10, (5, 5), 9, None).size
        7.5
        """
        if len(self.sizes) == 1:
            return self.sizes[0]
        return self.n_arms * (1 - math.prod(1 - size / self.n_arms for size in self.sizes))

    def non_inclusion(self, good: int) -> float:
        """Return the chance, exact, that none of the good arms is a candidate (theorem 4.7)."""
        return math.prod((non_inclusion(self.n_arms, good, size) for size in self.sizes), start=1.0)


def candidates(policy: Policy, n_arms: int, pulls: int) -> CandidateSet:
    """Return the candidate set (definition 4.1) of a policy after a number of pulls.

    For `us` and `sh` it is the arms with a result. For `b3` it follows from the meetings: a new slot holds its arm, an
    ARRANGE gives the union of three sets to all three, and C is the union over Box(L, 0). When arms are introduced
    again after a base update, any order of those that wait is possible, so each gets the union of all that might take
    its place. For `bsh` it is the arms of the brackets that have finished a run; before one has, the first arm.

    The paper says that c₀ is a number for every algorithm. For `bsh` it is not, because brackets may share arms: `size`
    is its expectation there.

    >>> candidates(BoxThirding(), 5_513, 1_000).size
    189
    """
    return candidates_at(policy, n_arms, [pulls])[0]


def candidates_at(policy: Policy, n_arms: int, checkpoints: Iterable[int]) -> list[CandidateSet]:
    """Return the candidate sets (definition 4.1) at several pull counts, from one run.

    >>> [found.size for found in candidates_at(BoxThirding(), 5_513, [6, 10, 20, 100])]
    [3, 6, 9, 33]
    """
    n_arms = whole("the number of arms", n_arms, least=1)
    times = [whole("a checkpoint", pulls, least=0) for pulls in several("checkpoints", checkpoints)]
    tracker = _tracker(policy)()
    live = LiveState(policy, n_arms, seed=0, capacity=min(n_arms, _CAPACITY))
    found: dict[int, CandidateSet] = {}
    pulls = 0
    for stop in sorted(set(times)):
        pulls = _run(live, tracker, pulls, stop)
        sizes = tracker.sizes(live.arrays)
        introduced, level = tracker.standing(live.arrays)
        found[stop] = CandidateSet(stop, n_arms, sizes, introduced, level)
    return [found[pulls] for pulls in times]


def finished_runs(n_arms: int, pulls: int) -> list[tuple[int, int]]:
    """Return size and budget of the last finished run of each bracket of `bsh` that has one (proof of proposition 4.8).

    >>> finished_runs(100, 50)
    [(2, 8), (4, 8)]
    """
    n_arms = whole("the number of arms", n_arms, least=1)
    live = LiveState(BracketingSequentialHalving(), n_arms, seed=0, capacity=min(n_arms, _CAPACITY))
    _run(live, _BracketTracker(), 0, whole("pulls", pulls, least=0))
    state = live.arrays
    opened = range(int(state.scalars[OPENED]))
    sizes = [int(state.start[b + 1] - state.start[b]) for b in opened]
    return [(sizes[b], int(state.run[b, BUDGET]) // 2) for b in opened if state.run[b, KEPT] != NONE]  # it doubles


def _run(live: LiveState, tracker: "_Tracker", pulls: int, stop: int) -> int:
    """Continue until `stop` pulls are told, possibly inside a job; return fewer if the rule has ended."""
    while pulls < stop:
        if tracker.left == 0:
            job, arm, times = live.ask()
            if job == WAIT:
                break
            tracker.asked(live.arrays, int(job), int(arm), int(times))
        times = min(tracker.left, stop - pulls)
        live.tell(tracker.job, times, 0.0, 0.0)
        pulls += times
        tracker.left -= times
        if tracker.left == 0:
            tracker.ended()
    return pulls


class _Tracker:
    """Tracks the arms whose job has ended: the candidates of rules that compare all of them."""

    def __init__(self) -> None:
        self.job = NONE
        self.left = 0
        self.arm = NONE
        self.seen = 0
        self.done: set[int] = set()

    def asked(self, state: Any, job: int, arm: int, times: int) -> None:  # noqa: ARG002  # a subclass needs the state
        """Record the job that the rule has just asked for."""
        self.job, self.arm, self.left = job, arm, times
        self.seen = max(self.seen, arm + 1)

    def ended(self) -> None:
        """Record that the last pull of the job was told."""
        self.done.add(self.arm)

    def sizes(self, state: Any) -> tuple[int, ...]:  # noqa: ARG002
        """Return the sizes of the sets whose union is C."""
        return (len(self.done),)

    def standing(self, state: Any) -> tuple[int, int | None]:  # noqa: ARG002
        """Return how many arms have been introduced, and the level L."""
        return self.seen, None


class _BracketTracker(_Tracker):
    """Tracks the brackets that have finished a run."""

    def sizes(self, state: Any) -> tuple[int, ...]:
        """Return the sizes of those brackets; before there is one, the first arm alone could be returned."""
        done = [b for b in range(int(state.scalars[OPENED])) if state.run[b, KEPT] != NONE]
        return tuple(int(state.start[b + 1] - state.start[b]) for b in done) or (min(1, len(self.done)),)


class _BoxTracker(_Tracker):
    """Reads the candidates from the records of boxes that sessions keep, too."""

    def __init__(self) -> None:
        super().__init__()
        self._record = BoxRecord()

    def asked(self, state: Any, job: int, arm: int, times: int) -> None:
        """Read what the rule has recorded."""
        super().asked(state, job, arm, times)
        self._record.note(state, 0)

    def sizes(self, state: Any) -> tuple[int, ...]:
        """Return the size of the union over Box(L, 0), or 1 before it has an arm."""
        found = self._record.candidates(state)
        return (int(self.job != NONE) if found is None else found,)

    def standing(self, state: Any) -> tuple[int, int | None]:
        """Return how many arms have been introduced, and the level L."""
        box = int(highest(state))
        return int(state.scalars[SEEN]), None if box == NONE else box // WIDTH


_TRACKERS: dict[type, Callable[[], _Tracker]] = {
    BoxThirding: _BoxTracker,
    BracketingSequentialHalving: _BracketTracker,
    SequentialHalving: _Tracker,
    Uniform: _Tracker,
}


def _tracker(policy: Policy) -> Callable[[], _Tracker]:
    if type(policy) not in _TRACKERS:
        raise InvalidInput(
            f"the policy is {policy!r}, but a candidate set is defined only for b3, us, sh and bsh: which arms another "
            "policy could return depends on the rewards"
        )
    return _TRACKERS[type(policy)]
