"""The contract between a policy and whatever drives it, simulator or live session.

A *policy* is a frozen configuration. Its *rule* is a set of plain functions over a *state*, a NamedTuple of arrays.
A rule sees neither rewards, clocks, files nor global randomness: it asks for jobs and is told what they gave.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Label = str | int
"""What the caller calls an arm."""

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
        """The random stream that breaks ties, [6]."""


class Rule(NamedTuple):
    """An algorithm as plain functions over its state, each marked `@kernel`.

    Arms are numbers 0, 1, 2, … in a random order that the driver makes; a rule meets number k only after k - 1, so an
    arm that is added is simply the next number, and memory grows with the arms touched.
    """

    reset: Callable[[Any], None]
    """(state): put the state where `new` left it, but for `scalars[N_ARMS]` and the ties."""

    ask: Callable[[Any], tuple[int, int, int]]
    """(state) -> (job, arm, times): pull `arm` `times` times. The job may also be WAIT or GROW."""

    tell: Callable[[Any, int, int, float, float], None]
    """(state, job, times, total, squares): `times` pulls of a job gave this sum and sum of squares."""

    drop: Callable[[Any, int], None]
    """(state, arm): the arm is withdrawn, wherever it stands; its open jobs end, and nobody tells them."""

    recommend: Callable[[Any], int]
    """(state) -> arm or NONE. Once there is one, it changes only when a job ends, inside `ask` if it needed no pull, or
    an arm is dropped."""


class Policy(Protocol):
    """A frozen configuration that makes and grows the state of one rule."""

    name: ClassVar[str]
    """What a policy SPEC calls it."""
    rule: ClassVar[Rule]
    told: ClassVar[frozenset[str]]
    """What it must be told beforehand: a subset of {"budget", "sigma", "hardness"}, each a field of the policy."""
    squares: ClassVar[bool]
    """Whether its rule reads the sums of squares."""
    open_ended: ClassVar[bool]
    """Whether it runs without knowing how many arms there are."""

    def new(self, n_arms: int, seed: int, capacity: int) -> Any:
        """Return a fresh state with room for about `capacity` arms; room changes no decision."""

    def grow(self, state: Any) -> Any:
        """Return the same state with more room."""

    def ranking(self, state: Any) -> list[int]:
        """Return the arms that a finished job speaks for and that are not withdrawn, best first."""
