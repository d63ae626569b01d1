"""What can be read of a session: which arm is best, which come next, why, and all of it at one moment."""

import heapq
import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from boxthirding._checks import is_number, whole
from boxthirding.errors import InvalidInput
from boxthirding.policies.spec import format_policy
from boxthirding.screening import non_inclusion
from boxthirding.session.core import Core
from boxthirding.session.protocol import Plotted
from boxthirding.session.values import (
    PAGE,
    ArmResult,
    ArmSummary,
    Box,
    Climber,
    Difficulty,
    Glance,
    Lineage,
    Moment,
    Outlier,
    Recommendation,
    Rival,
    Rung,
    Screening,
    Spread,
    Step,
    View,
)
from boxthirding.types import NONE, Label

TOP: Final = 10
"""Arms in a view, and outliers."""

GOOD: Final = 0.01
"""The share of arms that a view's screening speaks of."""

ORDERS: Final = ("best", "tried", "latest", "given")
COLUMNS: Final = ("mean", "pulls", "level", "label")
"""What arms are sorted by in `arms`: the smallest first, with a minus (-pulls) the largest."""

_OUTCOMES = ("lifted", "shifted", "discarded")


class CoreReader(Plotted):
    """The reads that sessions and studies share: all but `glance` and `payload` of `AskTell`, and some more."""

    def _reading(self) -> AbstractContextManager[Core]:
        """Return the core, with everything that others have written, for as long as no one changes it."""
        raise NotImplementedError

    @property
    def pulls(self) -> int:
        """How many results count."""
        with self._reading() as core:
            return core.ledger.pulls

    @property
    def spent(self) -> int:
        """How many results were told through tickets, excluded ones too."""
        with self._reading() as core:
            return core.ledger.spent

    @property
    def open(self) -> int:
        """How many tickets are neither told nor void."""
        with self._reading() as core:
            return len(core.tickets.open)

    def recommend(self) -> Recommendation | None:
        with self._reading() as core:
            return recommend(core)

    def top(self, k: int) -> list[Recommendation]:
        whole("k", k, least=1)
        with self._reading() as core:
            return top(core, k)

    def screening(self, share: float) -> Screening | None:
        if not (is_number(share) and 0 < share <= 1):
            raise InvalidInput(f"share is {share!r}, but must lie in (0, 1]: 0.01 for the top 1 %")
        with self._reading() as core:
            return screening(core, share)

    def outliers(self) -> list[Outlier]:
        """Return the results that the policy has excluded as outliers, earliest first; `chase` does that."""
        with self._reading() as core:
            return outliers(core, sorted(core.ledger.outliers))

    def arms(
        self, first: int = 0, count: int = PAGE, *, order: str = "best", search: str | None = None
    ) -> list[ArmSummary]:
        _check_page(first, count)
        if order not in ORDERS and str(order).removeprefix("-") not in COLUMNS:
            raise InvalidInput(
                f"order is {order!r}, but must be one of {', '.join(ORDERS + COLUMNS)}, the last four also with a minus"
            )
        if search is not None and not isinstance(search, str):
            raise InvalidInput(f"search is {search!r}, but must be a text that labels contain")
        wanted = "" if search is None else search.casefold()
        with self._reading() as core:
            if order == "given":
                return _as_given(core, first, count, wanted)
            if order == "best":
                found = _best_first(core, first + count if search is None else None)
            else:
                found = _sorted(core, order)
            if search is not None:
                found = [arm for arm in found if wanted in str(core.labels.label(arm)).casefold()]
            return [_summary(core, arm) for arm in found[first : first + count]]

    def results(self, label: Label, first: int = 0, count: int = PAGE) -> list[ArmResult]:
        _check_page(first, count)
        with self._reading() as core:
            arm, ledger = core.labels.find(label), core.ledger
            if arm is None:
                return []
            rows = ledger.rows_of_arm(arm)[::-1][first : first + count].tolist()
            counts = set(ledger.counting_of(arm).tolist())
            return [
                ArmResult(None if one.ticket == NONE else one.ticket, one.pull, one.holder, one.reward, row in counts)
                for row, one in zip(rows, map(ledger.result, rows), strict=True)
            ]

    def boxes(self, level: int | None = None, first: int = 0, count: int = PAGE) -> list[Box]:
        _check_page(first, count)
        if level is not None:
            whole("level", level, least=0)
        with self._reading() as core:
            state = core.rule.arrays
            return [
                Box(
                    here,
                    deferment,
                    size,
                    tuple(
                        Rival(core.labels.label(arm.number), core.sign * arm.mean, arm.pulls)
                        for arm in core.rule.record.contents(state, here, deferment, first, count)
                    ),
                )
                for here, deferment, size in core.rule.record.sizes(state)
                if level is None or level == here
            ]

    def ladder(self, pulls: int | None = None, first: int = 0, count: int = PAGE) -> list[Rung]:
        _check_page(first, count)
        if pulls is not None:
            whole("pulls", pulls, least=1)
        with self._reading() as core:
            return _ladder(core, pulls, first, count)

    def why(self, label: Label) -> Lineage:
        with self._reading() as core:
            arm = core.labels.find(label)
            if arm is None:
                return Lineage(label, None, 0, (), "withdrawn" if core.labels.is_withdrawn(label) else "in the pool")
            steps = []
            for meeting in core.rule.record.meetings(arm):
                mine = [met.number for met in meeting.arms].index(arm)
                rivals = tuple(
                    Rival(core.labels.label(met.number), core.sign * met.mean, met.pulls)
                    for met in meeting.arms
                    if met.number != arm
                )
                outcome = _OUTCOMES[mine] if rivals else "introduced"
                _, mean, pulls = meeting.arms[mine]
                steps.append(
                    Step(meeting.at, outcome, meeting.level, meeting.deferment, core.sign * mean, pulls, rivals)
                )
            mean_now = core.mean(arm) if core.ledger.counts[arm] else None
            return Lineage(label, mean_now, core.ledger.counts[arm], tuple(steps), _place(core, arm))

    def history(self) -> list[Moment]:
        with self._reading() as core:
            moments, arm = list(core.history.moments), core.best()
            if arm != NONE:
                if moments and moments[-1].results == core.ledger.rows:
                    moments.pop()
                label = core.labels.label(arm)
                moments.append(Moment(core.ledger.rows, label, core.mean(arm), core.ledger.tried, None))
            return moments

    def since(self) -> Moment | None:
        """Return the moment at which the present answer became that; None before the first result."""
        with self._reading() as core:
            moment, arm = core.history.since, core.best()
            is_answer = moment is not None and arm != NONE and moment.label == core.labels.label(arm)
            return moment if is_answer else None

    def spread(self, labels: Iterable[Label] = ()) -> Spread:
        """Return how far results lie from the mean of their arm: over all arms, and for those named."""
        named = list(labels)
        with self._reading() as core:
            arms = {label: core.labels.find(label) for label in named}
            squares, freedom, few, own = core.ledger.spread(arm for arm in arms.values() if arm is not None)
            of_arms = {label: own[arm] for label, arm in arms.items() if arm is not None}
            return Spread(squares, freedom, few, of_arms, core.examples.count)

    def difficulties(self) -> list[Difficulty]:
        with self._reading() as core:
            return [] if core.examples.count is None else core.effects.difficulties()


def recommend(core: Core) -> Recommendation | None:
    """Return the best arm so far, or None before the first result."""
    arm = core.best()
    return None if arm == NONE else _recommendation(core, arm)


def top(core: Core, k: int) -> list[Recommendation]:
    """Return the k best arms so far, the recommended one first."""
    best = core.best()
    ranked = [arm for arm in _ranked(core, k + 1) if arm != best]
    return [_recommendation(core, arm) for arm in ([best] if best != NONE else [])[:k] + ranked[: k - 1]]


def glance(core: Core) -> Glance:
    """Return the counts and the answer."""
    still_open = len(core.tickets.open)
    held = still_open - len(core.tickets.free)
    return Glance(core.ledger.pulls, core.ledger.spent, still_open, held, recommend(core))


def screening(core: Core, share: float) -> Screening | None:
    """Return the chance, exact, that an arm of the best `share` of all is among those that could still be returned.

    The candidate set is a random one of its size, whatever the rewards: None where known results have put some arms
    before others. With an iterator the chance is that for infinitely many arms.
    """
    if not core.is_in_random_order or core.rule.live is None:
        return None
    candidates = core.rule.record.candidates(core.rule.arrays)
    if candidates is None:
        candidates = _tried_in_race(core)
    if core.labels.open_ended:
        return Screening(1 - (1 - share) ** candidates, candidates, None, share)
    there = core.labels.in_race
    if not there:
        return Screening(0.0, candidates, there, share)
    good = max(1, math.floor(share * there + 1e-9))
    return Screening(1 - non_inclusion(there, good, candidates), candidates, there, share)


def outliers(core: Core, rows: list[int]) -> list[Outlier]:
    """Return excluded outliers of the ledger."""
    return [
        Outlier(core.labels.label(arm), pull, reward, holder, None if ticket == NONE else ticket)
        for arm, pull, holder, ticket, _, reward, _ in map(core.ledger.result, rows)
    ]


def view(core: Core, *, name: str | None, status: str, per_minute: float | None) -> View:
    """Return all that can be read, at one moment."""
    ledger, labels = core.ledger, core.labels
    excluded = sorted(ledger.outliers)
    return View(
        name=name,
        status="known" if status == "open" and core.is_over else status,
        policy="" if core.rule.live is None else format_policy(core.rule.policy),
        seed=core.seed,
        direction=core.direction,
        arms=None if labels.open_ended else labels.in_race,
        tried=ledger.tried,
        untried=None if labels.open_ended else labels.in_race - _tried_in_race(core),
        withdrawn=labels.withdrawn_count,
        pulls=ledger.pulls,
        spent=ledger.spent,
        open=len(core.tickets.open),
        queued=sum(job.left for job in core.jobs.queued),
        holders=core.tickets.held_by,
        excluded=tuple(sorted(ledger.excluded)),
        n_outliers=len(excluded),
        outliers=tuple(outliers(core, excluded[-TOP:])),
        recommendation=recommend(core),
        top=tuple(top(core, TOP)),
        boxes=tuple(core.rule.record.sizes(core.rule.arrays)),
        screening=screening(core, GOOD),
        per_minute=per_minute,
    )


def _check_page(first: int, count: int) -> None:
    whole("first", first, least=0)
    whole("count", count, least=1)


def _best_first(core: Core, k: int | None) -> list[int]:
    """Return the arms that were tried, best first and withdrawn ones last; with k, at least k of them."""
    ranked = _ranked(core, k)
    if k is not None and len(ranked) >= k:
        return ranked
    ranked = _ranked(core, None)
    there = set(ranked)
    return [*ranked, *(arm for arm, pulls in enumerate(core.ledger.counts) if pulls and arm not in there)]


def _sorted(core: Core, order: str) -> list[int]:
    """Return the arms that were tried in another order than that of the policy."""
    counts, labels = core.ledger.counts, core.labels
    tried = [arm for arm, pulls in enumerate(counts) if pulls]
    if order == "tried":
        return tried
    if order == "latest":
        last = core.ledger.last_rows().tolist()
        return sorted(tried, key=lambda arm: -last[arm])
    key: Callable[[int], Any] = {
        "mean": core.mean,
        "pulls": lambda arm: counts[arm],
        "level": lambda arm: -1 if (level := core.rule.record.level(core.rule.arrays, arm)) is None else level,
        "label": lambda arm: str(labels.label(arm)).casefold(),
    }[order.removeprefix("-")]
    return sorted(tried, key=key, reverse=order.startswith("-"))


def _as_given(core: Core, first: int, count: int, wanted: str) -> list[ArmSummary]:
    """Return a page of the arms whose label has a text in it, in the order in which they were given."""
    labels = core.labels
    places = range(labels.count) if wanted else range(first, min(first + count, labels.count))
    found = (label for label in map(labels.given, places) if not wanted or wanted in str(label).casefold())
    page = islice(found, first, first + count) if wanted else found
    return [
        ArmSummary(label, None, 0, None, labels.is_withdrawn(label)) if arm is None else _summary(core, arm)
        for label, arm in ((label, labels.find(label)) for label in page)
    ]


def _ladder(core: Core, pulls: int | None, first: int, count: int) -> list[Rung]:
    """Return the rungs from the lowest to the highest that holds an arm, or the one of some pulls."""
    tried = np.fromiter(core.tried(), np.int64)
    if not len(tried):
        return []
    counts = np.array(core.ledger.counts)[tried]
    means = np.array(core.ledger.totals)[tried] / counts
    best, kept = core.best(), _keeping_up(core)
    keeps_up = np.isin(tried, np.flatnonzero(kept if kept is not None else ()))
    starts = _starts(int(counts.max()))
    rungs = np.searchsorted(starts, counts, "right") - 1
    order = np.lexsort((-means, np.where(tried == best, 0, 2 - keeps_up), rungs))
    ends = np.searchsorted(rungs[order], np.arange(len(starts) + 1))
    found = []
    for rung in range(int(rungs.min()), len(starts) - 1):
        here = order[ends[rung] : ends[rung + 1]]
        fewest, most = starts[rung], starts[rung + 1] - 1
        if pulls is None or fewest <= pulls <= most:
            arms = tuple(
                Climber(
                    core.labels.label(int(tried[place])),
                    core.sign * float(means[place]) + 0.0,  # never -0
                    int(counts[place]),
                    "leads" if tried[place] == best else "keeps up" if keeps_up[place] else "",
                )
                for place in here[first : first + count]
            )
            found.append(Rung(fewest, most, len(here), None if kept is None else int(keeps_up[here].sum()), arms))
    return found


def _starts(most: int) -> list[int]:
    """Return the fewest pulls of each rung, and of the one above that of `most`.

    >>> _starts(12)
    [1, 2, 3, 5, 8, 12, 18]
    """
    starts = [1]
    while starts[-1] <= most:
        starts.append(starts[-1] + -(-starts[-1] // 2))
    return starts


def _place(core: Core, arm: int) -> str:
    """Describe where an arm stands now: whether it is the answer or keeps up with it, and in which box it is."""
    if arm in core.labels.withdrawn:
        return "withdrawn"
    box = core.rule.record.place(core.rule.arrays, arm)
    if arm == core.best():
        joint = ", though " if box.startswith("discarded") else "; "  # those above it may be withdrawn or excluded
        return f"the answer{joint}{box}" if box else "the answer"
    kept = _keeping_up(core)
    return box if kept is None or arm >= len(kept) or not kept[arm] else "keeps up with the answer"


def _keeping_up(core: Core) -> NDArray[np.bool_] | None:
    """Return, by arm, whether it keeps up with the answer; None if the policy is not a chase."""
    return None if core.rule.live is None else core.rule.live.keeps_up()


def _tried_in_race(core: Core) -> int:
    """Return how many arms have a result that counts and are not withdrawn."""
    return core.ledger.tried - sum(1 for arm in core.labels.withdrawn if core.ledger.counts[arm])


def _ranked(core: Core, k: int | None) -> list[int]:
    """Return arms with a result that counts, best first; with k, at least the k best of them."""
    if core.rule.live is None:
        counts, totals = core.ledger.counts, core.ledger.totals
        return heapq.nlargest(k or len(counts), core.tried(), key=lambda arm: totals[arm] / counts[arm])
    return [arm for arm in core.rule.live.ranking(k) if core.ledger.counts[arm]]


def _recommendation(core: Core, arm: int) -> Recommendation:
    return Recommendation(
        core.labels.label(arm), core.mean(arm), core.ledger.counts[arm], core.rule.record.level(core.rule.arrays, arm)
    )


def _summary(core: Core, arm: int) -> ArmSummary:
    count = core.ledger.counts[arm]
    mean = core.mean(arm) if count else None
    return ArmSummary(
        core.labels.label(arm), mean, count, core.rule.record.level(core.rule.arrays, arm), arm in core.labels.withdrawn
    )
