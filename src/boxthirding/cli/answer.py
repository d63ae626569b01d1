"""The answer of a run, as a person or a program reads it, and its best arms measured again."""

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from boxthirding._text import counted, in_one_line, sentence, visible, writer
from boxthirding.cli.output import format_error, label_shortener
from boxthirding.cli.study_options import format_columns
from boxthirding.errors import EvaluationFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from boxthirding.find import Confirmation, Confirmed, Found
    from boxthirding.types import Label

_GOOD = 0.01  # the share of arms that the screening speaks of


@dataclass
class Answer:
    """What was found, and what went wrong on the way."""

    found: "Found"
    top: int
    paired: bool
    """Whether there are examples, which all arms share."""
    problem: str | None = None
    confirmed: "Confirmation | None" = None
    interrupted: bool = False
    pulls: int = 0
    """New runs of each arm, that were wanted."""

    def confirm(self, pulls: int) -> None:
        """Measure the reported arms again, unless something has ended the run before its time."""
        if self.problem is not None or self.interrupted or self.found.recommendation is None:
            return
        try:
            self.pulls = pulls
            self.confirmed = self.found.confirm(self.top, pulls)
            missing = sum(pulls - arm.pulls for arm in self.confirmed.arms)
            self.interrupted = missing > self.confirmed.failures  # by Ctrl-C, which returns what there is
        except EvaluationFailed as error:
            self.confirmed, self.problem = error.confirmation, in_one_line(format_error(error))

    def written(self, *, as_json: bool) -> str:
        """Return the answer as text, or as one JSON object."""
        return json.dumps(self._as_dict()) if as_json else self._report()

    def _as_dict(self) -> dict[str, Any]:
        found = self.found
        spending = found.spending
        screening = found.session.screening(_GOOD)
        best = {"label": None, "mean": None, "pulls": 0, "level": None}
        if found.recommendation is not None:
            best = found.recommendation._asdict()
        return {
            "best": best.pop("label"),
            **best,
            "top": [arm._asdict() for arm in found.top(self.top)],
            "stopped": found.stopped,
            "error": self.problem,
            "spending": {
                "pulls": spending.pulls,
                "elsewhere": spending.elsewhere,
                "failures": spending.failures,
                "abandoned": spending.abandoned,
                "cost": spending.cost,
                "seconds": spending.seconds,
                "unit": spending.unit,
                "limit": spending.limit,
                "left": spending.left,
            },
            "screening": None if screening is None else asdict(screening),
            "history": found.history,
            "confirmed": None if self.confirmed is None else [*map(self._again_as_dict, self.confirmed.arms)],
        }

    def _report(self) -> str:
        """Return the answer, the arms that come next, and what it took."""
        from boxthirding.find.summary import order_in_words

        found, lines = self.found, []
        if found.recommendation is None:
            lines.append("No arm has a result.")
        else:
            lines += [f"Best arm: {visible(found.label)}", *_row(found.recommendation.label, found.best), ""]
            ranked = found.top(self.top)
            labels = _short([arm.label for arm in ranked], beside=21)
            width = max(map(len, ("arm", *labels)))
            write = writer(arm.mean for arm in ranked)
            lines.append(f"{'arm':{width}}  {'mean':>10}  {'pulls':>7}")
            for label, arm in zip(labels, ranked, strict=True):
                lines.append(f"{label:{width}}  {write(arm.mean):>10}  {arm.pulls:>7,}")
            order = order_in_words(ranked, found.session.view().direction)
            lines += [order, ""] if order else [""]
        lines += map(sentence, found.account())
        screening = found.session.screening(_GOOD)
        if found.recommendation is not None and screening is not None:
            lines.append(sentence(screening))
        if self.confirmed is not None:
            lines += ["", *self._again(self.confirmed)]
        elif found.recommendation is not None:
            runs = counted(50 * len(found.top(self.top)), "more run")
            lines.append(f"Winners look better than they are: --confirm 50 measures them again, by {runs}.")
        return "\n".join(lines)

    def _again(self, confirmed: "Confirmation") -> list[str]:
        """Return what the new runs say, arm by arm in the order of the search, so that no mean is a selected one."""
        rows = [["arm", "new mean", "95 % interval"]]
        labels = _short([arm.label for arm in confirmed.arms], beside=32)
        write = writer(end for arm in confirmed.arms for end in (arm.mean, arm.low, arm.high))
        for label, arm in zip(labels, confirmed.arms, strict=True):
            mean = "no result" if arm.mean is None else write(arm.mean)
            rows.append([label, mean, _interval(arm.low, arm.high, write)])
        if any(arm.pulls != self.pulls for arm in confirmed.arms):
            runs = ["runs", *(f"{arm.pulls:,}" for arm in confirmed.arms)]
            rows = [[*row, cell] for row, cell in zip(rows, runs, strict=True)]
        if all(arm.low is None for arm in confirmed.arms):  # scores do not differ, or are too few
            rows = [[*row[:2], *row[3:]] for row in rows]
        first, *others = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
        lines = [f"Measured again, by {counted(self.pulls, 'new run')} each:"]
        for label, *cells in rows:
            right = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, others, strict=True))
            lines.append(f"{label:{first}}  {right}")
        if self.paired and len(confirmed.arms) > 1:
            less = writer(end for arm in confirmed.arms for end in arm.difference or ())
            lines += ["On the same examples, less the first arm:"]
            lines += [_difference(label, arm, less) for label, arm in zip(labels[1:], confirmed.arms[1:], strict=True)]
        if confirmed.failures:
            are = "is" if confirmed.failures == 1 else "are"
            lines.append(f"{counted(confirmed.failures, 'run')} failed and {are} left out.")
        if self.paired and confirmed.seen:
            pulls = counted(confirmed.seen, "run")
            lines.append(f"{pulls} of each arm may be on examples of the search: there were no others.")
        return lines

    def _again_as_dict(self, arm: "Confirmed") -> dict[str, Any]:
        less = arm.difference if self.paired else None
        facts = {name: value for name, value in vars(arm).items() if name != "arm"}
        return {**facts, "difference": None if less is None else less._asdict()}


def _row(label: "Label", arm: Any) -> list[str]:
    """Return the line with the columns of an arm, where its file has any."""
    row = visible(format_columns(label, arm))
    return [f"  {row}"] if row else []


def _short(labels: "Sequence[Label]", beside: int) -> list[str]:
    """Return labels as there is room for them, with so many columns of the screen beside them."""
    from rich.console import Console

    console = Console()
    return [*map(label_shortener(labels, max(8, console.width - beside), console), labels)]


def _interval(low: float | None, high: float | None, write: "Callable[[float], str]") -> str:
    return "" if low is None or high is None else f"{write(low)} to {write(high)}"


def _difference(label: str, arm: "Confirmed", write: "Callable[[float], str]") -> str:
    less = arm.difference
    if less is None or less.mean is None:
        return f"  {label}: no result"
    within = _interval(less.low, less.high, write)
    return f"  {label}: {write(less.mean)}{f' ({within})' if within else ''}"
