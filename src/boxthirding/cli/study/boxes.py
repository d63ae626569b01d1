"""The boxes or the ladder of a study as a drawing: the highest on top, no wider than the screen."""

from typing import TYPE_CHECKING

from boxthirding._text import apart, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from boxthirding.session import Box, Rung
    from boxthirding.types import Label

_LABEL, _FEWEST = 12, 4  # letters of a label that are shown, at most and at least
_AROUND = 10  # columns of a box that are no labels
SEATS = 3  # arms of a box that are shown
_LONGEST = 40  # letters of a label in a ladder
_BESIDE = 24  # columns beside the boxes, or beside the arms of a rung


def drawn(boxes: "Sequence[Box]", best: "Label | None", console: "Console") -> "Table":
    """Return the drawing; the recommended arm stands out."""
    from rich.table import Table
    from rich.text import Text

    labels = [arm.label for box in boxes for arm in box.arms]
    width = max(20, console.width - _BESIDE)
    letters = min(_LABEL, max(_FEWEST, (width - _AROUND) // SEATS))
    names = Names(labels, letters, dots_of(console), best=best)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.show_header = True
    for heading, justify in (("level", "right"), ("boxes", "left"), ("dropped", "right")):
        table.add_column(Text(heading, "dim"), justify=justify, no_wrap=True)  # type: ignore[arg-type]  # one of the words that rich knows
    for level in range(max((box.level for box in boxes), default=-1), -1, -1):
        here = {box.deferment: box for box in boxes if box.level == level}
        pile = here.pop(None, None)
        last = max((deferment for deferment in here if deferment is not None), default=-1)
        row = _row([here.get(deferment) for deferment in range(last + 1)], names, width)
        table.add_row(str(level), row, f"{pile.size:,}" if pile else "")
    return table


def climbed(ladder: "Sequence[Rung]", console: "Console") -> "Table":
    """Return the drawing of a ladder: a row for each rung, with the best of its arms."""
    from rich.table import Table
    from rich.text import Text

    width = max(20, console.width - _BESIDE)
    labels = [arm.label for rung in ladder for arm in rung.arms]
    rows = [[(len(one_line(arm.label)), len(arm.standing)) for arm in rung.arms] for rung in ladder]
    fits = (n for n in range(_LONGEST, _FEWEST, -1) if all(_columns(row, n) <= width for row in rows))
    names = Names(labels, next(fits, _FEWEST), dots_of(console))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.show_header = True
    for heading, justify in (("pulls", "right"), ("arms", "right"), ("the best of them", "left")):
        table.add_column(Text(heading, "dim"), justify=justify, no_wrap=True)  # type: ignore[arg-type]  # one of the words that rich knows
    for rung in reversed(ladder):
        row = Text()
        for place, arm in enumerate(rung.arms):
            style = "bold green" if arm.standing == "leads" else "bold" if arm.standing else "default"
            row.append(", " if place else "").append(f"{names.short(arm.label)} {arm.standing}".rstrip(), style)
        keep_up = (rung.keep_up or 0) - sum(arm.standing == "keeps up" for arm in rung.arms)
        if keep_up > 0:
            row.append(f", {keep_up:,} more", "bold")
        pulls = f"{rung.fewest:,}" if rung.fewest == rung.most else f"{rung.fewest:,}-{rung.most:,}"
        table.add_row(pulls, f"{rung.size:,}" if rung.size else "", row)
    return table


def _columns(row: "Sequence[tuple[int, int]]", letters: int) -> int:
    """Return the width of a rung whose labels are cut to a number of letters."""
    return sum(min(letters, label) + standing + 3 for label, standing in row)


def _row(boxes: "Sequence[Box | None]", names: "Names", width: int) -> "Text":
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


def _box(box: "Box | None", names: "Names") -> "Text":
    from rich.text import Text

    text = Text("[", "bright_black")
    arms = () if box is None else box.arms
    shown = sorted(arms, key=lambda arm: arm.label != names.best)[:SEATS]  # the best one first, if it is here
    for place, arm in enumerate(shown):
        style = "bold green" if arm.label == names.best else "default"
        text.append(" " if place else "").append(names.short(arm.label), style)
    if box is not None and box.size > len(shown):
        text.append(f" +{box.size - len(shown):,}", "dim")
    return text.append("]" if arms else " ]", "bright_black")


class Names:
    """How arms are called where there is little room: long labels are shown from where they differ."""

    def __init__(self, labels: "Iterable[Label]", width: int, dots: str, *, best: "Label | None" = None) -> None:
        from rich.cells import cell_len

        self.best, self.dots = best, dots
        self._width = width
        texts = [*map(one_line, labels)]
        letters = width if all(cell_len(text) == len(text) for text in texts) else width // 2  # some take two columns
        self._apart = apart(texts, letters, dots)

    def short(self, label: "Label") -> str:
        """Return a label in a few letters."""
        text = one_line(label)
        return shortened(self._apart.get(text, text), self._width, self.dots)


def dots_of(console: "Console") -> str:
    """Return what stands for letters that are left out."""
    return "..." if console.options.ascii_only else "…"


def one_line(label: "Label") -> str:
    """Return a label without line breaks, as it can be shown."""
    return visible(" ".join(str(label).split()))


def shortened(label: "Label", width: int, dots: str) -> str:
    """Return a label on one line, in so many columns of a screen at most."""
    from rich.cells import cell_len, set_cell_size

    text = one_line(label)
    return text if cell_len(text) <= width else set_cell_size(text, width - len(dots)).rstrip() + dots
