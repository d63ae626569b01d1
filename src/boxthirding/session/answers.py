"""What can be said of a session: which arm is best, which come next, why, and all of it at one moment."""

import heapq
import math
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from boxthirding._checks import is_number, whole
from boxthirding.errors import InvalidInput
from boxthirding.policies.spec import shown
from boxthirding.screening import non_inclusion
from boxthirding.session import examples
from boxthirding.session.core import Core
from boxthirding.session.history import Moment, Row
from boxthirding.session.outliers import set_aside
from boxthirding.session.values import (
    PAGE,
    ArmResult,
    ArmSummary,
    Box,
    BoxSize,
    Climber,
    Glance,
    Lineage,
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
"""Arms in a view, and results that are set aside."""

GOOD: Final = 0.01
"""The share of arms that a view's screening speaks of."""

ORDERS: Final = ("best", "tried", "latest", "given")
COLUMNS: Final = ("mean", "pulls", "level", "label")
"""What arms are sorted by in `arms`: the smallest first, with a minus (-pulls) the largest."""

_OUTCOMES = ("lifted", "shifted", "discarded")


def best_of(core: Core) -> int:
    """Return the number of the recommended arm, or NONE."""
    arm = NONE if core.live is None else core.live.recommend()
    ledger = core.ledger
    if arm != NONE and ledger.counts[arm]:
        return arm
    # No job has ended yet, or the rule does not know yet that results were excluded: an arm with a result, if any (S12)
    best = NONE
    for number, count in enumerate(ledger.counts):
        if count and number not in core.withdrawn:
            mean = ledger.totals[number] / count
            if best == NONE or mean > ledger.totals[best] / ledger.counts[best]:
                best = number
    return best


def recommend(core: Core) -> Recommendation | None:
    """Return the best arm so far, or None before the first result."""
    arm = best_of(core)
    return None if arm == NONE else _recommendation(core, arm)


def note(core: Core, at: float | None = None) -> None:
    """Keep the answer in the history, if it or its mean has become another one, or a while has passed."""
    arm = NONE if core.live is None else best_of(core)
    if arm == NONE:
        return
    results, mean = core.ledger.rows, _mean(core, arm)
    if core.history.is_news(results, arm, mean):
        core.history.keep(Row(results, arm, mean, core.ledger.tried, at))


def history(core: Core) -> list[Moment]:
    """Return what the answer was over time, and last what it is now."""
    rows = list(core.history.rows)
    best = best_of(core)
    if best != NONE:
        if rows and rows[-1].results == core.ledger.rows:
            rows.pop()
        rows.append(Row(core.ledger.rows, best, _mean(core, best), core.ledger.tried, None))
    return [Moment(row.results, core.labels.label(row.arm), *row[2:]) for row in rows]


def since(core: Core) -> Moment | None:
    """Return the moment at which the present answer became that, as far as it was noted."""
    row = core.history.since
    if row is None or row.arm != best_of(core):
        return None
    return Moment(row.results, core.labels.label(row.arm), *row[2:])


def spread(core: Core, labels: Iterable[Label]) -> Spread:
    """Return how far results lie from the mean of their arm, over all arms and for some."""
    numbers = {label: core.labels.find(label) for label in labels}
    squares, freedom, few, own = core.ledger.spread(arm for arm in numbers.values() if arm is not None)
    return Spread(squares, freedom, few, {label: own[arm] for label, arm in numbers.items() if arm is not None})


def top(core: Core, k: int) -> list[Recommendation]:
    """Return the k best arms so far, the recommended one first."""
    whole("k", k, least=1)
    best = best_of(core)
    ranked = [arm for arm in _ranked(core, k + 1) if arm != best]
    return [_recommendation(core, arm) for arm in ([best] if best != NONE else [])[:k] + ranked[: k - 1]]


def glance(core: Core) -> Glance:
    """Return the counts and the answer."""
    still_open = len(core.tickets.open)
    held = still_open - len(core.tickets.free)
    return Glance(core.ledger.pulls, core.ledger.spent, still_open, held, recommend(core))


def arms(core: Core, first: int, count: int, order: str, search: str | None) -> list[ArmSummary]:
    """Return a page of the arms: those that were tried, sorted, or all of them as given."""
    whole("first", first, least=0)
    whole("count", count, least=1)
    if order not in ORDERS and str(order).removeprefix("-") not in COLUMNS:
        raise InvalidInput(
            f"order is {order!r}, but must be one of {', '.join(ORDERS + COLUMNS)}, the last four also with a minus"
        )
    if search is not None and not isinstance(search, str):
        raise InvalidInput(f"search is {search!r}, but must be a text that labels contain")
    if order == "given":
        return _as_given(core, first, count, search)
    numbers = (
        _best_first(core, None if search is not None else first + count) if order == "best" else _sorted(core, order)
    )
    if search is not None:
        wanted = search.casefold()
        numbers = [arm for arm in numbers if wanted in str(core.labels.label(arm)).casefold()]
    return [_summary(core, arm) for arm in numbers[first : first + count]]


def _best_first(core: Core, k: int | None) -> list[int]:
    """Return the arms that were tried, best first and those out of the race last; with k, at least k of them."""
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
        "mean": lambda arm: _mean(core, arm),
        "pulls": lambda arm: counts[arm],
        "level": lambda arm: -1 if (level := _level(core, arm)) is None else level,
        "label": lambda arm: str(labels.label(arm)).casefold(),
    }[order.removeprefix("-")]
    return sorted(tried, key=key, reverse=order.startswith("-"))


def _as_given(core: Core, first: int, count: int, search: str | None) -> list[ArmSummary]:
    """Return a page of all arms, tried or not, in the order in which they were given."""
    labels = core.labels
    if search is None:
        found = [labels.given(place) for place in range(first, min(first + count, labels.count))]
    else:
        wanted = search.casefold()
        every = (labels.given(place) for place in range(labels.count))
        found = list(islice((one for one in every if wanted in str(one).casefold()), first, first + count))
    arms = [(label, labels.find(label)) for label in found]
    return [
        ArmSummary(label, None, 0, None, labels.is_gone(label)) if arm is None else _summary(core, arm)
        for label, arm in arms
    ]


def results(core: Core, label: Label, first: int, count: int) -> list[ArmResult]:
    """Return a page of the results of an arm, the latest first, excluded ones too."""
    whole("first", first, least=0)
    whole("count", count, least=1)
    arm = core.labels.find(label)
    if arm is None:
        return []
    rows = core.ledger.rows_of_arm(arm)[::-1][first : first + count].tolist()
    counts = set(core.ledger.counting_of(arm).tolist())
    results = [(core.ledger.result(row), row in counts) for row in rows]
    return [
        ArmResult(None if result.ticket == NONE else result.ticket, result.holder, result.reward, is_counted)
        for result, is_counted in results
    ]


def boxes(core: Core, level: int | None = None, first: int = 0, count: int = PAGE) -> list[Box]:
    """Return the boxes and piles of a level, or of all levels from the lowest up, each with a page of its arms."""
    whole("first", first, least=0)
    whole("count", count, least=1)
    if core.live is None:
        return []
    if level is not None:
        level = whole("level", level, least=0)
    state = core.live.arrays
    return [
        Box(
            here,
            deferment,
            size,
            tuple(
                Rival(core.labels.label(arm.number), core.sign * arm.mean, arm.pulls)
                for arm in core.record.contents(state, here, deferment, first, count)
            ),
        )
        for here, deferment, size in core.record.sizes(state)
        if level is None or level == here
    ]


def ladder(core: Core, pulls: int | None = None, first: int = 0, count: int = PAGE) -> list[Rung]:
    """Return the rungs from the lowest to the highest that holds an arm, or the one of some pulls."""
    whole("first", first, least=0)
    whole("count", count, least=1)
    if pulls is not None:
        whole("pulls", pulls, least=1)
    counts = np.array(core.ledger.counts, int)
    counts[[arm for arm in core.withdrawn if arm < len(counts)]] = 0
    tried = np.flatnonzero(counts)
    if not len(tried):
        return []
    counts = counts[tried]
    means = np.array(core.ledger.totals)[tried] / counts
    best, kept = best_of(core), _keeping_up(core)
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


def why(core: Core, label: Label) -> Lineage:
    """Return the story of an arm: the boxes it was in, its rivals there, and where it stands now."""
    arm = core.labels.find(label)
    if arm is None:
        return Lineage(label, None, 0, (), "withdrawn" if core.labels.is_gone(label) else "in the pool")
    steps = []
    for meeting in core.record.meetings(arm):
        mine = [met.number for met in meeting.arms].index(arm)
        rivals = tuple(
            Rival(core.labels.label(met.number), core.sign * met.mean, met.pulls)
            for met in meeting.arms
            if met.number != arm
        )
        outcome = _OUTCOMES[mine] if rivals else "introduced"
        _, mean, pulls = meeting.arms[mine]
        steps.append(Step(meeting.at, outcome, meeting.level, meeting.deferment, core.sign * mean, pulls, rivals))
    mean_now = _mean(core, arm) if core.ledger.counts[arm] else None
    return Lineage(label, mean_now, core.ledger.counts[arm], tuple(steps), _place(core, arm))


def _keeping_up(core: Core) -> NDArray[np.bool_] | None:
    """Return, by arm, whether it keeps up with the answer; None, if the policy is not a chase."""
    return None if core.live is None else core.live.keeps_up()


def _place(core: Core, arm: int) -> str:
    """Say where an arm stands now: whether it is the answer or keeps up with it, and in which box it is."""
    if arm in core.withdrawn:
        return "withdrawn"
    box = "" if core.live is None else core.record.place(core.live.arrays, arm)
    if arm == best_of(core):
        joint = ", though " if box.startswith("discarded") else "; "  # those above it may be withdrawn or excluded
        return f"the answer{joint}{box}" if box else "the answer"
    kept = _keeping_up(core)
    return box if kept is None or arm >= len(kept) or not kept[arm] else "keeps up with the answer"


def screening(core: Core, share: float) -> Screening | None:
    """Return the chance, exact, that an arm of the best `share` of all is among those that could still be returned.

    The candidate set is a random one of its size, whatever the rewards: None, where known results have put some arms
    before others. With an iterator the chance is that for infinitely many arms.
    """
    if not (is_number(share) and 0 < share <= 1):
        raise InvalidInput(f"share is {share!r}, but must lie in (0, 1]: 0.01 for the top 1 %")
    if not core.is_in_random_order or core.live is None:
        return None
    candidates = core.record.candidates(core.live.arrays)
    if candidates is None:
        candidates = _tried_and_there(core)
    if core.labels.open_ended:
        return Screening(1 - (1 - share) ** candidates, candidates, None, share)
    there = core.arms_there
    good = max(1, math.floor(share * there + 1e-9)) if there else 0
    if not there:
        return Screening(0.0, candidates, there, share)
    return Screening(1 - non_inclusion(there, good, candidates), candidates, there, share)


def _tried_and_there(core: Core) -> int:
    """Return how many arms have a result that counts and are not withdrawn."""
    return core.ledger.tried - sum(1 for arm in core.withdrawn if core.ledger.counts[arm])


def view(core: Core, *, name: str | None, status: str, per_minute: float | None) -> View:
    """Return all that can be read, at one moment."""
    ledger, tickets = core.ledger, core.tickets
    sizes = [] if core.live is None else core.record.sizes(core.live.arrays)
    return View(
        name=name,
        status="known" if status == "open" and examples.is_over(core) else status,
        policy="" if core.live is None else shown(core.policy),
        seed=core.seed,
        direction=core.direction,
        arms=None if core.labels.open_ended else core.arms_there,
        tried=ledger.tried,
        untried=None if core.labels.open_ended else core.arms_there - _tried_and_there(core),
        withdrawn=len(core.withdrawn) + core.labels.gone,
        pulls=ledger.pulls,
        spent=ledger.spent,
        open=len(tickets.open),
        wanted=core.wanted.pulls,
        holders=tickets.held_by,
        excluded=tuple(sorted(ledger.excluded)),
        aside=len(ledger.aside),
        set_aside=tuple(set_aside(core, TOP)),
        recommendation=recommend(core),
        top=tuple(top(core, TOP)),
        boxes=tuple(BoxSize(*size) for size in sizes),
        screening=screening(core, GOOD),
        per_minute=per_minute,
    )


def _ranked(core: Core, k: int | None) -> list[int]:
    """Return arms with a result that counts, best first; with k, at least the k best of them."""
    if core.live is None:
        counts, totals = core.ledger.counts, core.ledger.totals
        tried = [arm for arm, count in enumerate(counts) if count and arm not in core.withdrawn]
        if k is None:
            return sorted(tried, key=lambda arm: -totals[arm] / counts[arm])
        return heapq.nlargest(k, tried, key=lambda arm: totals[arm] / counts[arm])
    return [arm for arm in core.live.ranking(k) if core.ledger.counts[arm]]


def _mean(core: Core, arm: int) -> float:
    return core.sign * core.ledger.totals[arm] / core.ledger.counts[arm] + 0.0  # never -0


def _level(core: Core, arm: int) -> int | None:
    return None if core.live is None else core.record.level(core.live.arrays, arm)


def _recommendation(core: Core, arm: int) -> Recommendation:
    return Recommendation(core.labels.label(arm), _mean(core, arm), core.ledger.counts[arm], _level(core, arm))


def _summary(core: Core, arm: int) -> ArmSummary:
    count = core.ledger.counts[arm]
    mean = _mean(core, arm) if count else None
    return ArmSummary(core.labels.label(arm), mean, count, _level(core, arm), arm in core.withdrawn)
