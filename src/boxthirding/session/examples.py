"""Examples that run out: an arm has no more different pulls than there are examples.

An arm that has had them all is complete, and known exactly: what a job wants beyond that is owed to it, and answered
with the arm's mean, free, when its last example is in. When nothing that the policy wants is left to evaluate, arms
that may be as good as the best complete one are evaluated on (extra.py); when there is none of these, all is known.

`paired` sees to it that results on an example stay those of the same example when a list is given again.
"""

import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from boxthirding._text import counted, cut
from boxthirding.errors import InvalidInput, StudyChanged, StudyDiffers
from boxthirding.types import NONE

if TYPE_CHECKING:
    from boxthirding.session.core import Core
    from boxthirding.session.tickets import Job

SURE: Final = 2.0
"""Standard errors by which an arm must be behind to be out of the question."""

Kept = Mapping[str, Any]
"""An example as a journal keeps it: {"json": value}, or {"digest": text} for what JSON cannot hold."""

_LONGEST: Final = 60  # characters of an example in a message
_MIXED: Final = "so results on different examples would be mixed"
_SAME: Final = "give the same examples, in any order, or use another study"


def paired(core: "Core", given: Sequence[Kept], order: Sequence[int], *, force: bool = False) -> list[int]:
    """Return by pull the place in `given` of the example that it sees; refuse others than those that are known.

    `order` holds where they are not known yet, and with `force` where others are.
    """
    if sorted(order) != [*range(len(given))]:
        raise InvalidInput(f"the order is {cut(repr(order), _LONGEST)}, but must have each place of the examples once")
    if given and core.examples not in (None, len(given)):
        raise StudyDiffers(
            f"the study has {counted(core.examples, 'example')}, but {len(given):,} are given", advice=_SAME
        )
    if not core.example_payloads:
        return [*order]
    try:
        return _matched(core.example_payloads, given)
    except StudyChanged:
        if not force:
            raise
        return [*order]


def _matched(known: Sequence[Kept], given: Sequence[Kept]) -> list[int]:
    """Return the places in `given` of the known examples, of equal ones in turn; refuse other examples."""
    if not given:
        raise StudyDiffers(
            f"the study was made with {counted(len(known), 'example')}, but none are given", advice=_SAME
        )
    places: dict[str, deque[int]] = {}
    for place, example in enumerate(given):
        places.setdefault(_text(example), deque()).append(place)
    order = [found.popleft() if (found := places.get(_text(example))) else NONE for example in known]
    other = min((found[0] for found in places.values() if found), default=NONE)
    if other != NONE:
        known_texts = [*map(_text, known)]
        often = known_texts.count(_text(given[other]))
        made = f"the study was made with it {often} times only" if often > 1 else "the study was made with it once"
        which = f"but {made}" if often else "which is none of those that the study was made with"
        problem = f"example {other} is {_shown(given[other])}, {which}"
    elif NONE in order:
        missing = _shown(known[order.index(NONE)])
        problem = f"the study was made with {missing}, which is none of the {counted(len(given), 'example')} given"
    else:
        return order
    raise StudyChanged(f"{problem}, {_MIXED}", advice=_SAME)


def _text(example: Kept) -> str:
    return json.dumps(example, sort_keys=True, allow_nan=False)


def _shown(example: Kept) -> str:
    return cut(repr(example["json"]), _LONGEST) if "json" in example else "another object"


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
