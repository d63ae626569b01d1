"""The boxes of a study as a drawing: a row for each level, the highest on top, no wider than the screen."""

from os.path import commonprefix
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from boxthirding.session import Box
    from boxthirding.types import Label

_LABEL = 12  # letters of a label that are shown
_SEATS = 3  # arms of a box that are shown
_BESIDE = 24  # columns beside the boxes


def drawn(boxes: "Sequence[Box]", best: "Label | None", console: "Console") -> "Table":
    """Return the drawing; the recommended arm stands out."""
    from rich.table import Table
    from rich.text import Text

    names = _Names(boxes, best, "..." if console.options.ascii_only else "…")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.show_header = True
    for heading, justify in (("level", "right"), ("boxes", "left"), ("dropped", "right")):
        table.add_column(Text(heading, "dim"), justify=justify, no_wrap=True)  # type: ignore[arg-type]  # one of the words that rich knows
    width = max(20, console.width - _BESIDE)
    final = next((box for box in boxes if box.level is None), None)
    if final is not None:
        table.add_row("final", _row([final], names, width), "")
    levels = {box.level for box in boxes if box.level is not None}
    for level in range(max(levels, default=-1), -1, -1):
        here = {box.deferment: box for box in boxes if box.level == level}
        pile = here.pop(None, None)
        last = max((deferment for deferment in here if deferment is not None), default=-1)
        row = _row([here.get(deferment) for deferment in range(last + 1)], names, width)
        table.add_row(str(level), row, f"{len(pile.arms):,}" if pile else "")
    return table


def _row(boxes: "Sequence[Box | None]", names: "_Names", width: int) -> "Text":
    """Return as many boxes as there is room for, and how many are left out."""
    from rich.text import Text

    row = Text()
    for place, box in enumerate(boxes):
        left = len(boxes) - place
        text = _box(box, names)
        more = f"{names.dots} {left} more"
        room = width - row.cell_len - (len(more) + 1 if left > 1 else 0)
        if text.cell_len > room and place:
            return row.append(more, "dim")
        row.append_text(text).append(" ")
    return row


def _box(box: "Box | None", names: "_Names") -> "Text":
    from rich.text import Text

    text = Text("[", "bright_black")
    arms = () if box is None else box.arms
    shown = sorted(arms, key=lambda arm: arm.label != names.best)[:_SEATS]  # the best one first, if it is here
    for place, arm in enumerate(shown):
        style = "bold green" if arm.label == names.best else "default"
        text.append(" " if place else "").append(names.short(arm.label), style)
    if len(arms) > _SEATS:
        text.append(f" +{len(arms) - _SEATS:,}", "dim")
    return text.append("]" if arms else " ]", "bright_black")


class _Names:
    """How arms are called in a drawing: what long labels have in common at the beginning is left out."""

    def __init__(self, boxes: "Sequence[Box]", best: "Label | None", dots: str) -> None:
        labels = [one_line(arm.label) for box in boxes for arm in box.arms]
        self.best, self.dots = best, dots
        longest = max(map(len, labels), default=0)
        self._skipped = len(commonprefix(labels)) if longest > _LABEL else 0  # noqa: RUF071  # letter by letter is meant

    def short(self, label: "Label") -> str:
        """Return a label in a few letters."""
        text = one_line(label)
        if self._skipped > len(self.dots):
            text = self.dots + text[self._skipped :]
        return shortened(text, _LABEL, self.dots)


def one_line(label: "Label") -> str:
    """Return a label without line breaks."""
    return " ".join(str(label).split())


def shortened(label: "Label", width: int, dots: str) -> str:
    """Return a label on one line, in so many columns of a screen at most."""
    from rich.cells import cell_len, set_cell_size

    text = one_line(label)
    return text if cell_len(text) <= width else set_cell_size(text, width - len(dots)).rstrip() + dots
