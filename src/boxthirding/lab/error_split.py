"""The causes of a policy's errors (section 4): no good arm was a candidate, or one was and was not returned.

Which *numbers* can be returned after t pulls does not depend on the rewards. For `us`, `sh` and `b3` they are the first
c₀, because arms are introduced in order; for `bsh` they are those of the brackets that have finished a run, which
depend on the random numbers for ties alone. The random order of a replicate says which arms have these numbers. So the
candidates of a finished run can be recomputed, although none were saved.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from boxthirding import _compile
from boxthirding._checks import fraction
from boxthirding._compile import kernel
from boxthirding.errors import InvalidInput
from boxthirding.lab.chunks import play_out
from boxthirding.lab.driver import NUMBERED, POSITIONS, loop_of, number
from boxthirding.lab.instances import Instance
from boxthirding.lab.results import Run
from boxthirding.lab.rewards import Deterministic
from boxthirding.lab.settings import Description, Setting
from boxthirding.lab.theory.candidate_sets import CandidateSet, candidates_at
from boxthirding.policies import BracketingSequentialHalving
from boxthirding.rng import ORDER, spawn
from boxthirding.types import Floats, Ints

Bools = NDArray[np.bool_]

_SLACK = 1e-12  # a gap that is ε but for rounding counts as ε


@dataclass(frozen=True)
class ErrorSplit:
    """How the runs of one policy failed at one ε, per checkpoint."""

    eps: float
    replicates: int
    pulls: Ints  # [C]
    missed: Ints  # [C] runs whose candidates held no ε/2-best arm
    confused: Ints  # [C] runs whose candidates held one, and that did not return an ε-best arm
    exact: Floats  # [C] the chance of non-inclusion by theory (theorem 4.7)

    @property
    def non_inclusion(self) -> Floats:
        """The share of runs whose candidates held no ε/2-best arm, [C]."""
        return self.missed / self.replicates

    @property
    def non_inclusion_se(self) -> Floats:
        """Its standard error, [C]."""
        return _standard_error(self.non_inclusion, self.replicates)

    @property
    def misidentification(self) -> Floats:
        """The share of runs that had such a candidate and did not return an ε-best arm, [C]."""
        return self.confused / self.replicates

    @property
    def misidentification_se(self) -> Floats:
        """Its standard error, [C]."""
        return _standard_error(self.misidentification, self.replicates)


def error_split(setting: Setting | Description, run: Run, eps: float) -> ErrorSplit:
    """Split the errors of a run into non-inclusion and misidentification, for a policy with a candidate set.

    An arm is ε-best if its mean is at least the best mean less ε. The candidate set, that of
    `theory.candidate_sets.candidates_at`, is defined for `us`, `b3`, `sh` and `bsh`, and one worker.
    """
    given = setting.description if isinstance(setting, Setting) else setting
    gaps = given.means.max() - given.means
    good = gaps <= _checked(given, run, eps) / 2 + _SLACK
    policy = given.told_policy()
    sets = candidates_at(policy, given.arms, run.checkpoints.tolist())
    if isinstance(policy, BracketingSequentialHalving):
        reach = np.array([1 if one.sizes == (1,) else 1 + len(one.sizes) for one in sets])
        first = _first_good_set(given, run, good, sets[-1])
    else:
        reach = np.array([one.sizes[0] for one in sets])
        first = _first_good_number(given, run, good, most=int(reach.max()))
    had_one = first[:, None] < reach  # [R, C]
    wrong = gaps[run.recommended] > eps + _SLACK
    return ErrorSplit(
        eps,
        run.replicates,
        run.checkpoints,
        missed=np.count_nonzero(~had_one, axis=0),
        confused=np.count_nonzero(had_one & wrong, axis=0),
        exact=np.array([one.non_inclusion(int(good.sum())) for one in sets]),
    )


def _checked(given: Description, run: Run, eps: float) -> float:
    fraction("eps", eps)
    if given.workers != 1:
        raise InvalidInput(
            f"the number of workers is {given.workers}, but a candidate set is defined for one: with more, it "
            "depends on how long pulls take"
        )
    if tuple(run.checkpoints.tolist()) != given.checkpoints or not run.replicates:
        raise InvalidInput(
            f"the run has {run.replicates} replicates and {len(run.checkpoints)} checkpoints, but must have some, and "
            f"the {len(given.checkpoints)} checkpoints of its setting: give the run of this setting"
        )
    return eps


def _standard_error(share: Floats, replicates: int) -> Floats:
    return np.sqrt(share * (1 - share) / replicates)


def _first_good_number(given: Description, run: Run, good: Bools, most: int) -> Ints:
    """Return the lowest number of a good arm in each replicate, but at most `most`, [R]."""
    find = _compiled(find_first) if _compile.available() else find_first
    found = np.full(run.replicates, most, np.int64)
    order, at = np.zeros(given.arms, np.int64), np.zeros(POSITIONS, np.int64)
    find(_streams(given.seed, run.numbers), order, at, good.astype(np.int64), found)
    return found


@kernel
def find_first(streams: Ints, order: Ints, at: Ints, good: Ints, found: Ints) -> None:
    """Lower found[r] to the first number whose arm is good in replicate r, if there is a lower one."""
    for r in range(len(found)):
        for i in range(len(order)):
            order[i] = i
        at[NUMBERED] = 0
        for k in range(found[r]):
            number(order, streams[r, ORDER], at, k)
            if good[order[k]] == 1:
                found[r] = k
                break


def _first_good_set(given: Description, run: Run, good: Bools, last: CandidateSet) -> Ints:
    """Return the first set with a good arm in each replicate, [R]: set 0 is the first arm alone, set b bracket b."""
    bracket = np.repeat(np.arange(1, len(last.sizes) + 1), last.sizes)  # [S] of each slot
    arms = _slots(given.arms, given.seed, tuple(run.numbers.tolist()), last.pulls, len(bracket))
    hit = good[arms]
    first: Ints = np.where(hit, bracket, len(last.sizes) + 1).min(axis=1)
    first[hit[:, 0]] = 0  # the first arm is in the first slot of the first bracket
    return first


@lru_cache(maxsize=4)  # neither ε nor the rewards change it
def _slots(n_arms: int, seed: int, numbers: tuple[int, ...], pulls: int, count: int) -> Ints:
    """Return the arms in the first `count` slots of `bsh` after so many pulls of each of these replicates, [R, S]."""
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        shares = [share for share in np.array_split(np.array(numbers), cores) if len(share)]
        return np.concatenate(list(pool.map(lambda share: _replayed(n_arms, seed, share, pulls, count), shares)))


def _replayed(n_arms: int, seed: int, numbers: Ints, pulls: int, count: int) -> Ints:
    """Run `bsh` without rewards, replicate by replicate, and read the arms in its slots."""
    policy = BracketingSequentialHalving()
    loop = loop_of(policy.rule, compiled=_compile.available(), parallel=False)
    source = Deterministic().source(Instance("silent", np.zeros(n_arms)))
    state = policy.new(n_arms, seed, min(n_arms, pulls))
    order, times = np.zeros(n_arms, np.int64), np.array([pulls])
    slots = np.zeros((len(numbers), count), np.int64)
    for row, streams in zip(slots, _streams(seed, numbers), strict=True):
        rest = (order, pulls, times, np.zeros(POSITIONS, np.int64), np.zeros((1, 1), np.int64))
        state = play_out(loop, policy, state, source, policy.squares, streams[None], *rest)
        row[:] = order[state.brackets.number[state.brackets.entrant[:count]]]
    return slots


def _streams(seed: int, numbers: Ints) -> Ints:
    """Return the random streams of some replicates, [R, 4, 6]."""
    return np.ascontiguousarray(spawn(seed, 0, int(numbers.max()) + 1)[numbers])


_compiled = lru_cache(maxsize=1)(_compile.compiled)
