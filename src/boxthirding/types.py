"""The contract between a policy and whatever drives it, simulator or live session.

A *policy* is a frozen configuration. Its *rule* is a set of plain functions over a *state*, a NamedTuple of arrays, or
of groups of arrays, which are NamedTuples themselves.
A rule sees neither rewards, clocks, files nor global randomness: it asks for jobs and is told what they gave.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Label = str | int
"""Label of an arm, chosen by the caller."""

NONE: Final = -1
"""No arm, no box, no job."""

WAIT: Final = -2
"""Instead of a job: nothing to ask for until something is told or added. With no job open the rule has ended."""

GROW: Final = -3
"""Instead of a job: the arrays are full; call `policy.grow(state)` and ask again."""

N_ARMS: Final = 0
"""The place of the number of arms in `state.scalars`: the one entry that a driver writes."""


class State(Protocol):
    """What every rule's state has; the rest is the rule's own."""

    @property
    def scalars(self) -> Ints:
        """The rule's single numbers; `scalars[N_ARMS]` is how many arms there are."""

    @property
    def ties(self) -> Ints:
        """The rule's one random stream, [6], for everything that it draws, such as ties."""


class Rule(NamedTuple):
    """An algorithm as plain functions over its state, each marked `@kernel`.

    Arms are numbers 0, 1, 2, … in a random order that the driver makes; a rule meets number k only after k - 1, so an
    arm that is added is simply the next number, and memory grows with the arms touched.
    """

    reset: Callable[[Any], None]
    """(state): put the state where `new` left it, but for `scalars[N_ARMS]` and the random stream."""

    ask: Callable[[Any], tuple[int, int, int]]
    """(state) -> (job, arm, times): pull `arm` `times` times. The job may also be WAIT or GROW.

    It draws nothing at random before it returns GROW: it is asked again, and room must change no decision.
    """

    tell: Callable[[Any, int, int, float, float], None]
    """(state, job, times, total, squares): `times` pulls of a job gave this sum and sum of squares."""

    drop: Callable[[Any, int], None]
    """(state, arm): the arm is withdrawn, wherever it stands; its open jobs end, and are never told."""

    recommend: Callable[[Any], int]
    """(state) -> arm or NONE. Once there is one, it changes only when a job ends, inside `ask` if it needed no pull, or
    an arm is dropped."""

    amend: Callable[[Any, int, int, float, float], int] | None = None
    """(state, arm, times, total, squares) -> 0 or GROW: what is known of an arm has changed, without a job.

    These sums are added to the arm's record: `times` is positive for known results, negative for results that are taken
    out, 0 for a correction. Past decisions stand; from now on the arm competes, and is recommended, with its new mean.
    Any arm may be amended that is not withdrawn, also one that the rule has not met: its record waits for it, and it
    may be dropped. With arm NONE a batch of amendments has ended: all estimates are refitted
    if the batch was large. GROW: there is no room for the arm; call `policy.grow(state)` and amend again. None: this
    algorithm cannot; it only knows results of its own jobs."""


class Policy(Protocol):
    """A frozen configuration that makes and grows the state of one rule.

    One with boxes also has `box_record()`, which returns an empty record of what happened in them, of a subclass of
    `boxthirding.policies.lineage.Record`.
    """

    name: ClassVar[str]
    """What a policy SPEC calls it."""
    rule: ClassVar[Rule]
    told: ClassVar[frozenset[str]]
    """What it must be told beforehand: a subset of {"budget", "sigma", "hardness"}, each a field of the policy."""
    squares: ClassVar[bool]
    """Whether its rule reads the sums of squares of its jobs; an amendment always has them."""
    open_ended: ClassVar[bool]
    """Whether it runs without knowing how many arms there are."""
    version: ClassVar[int]
    """Rises whenever the rule decides otherwise; a digest of its code stands in `tests/policies/test_versions.py`."""

    @property
    def forgets(self) -> bool:
        """Whether each job starts a new record of its arm, so that earlier results are no part of it.

        Such a policy has `record_pulls(state, arm)` too: how many results the mean is of that the arm competes with.
        """

    def new(self, n_arms: int, seed: int, capacity: int) -> Any:
        """Return a fresh state with room for about `capacity` arms; room changes no decision."""

    def grow(self, state: Any) -> Any:
        """Return the same state with more room."""

    def ranking(self, state: Any, k: int | None = None) -> list[int]:
        """Return the arms that have a record and are not withdrawn, best first; with k, the k best of them or more."""


@dataclass(frozen=True)
class Progress:
    """How far something that takes long has come: what a function given as `progress=` is called with.

    >>> Progress(done=50, total=200, unit="replicates", seconds=1.5, seconds_left=4.5).share
    0.25
    """

    done: float
    total: float | None
    """None if unknown."""
    unit: str
    """What is counted: "pulls", "replicates", …"""
    seconds: float
    """Since the beginning."""
    seconds_left: float | None
    """An estimate, or None if not known yet."""
    note: str = ""
    """What is being done now."""

    @property
    def share(self) -> float | None:
        """How much is done, from 0 to 1, or None if the total is unknown."""
        return None if self.total is None else self.done / self.total if self.total else 1.0
