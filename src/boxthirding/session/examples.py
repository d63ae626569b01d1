"""Examples that run out: an arm has no more different pulls than there are examples.

An arm that has had them all is complete, and known exactly: what a job wants beyond that is owed to it, and answered
with the arm's mean, free, when its last example is in. When nothing that the policy wants is left to evaluate, arms
that may be as good as the best complete one are evaluated on (extra.py); when there is none of these, all is known.
"""

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from boxthirding.types import NONE

if TYPE_CHECKING:
    from boxthirding.session.core import Core
    from boxthirding.session.tickets import Job

SURE: Final = 2.0
"""Standard errors by which an arm must be behind to be out of the question."""


def keep_to(core: "Core", job: "Job") -> None:
    """Let a job have no more pulls than its arm has examples; the others are answered with the arm's mean."""
    arm = job.arm
    over = min(job.left, job.left - left(core, arm))
    if over > 0:
        job.left -= over
        core.owed.setdefault(arm, []).append((job, over))
    if job.left or arm not in core.complete:
        core.answered = 0
        return
    core.answered += over
    core.is_known = core.is_known or core.answered >= max(1, core.ledger.spent)
    _answer(core, arm)


def is_over(core: "Core") -> bool:
    """Tell whether nothing is left that could change the answer."""
    return core.is_known and rival(core) == NONE


def rival(core: "Core") -> int:
    """Return the arm that may be better than the best complete one by most, and has examples left; NONE without any.

    A policy counts on fresh noise in every pull. On few examples it may want nothing but the arm that is complete, on
    the strength of a single unlucky example of another.
    """
    if core.examples is None or not core.amends:
        return NONE
    squares, repeats, *_ = core.ledger.spread(())
    counts = np.asarray(core.ledger.counts)
    counts[[*core.withdrawn]] = 0
    arms = np.flatnonzero(counts)
    complete = arms[np.isin(arms, [*core.complete])]
    others = np.setdiff1d(arms, complete)
    if repeats == 0 or not len(complete) or not len(others):
        return NONE
    means = np.asarray(core.ledger.totals)[others] / counts[others]
    unknown = np.maximum(0.0, 1 / counts[others] - 1 / core.examples)  # of n examples out of so many
    deviation = math.sqrt(squares / repeats) * (1 + 1.5 / repeats)  # nearly Student's t, for few repeats
    most = means + SURE * deviation * np.sqrt(unknown)
    best = np.max(np.asarray(core.ledger.totals)[complete] / counts[complete])
    for place in np.argsort(-most, kind="stable"):
        if most[place] <= best:
            break
        if left(core, int(others[place])) > 0:
            return int(others[place])
    return NONE


def is_any_left(core: "Core", arm: int) -> bool:
    """Tell whether an arm has a pull that is neither handed out nor known nor wanted."""
    return core.examples is None or left(core, arm) > 0


def left(core: "Core", arm: int) -> int:
    """Return how many examples of an arm are neither handed out nor known nor wanted."""
    return max(0, (core.examples or 0) - core.pulls.taken(arm) - core.wanted.of(arm))


def note(core: "Core", arm: int) -> None:
    """See whether the last example of an arm has come in, and answer what waited for that."""
    if core.examples is None or arm in core.complete or core.pulls.taken(arm) < core.examples:
        return
    if any(entry.ticket.arm == arm for entry in core.tickets.open.values()):
        return
    core.complete.add(arm)
    _answer(core, arm)
    _see_whether_known(core)


def consider(core: "Core") -> None:
    """Other results count now: the policy may want other arms, and what was owed can perhaps be answered."""
    if core.examples is None:
        return
    core.is_known, core.answered = False, 0
    for arm in [arm for arm in core.owed if arm in core.complete]:
        _answer(core, arm)
    _see_whether_known(core)


def _answer(core: "Core", arm: int) -> None:
    """Answer the pulls that are owed of a complete arm with its mean, free."""
    count = core.ledger.counts[arm]
    if core.live is None or count == 0:  # all its results are excluded: nothing is known of it for now
        return
    mean = core.ledger.totals[arm] / count
    for job, times in core.owed.pop(arm, ()):
        core.take(job, times, times * mean, times * mean * mean)


def _see_whether_known(core: "Core") -> None:
    if not core.labels.open_ended and len(core.complete - core.withdrawn) >= core.arms_there:
        core.is_known = True
