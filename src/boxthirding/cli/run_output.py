"""The answer of a run, as a person or a program reads it, and its best arms measured again."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boxthirding._text import counted, in_one_line, sentence, visible, writer
from boxthirding.cli.output import format_error, label_shortener
from boxthirding.cli.study_options import format_columns
from boxthirding.errors import EvaluationFailed
from boxthirding.session.values import as_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from boxthirding.find import Confirmation, Found
    from boxthirding.types import Label

_SPENDING = ("pulls", "elsewhere", "failures", "abandoned", "cost", "seconds", "unit", "limit", "left")
_GOOD = 0.01  # the share of arms that the screening speaks of


@dataclass
class RunOutput:
    """What was found, and what went wrong on the way."""

    found: "Found"
    top: int
    paired: bool  # whether there are examples, which all arms share
    problem: str | None = None
    confirmed: "Confirmation | None" = None
    interrupted: bool = False

    def confirm(self, pulls: int) -> None:
        """Measure the reported arms again, unless something has ended the run before its time."""
        if self.problem is not None or self.interrupted or self.found.recommendation is None:
            return
        try:
            confirmed = self.found.confirm(self.top, pulls)
            missing = sum(pulls - arm.pulls for arm in confirmed.arms)
            self.interrupted = missing > confirmed.failures  # by Ctrl-C, which returns what there is
        except EvaluationFailed as error:
            confirmed, self.problem = error.confirmation, in_one_line(format_error(error))
        self.confirmed = confirmed if self.paired else confirmed.unpaired()

    def format(self, *, as_json: bool) -> str:
        """Return the answer as text, or as one JSON object."""
        return json.dumps(self._as_dict()) if as_json else self._report()

    def _as_dict(self) -> dict[str, Any]:
        found = self.found
        best = as_plain(found.recommendation) or {"label": None, "mean": None, "pulls": 0, "level": None}
        confirmed = None if self.confirmed is None else as_plain(self.confirmed.arms)
        for row in confirmed or ():
            del row["arm"]
        return {
            "best": best.pop("label"),
            **best,
            "top": as_plain(found.top(self.top)),
            "stopped": found.stopped,
            "error": self.problem,
            "spending": {name: getattr(found.spending, name) for name in _SPENDING},
            "screening": as_plain(found.session.screening(_GOOD)),
            "history": found.history,
            "confirmed": confirmed,
        }

    def _report(self) -> str:
        """Return the answer, the arms that come next, and what it took."""
        from boxthirding.find.summary import explain_order

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
            order = explain_order(ranked, found.session.view().direction)
            lines += [order, ""] if order else [""]
        lines += map(sentence, found.account())
        screening = found.session.screening(_GOOD)
        if found.recommendation is not None and screening is not None:
            lines.append(sentence(screening))
        if self.confirmed is not None:
            names = _short([arm.label for arm in self.confirmed.arms], beside=32)
            has_intervals = any(arm.low is not None for arm in self.confirmed.arms)
            title = "Measured again, with 95 % intervals:" if has_intervals else "Measured again:"
            lines += ["", title, *self.confirmed.lines(names)]
        elif found.recommendation is not None:
            runs = counted(50 * len(found.top(self.top)), "more run")
            lines.append(f"Winners look better than they are. --confirm 50 re-evaluates them ({runs}).")
        return "\n".join(lines)


def _row(label: "Label", arm: Any) -> list[str]:
    """Return the line with the columns of an arm, if its file has any."""
    row = visible(format_columns(label, arm))
    return [f"  {row}"] if row else []


def _short(labels: "Sequence[Label]", beside: int) -> list[str]:
    """Return labels as there is room for them, with so many columns of the screen beside them."""
    from rich.console import Console

    console = Console()
    return [*map(label_shortener(labels, max(8, console.width - beside), console), labels)]
