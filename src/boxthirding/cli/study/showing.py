"""`boxthirding study show`: the boxes or the ladder, the best arms and the screening chance of a study."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from boxthirding._checks import whole
from boxthirding._text import counted, writer
from boxthirding.cli.study.boxes import SEATS
from boxthirding.cli.study.opening import json_option, of_a_study, reached

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from boxthirding.session import Box, Rung, View

_TOP = 5  # arms that are shown
_HOLDERS = 5  # that are named
_NUMBERS = 36  # columns beside a label


@click.command()
@of_a_study
@click.option("--top", type=int, metavar="N", help=f"How many of the best arms to show.  [default: {_TOP}]")
@json_option
def show(*, url: str, name: str | None, top: int | None, as_json: bool) -> None:
    """Show STUDY: its boxes or ladder, what it recommends now, and the chance that a good arm is still in the race."""
    if top is not None:
        whole("--top", top, least=1)
    with reached(url, name) as study:
        view, boxes, ladder = study.view(), study.boxes(count=SEATS), study.ladder(count=SEATS)
        if top is not None:
            view = replace(view, top=tuple(study.top(top)))
    if as_json:
        click.echo(json.dumps(_as_json(view, boxes, ladder)))
    else:
        _print(replace(view, top=view.top[: _TOP if top is None else top]), boxes, ladder)


def _as_json(view: "View", boxes: "Sequence[Box]", ladder: "Sequence[Rung]") -> dict[str, Any]:
    drawn, rungs = (
        [{**one._asdict(), "arms": [arm._asdict() for arm in one.arms]} for one in many] for many in (boxes, ladder)
    )
    return {**view.as_dict(), "drawn": drawn, "ladder": rungs}


def _print(view: "View", boxes: "Sequence[Box]", ladder: "Sequence[Rung]") -> None:
    from rich.console import Console

    from boxthirding.cli.study.boxes import climbed, drawn
    from boxthirding.find.summary import aside_in_words

    console = Console(highlight=False, markup=False)
    arms = "arms from an iterator" if view.arms is None else counted(view.arms, "arm")
    console.print(f"Study {view.name}: {view.status}", style="bold")
    policy = f"policy {view.policy}, seed {view.seed}, {view.direction}; {arms}"
    console.print(_folded(policy, console.width), soft_wrap=True)
    console.print(_progress(view, console.width), soft_wrap=True)
    if view.excluded:
        console.print(f"excluded: {', '.join(view.excluded)}", soft_wrap=True)
    if view.aside:
        console.print(aside_in_words(view), soft_wrap=True)
    console.print()
    if view.recommendation is None:
        console.print("No result yet." if view.spent == 0 else "No result counts: their holders are excluded.")
        return
    console.print(drawn(boxes, view.recommendation.label, console) if boxes else climbed(ladder, console))
    console.print()
    _print_top(view, console)
    if view.screening is not None:
        console.print()
        console.print(f"{view.screening}.")


def _progress(view: "View", width: int) -> str:
    """Say how many results count, and who has open tickets: in one line, or in a line for each holder."""
    text = counted(view.pulls, "pull")
    if view.per_minute is not None:
        text += f", {_rate(view.per_minute)} a minute"
    free = view.open - sum(view.holders.values())
    parts = [f"{name} has {number:,}" for name, number in list(view.holders.items())[:_HOLDERS]]
    others = list(view.holders.values())[_HOLDERS:]
    if others:
        have = "has" if len(others) == 1 else "have"
        parts.append(f"{counted(len(others), 'other holder')} {have} {sum(others):,}")
    if free > 0:
        have = "has" if free == 1 else "have"
        parts.append(f"{free:,} {have} no holder: the next to ask is given {'it' if free == 1 else 'them'}")
    if not parts:
        return _folded(f"{text}; no ticket is open", width)
    head = f"{text}; {counted(view.open, 'ticket')} open:"
    line = f"{head} {', '.join(parts)}"
    return line if len(line) <= width else "\n  ".join([head, *parts])


def _folded(text: str, width: int) -> str:
    """Break a line that is too long for the screen where a part of its sentence ends."""
    return text if len(text) <= width else text.replace("; ", ";\n  ")


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"  # noqa: PLR2004  # then digits say nothing


def _print_top(view: "View", console: "Console") -> None:
    from rich.table import Table
    from rich.text import Text

    from boxthirding.cli.study.boxes import Names, dots_of, one_line
    from boxthirding.find.summary import order_in_words

    top = view.top
    names = Names([arm.label for arm in top], max(20, console.width - _NUMBERS), dots_of(console))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.show_header = True
    table.add_column(Text("best arms", "dim"), no_wrap=True)
    has_levels = any(arm.level is not None for arm in top)
    for heading in ("mean", "pulls", *(["level"] if has_levels else [])):
        table.add_column(Text(heading, "dim"), justify="right", no_wrap=True)
    write = writer(arm.mean for arm in top)
    for place, (label, mean, pulls, level) in enumerate(top):
        cells = [write(mean), f"{pulls:,}", *(["" if level is None else str(level)] if has_levels else [])]
        table.add_row(Text(names.short(label)), *cells, style="bold" if place == 0 else None)
    console.print(table)
    order = order_in_words(top, view.direction)
    if order:
        console.print(order)
    if names.short(top[0].label) != one_line(top[0].label):
        console.print()
        console.print(f"Best so far: {one_line(top[0].label)}", style="bold", soft_wrap=True)
