"""Examples: which ones each arm sees, and what happens when they run out.

An arm has no more different pulls than there are examples. One that has had them all is complete, and known exactly:
what a job wants beyond that is owed to it, and answered with the arm's mean, free, when its last example is in. When
nothing that the policy wants is left to evaluate, arms that may be as good as the best complete one get unscheduled
tickets; without such an arm, all is known.
"""

import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

from boxthirding._text import counted, cut
from boxthirding.errors import InvalidInput, StudyChanged, StudyDiffers
from boxthirding.rng import below
from boxthirding.session.job_queue import Job, JobQueue
from boxthirding.session.labels import Labels
from boxthirding.session.ledger import Ledger
from boxthirding.session.tickets import Tickets
from boxthirding.types import NONE, Ints

WINDOW: Final = 20  # examples that the first results are of
PER_EXAMPLE: Final = 20  # results for each further example
SURE: Final = 2.0  # standard errors by which an arm must be behind to be out of the question

Stored = Mapping[str, Any]
"""An example as a journal stores it: {"json": value}, or {"digest": text} for what JSON cannot hold."""

_LONGEST: Final = 60  # characters of an example in a message
_MIXED: Final = "so results on different examples would be mixed"
_SAME: Final = "give the same examples, in any order, or use another study"


class ExampleDraws:
    """Which examples each arm has seen, and which it sees next: a random one of the first few, of more as results grow.

    So arms differ in the examples that they see, and yet there are soon enough results on each of these to tell how
    hard it is. A pull is the place of its example in their order.
    """

    def __init__(self, count: int, stream: Ints, ledger: Ledger) -> None:
        self.size, self._ledger = count, ledger
        self._stream: Any = stream.tolist()  # of Python's own numbers, at half the cost
        self._seen: list[set[int]] = []  # by arm: the places that are handed out, told or known

    def make_room(self, arms: int) -> None:
        """Have an entry for each of the first `arms` arms."""
        self._seen.extend(set() for _ in range(arms - len(self._seen)))

    def take_next(self, arm: int) -> int:
        """Draw the example that an arm sees next, and return its pull."""
        seen, count = self._seen[arm], self.size
        window = max(WINDOW, 2 * len(seen) + 1, self._ledger.rows // PER_EXAMPLE)
        if window < count:
            place = below(self._stream, window)
            while place in seen:
                place = below(self._stream, window)
        else:
            left = [place for place in range(count) if place not in seen]
            place = left[below(self._stream, len(left))]
        seen.add(place)
        return place

    def take(self, arm: int, pull: int) -> None:
        """Take a certain pull of an arm."""
        self._seen[arm].add(pull)

    def has(self, arm: int, pull: int) -> bool:
        """Return whether a pull of an arm is taken."""
        return pull in self._seen[arm]

    def count(self, arm: int) -> int:
        """Return how many pulls of an arm are taken."""
        return len(self._seen[arm])

    def save(self) -> dict[str, Any]:
        """Return everything as plain values and arrays."""
        seen = [place for places in self._seen for place in sorted(places)]
        return {
            "stream": self._stream,
            "numbers": np.array([*map(len, self._seen)], np.int64),
            "seen": np.array(seen, np.int64),
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what was saved."""
        self._stream = [*saved["stream"]]
        seen = iter(saved["seen"].tolist())
        self._seen = [set(islice(seen, number)) for number in saved["numbers"].tolist()]


class ExampleTracker:
    """How many examples there are, which arms have had them all, and which pulls are owed to jobs."""

    def __init__(
        self,
        count: int | None,
        labels: Labels,
        ledger: Ledger,
        tickets: Tickets,
        draws: ExampleDraws | None,
        jobs: JobQueue,
    ) -> None:
        self.count = count
        """How many different pulls an arm has; None without end."""
        self.draws = draws  # None without examples
        self._labels, self._ledger, self._tickets, self._jobs = labels, ledger, tickets, jobs
        self.stored: Sequence[Stored] = ()
        """The examples, by the pull that sees them; empty while they are not known."""
        self.complete: set[int] = set()
        """Arms whose examples are all in."""
        self.are_exhausted = False
        """Whether nothing that the policy wants is left to evaluate."""
        self.owed: dict[int, list[tuple[Job, int]]] = {}
        """By arm: pulls of jobs that are answered when all its examples are in."""
        self._answered = 0  # pulls in a row that were answered with a mean, free

    def pair(self, given: Sequence[Stored], order: Sequence[int], *, force: bool = False) -> list[int]:
        """Return by pull the place in `given` of the example that it sees; raise for other examples than the known.

        `order` holds where they are not known yet, and with `force` where others are.
        """
        if sorted(order) != [*range(len(given))]:
            raise InvalidInput(f"the order is {cut(repr(order), _LONGEST)}, but must have each example's place once")
        has_as_many = not given or self.count in (None, len(given))
        try:
            if self.stored:
                return _matched(self.stored, given)
        except StudyChanged as changed:
            if not has_as_many:  # not even with force
                raise StudyDiffers(changed.problem, advice=changed.advice) from None
            if not force:
                raise
        if not has_as_many:
            are = "is" if len(given) == 1 else "are"
            raise StudyDiffers(
                f"the study has {counted(self.count or 0, 'example')} that run out, but {len(given):,} {are} given",
                advice=_SAME,
            )
        return [*order]

    def left(self, arm: int) -> int:
        """Return how many examples of an arm are neither handed out nor known nor wanted."""
        if self.draws is None:
            return 0
        return max(0, self.draws.size - self.draws.count(arm) - self._jobs.pulls_of(arm))

    def has_pull_left(self, arm: int) -> bool:
        """Return whether an arm has a pull that is neither handed out nor known nor wanted."""
        return self.count is None or self.left(arm) > 0

    def limit(self, job: Job) -> bool:
        """Limit a job to the examples that its arm has left; return whether its other pulls can be answered now."""
        arm = job.arm
        over = min(job.left, job.left - self.left(arm))
        if over > 0:
            job.left -= over
            self.owe(job, over)
        if job.left or arm not in self.complete:
            self._answered = 0
            return False
        self._answered += over
        self.are_exhausted = self.are_exhausted or self._answered >= max(1, self._ledger.spent)
        return True

    def owe(self, job: Job, times: int) -> None:
        """Answer pulls of a job when all examples of its arm are in."""
        self.owed.setdefault(job.arm, []).append((job, times))

    def has_completed(self, arm: int) -> bool:
        """Return whether the last example of an arm has come in just now."""
        if self.draws is None or self.count is None or arm in self.complete or self.draws.count(arm) < self.count:
            return False
        if any(entry.ticket.arm == arm for entry in self._tickets.open.values()):
            return False
        self.complete.add(arm)
        self._check_all_complete()
        return True

    def reconsider(self) -> list[int]:
        """Ask the policy again, as other results count; return the complete arms with pulls owed."""
        if self.count is None:
            return []
        self.are_exhausted, self._answered = False, 0
        self._check_all_complete()
        return [arm for arm in self.owed if arm in self.complete]

    def _check_all_complete(self) -> None:
        if not self._labels.open_ended and len(self.complete - self._labels.withdrawn) >= self._labels.in_race:
            self.are_exhausted = True

    def forget_jobs(self) -> None:
        """Forget what was owed to the jobs of a rule that no longer decides."""
        self.owed, self._answered, self.are_exhausted = {}, 0, False

    def rival(self) -> int:
        """Return the arm that may exceed the best complete one by most, and has examples left; NONE without any.

        A policy counts on fresh noise in every pull. On few examples it may want nothing but the arm that is complete,
        on the strength of a single unlucky example of another.
        """
        if self.count is None:
            return NONE
        squares, repeats, *_ = self._ledger.spread(())
        counts = np.asarray(self._ledger.counts)
        counts[[*self._labels.withdrawn]] = 0
        arms = np.flatnonzero(counts)
        complete = arms[np.isin(arms, [*self.complete])]
        others = np.setdiff1d(arms, complete)
        if repeats == 0 or not len(complete) or not len(others):
            return NONE
        totals = np.asarray(self._ledger.totals)
        means = totals[others] / counts[others]
        unknown = np.maximum(0.0, 1 / counts[others] - 1 / self.count)  # of n out of `count` examples
        deviation = math.sqrt(squares / repeats) * (1 + 1.5 / repeats)  # nearly Student's t, for few repeats
        most = means + SURE * deviation * np.sqrt(unknown)
        best = np.max(totals[complete] / counts[complete])
        candidates = others[np.argsort(-most, kind="stable")][: np.count_nonzero(most > best)].tolist()
        return next((arm for arm in candidates if self.left(arm) > 0), NONE)

    def save(self) -> dict[str, Any]:
        """Return everything as plain values and arrays; jobs by id."""
        return {
            "stored": [*self.stored],
            "complete": np.array(sorted(self.complete), np.int64),
            "exhausted": self.are_exhausted,
            "owed": [[arm, [[job.id, times] for job, times in owed]] for arm, owed in self.owed.items()],
            "answered": self._answered,
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what was saved; the jobs must be there already."""
        self.stored, self.are_exhausted, self._answered = saved["stored"], saved["exhausted"], saved["answered"]
        self.complete = set(saved["complete"].tolist())
        self.owed = {arm: [(self._jobs.open[job_id], times) for job_id, times in owed] for arm, owed in saved["owed"]}


def _matched(known: Sequence[Stored], given: Sequence[Stored]) -> list[int]:
    """Return the places in `given` of the known examples, of equal ones in turn; raise for other examples."""
    if not given:
        raise StudyDiffers(f"the study was made with {counted(len(known), 'example')}, but got none", advice=_SAME)
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
        problem = f"example {other} is {_format_example(given[other])}, {which}"
    elif NONE in order:
        missing = _format_example(known[order.index(NONE)])
        problem = f"the study was made with {missing}, which is none of the {counted(len(given), 'example')} given"
    else:
        return order
    raise StudyChanged(f"{problem}, {_MIXED}", advice=_SAME)


def _text(example: Stored) -> str:
    return json.dumps(example, sort_keys=True, allow_nan=False)


def _format_example(example: Stored) -> str:
    return cut(repr(example["json"]), _LONGEST) if "json" in example else "another object"
