"""Candidate sets (section 4.1): the arms that could be returned if the rewards were different.

The policy's own rule is run with all rewards 0, because the candidates do not depend on them. The set is a uniformly
random one of its size or, for brackets, the union of several that are drawn independently.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput
from boxthirding.lab.theory._checks import several
from boxthirding.policies.box_thirding import BoxThirding
from boxthirding.policies.boxes import WIDTH, highest
from boxthirding.policies.lineage import BoxRecord
from boxthirding.policies.rivals.brackets import OPENED
from boxthirding.policies.rivals.bsh import BUDGET, KEPT, BracketingSequentialHalving
from boxthirding.policies.rivals.sequential_halving import SequentialHalving
from boxthirding.policies.rivals.uniform import Uniform
from boxthirding.policies.roster import SEEN
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
    introduced: int  # how many arms the rule has asked for
    level: int | None  # l, the level of the answer, if the rule has levels

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
    if type(policy) not in (BoxThirding, BracketingSequentialHalving, SequentialHalving, Uniform):
        raise InvalidInput(
            f"the policy is {policy!r}, but a candidate set is defined only for b3, us, sh and bsh: which arms another "
            "policy could return depends on the rewards"
        )
    run = _Run(policy, n_arms)
    found: dict[int, CandidateSet] = {}
    for stop in sorted(set(times)):
        run.go_on(stop)
        found[stop] = CandidateSet(stop, n_arms, *run.standing())
    return [found[pulls] for pulls in times]


def finished_runs(n_arms: int, pulls: int) -> list[tuple[int, int]]:
    """Return size and budget of the last finished run of each bracket of `bsh` that has one (proof of proposition 4.8).

    >>> finished_runs(100, 50)
    [(2, 8), (4, 8)]
    """
    run = _Run(BracketingSequentialHalving(), whole("the number of arms", n_arms, least=1))
    run.go_on(whole("pulls", pulls, least=0))
    return [(size, int(run.live.arrays.run[b, BUDGET]) // 2) for b, size in run.finished_brackets()]  # it doubles


class _Run:
    """A run of a policy with all rewards 0, and the arms that are candidates in it."""

    def __init__(self, policy: Policy, n_arms: int) -> None:
        self.live = LiveState(policy, n_arms, seed=0, capacity=min(n_arms, _CAPACITY))
        self._record = BoxRecord()  # of who met whom, as sessions of b3 keep it
        self._pulls = 0
        self._job, self._arm, self._left = NONE, NONE, 0  # the job that is open, its arm and its pulls to come
        self._introduced = 0
        self._done: set[int] = set()  # arms with a job that has ended

    def go_on(self, stop: int) -> None:
        """Continue until `stop` pulls are told, possibly inside a job, or until the rule has ended."""
        while self._pulls < stop:
            if self._left == 0:
                job, arm, times = self.live.ask()
                if job == WAIT:
                    break
                self._job, self._arm, self._left = job, arm, times
                self._introduced = max(self._introduced, arm + 1)
                if isinstance(self.live.policy, BoxThirding):
                    self._record.note(self.live.arrays, 0)
            times = min(self._left, stop - self._pulls)
            self.live.tell(self._job, times, 0.0, 0.0)
            self._pulls += times
            self._left -= times
            if self._left == 0:
                self._done.add(self._arm)

    def standing(self) -> tuple[tuple[int, ...], int, int | None]:
        """Return the sizes of the sets whose union is C, how many arms have been introduced, and the level L."""
        state = self.live.arrays
        if isinstance(self.live.policy, BoxThirding):
            found, box = self._record.candidates(state), int(highest(state))
            size = int(self._job != NONE) if found is None else found  # 1 before Box(L, 0) has an arm
            return (size,), int(state.scalars[SEEN]), None if box == NONE else box // WIDTH
        if isinstance(self.live.policy, BracketingSequentialHalving):  # before a bracket has finished, the first arm
            sizes = tuple(size for _, size in self.finished_brackets()) or (min(1, len(self._done)),)
            return sizes, self._introduced, None
        return (len(self._done),), self._introduced, None

    def finished_brackets(self) -> list[tuple[int, int]]:
        """Return the brackets of `bsh` that have finished a run, each with its size."""
        state = self.live.arrays
        opened, start = range(int(state.scalars[OPENED])), state.brackets.start
        return [(b, int(start[b + 1] - start[b])) for b in opened if state.run[b, KEPT] != NONE]
