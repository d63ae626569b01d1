"""`boxthirding study show`: the boxes or the ladder as a drawing, the best arms, and the screening chance."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from boxthirding._checks import whole
from boxthirding._text import counted, sentence, writer
from boxthirding.cli.output import dots, grid, label_shortener, one_line, plain_console
from boxthirding.cli.study_options import json_option, open_anywhere, study_argument
from boxthirding.session.values import as_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from boxthirding.session import Box, Rung, View
    from boxthirding.types import Label

_TOP = 5  # arms that are shown
_HOLDERS = 5  # that are named
_NUMBERS = 36  # columns beside a label
_SEATS = 3  # arms of a box or rung that are shown
_LABEL, _FEWEST = 12, 4  # letters of a label in a box, at most and at least
_AROUND = 10  # columns of a box that are not labels
_BESIDE = 24  # columns beside the boxes, or beside the arms of a rung


@click.command()
@study_argument
@click.option("--top", type=int, metavar="N", help=f"How many of the best arms to show.  [default: {_TOP}]")
@json_option
def show(*, url: str, name: str | None, top: int | None, as_json: bool) -> None:
    """Show STUDY: its boxes or ladder, what it recommends now, and the chance that a good arm is still in the race."""
    if top is not None:
        whole("--top", top, least=1)
    with open_anywhere(url, name) as study:
        view, boxes, ladder = study.view(), study.boxes(count=_SEATS), study.ladder(count=_SEATS)
        if top is not None:
            view = replace(view, top=tuple(study.top(top)))
    if as_json:
        click.echo(json.dumps({**view.as_dict(), "drawn": as_plain(boxes), "ladder": as_plain(ladder)}))
    else:
        _print(replace(view, top=view.top[: _TOP if top is None else top]), boxes, ladder)


def _print(view: "View", boxes: "Sequence[Box]", ladder: "Sequence[Rung]") -> None:
    from boxthirding.find.summary import aside_in_words

    console = plain_console()
    arms = "arms from an iterator" if view.arms is None else counted(view.arms, "arm")
    console.print(f"Study {view.name}: {view.status}", style="bold")
    policy = f"policy {view.policy}, seed {view.seed}, {view.direction}; {arms}"
    console.print(_fold(policy, console.width), soft_wrap=True)
    console.print(_format_progress(view, console.width), soft_wrap=True)
    if view.excluded:
        console.print(f"excluded: {', '.join(view.excluded)}", soft_wrap=True)
    if view.n_outliers:
        console.print(aside_in_words(view), soft_wrap=True)
    console.print()
    if view.recommendation is None:
        console.print("No result yet." if view.spent == 0 else "No result counts: their holders are excluded.")
        return
    console.print(_draw_boxes(boxes, view.recommendation.label, console) if boxes else _draw_ladder(ladder, console))
    console.print()
    _print_top(view, console)
    if view.screening is not None:
        console.print()
        console.print(sentence(view.screening))


def _format_progress(view: "View", width: int) -> str:
    """Return how many results count and who has open tickets: in one line, or in a line for each holder."""
    text = counted(view.pulls, "pull")
    if view.per_minute is not None:
        pace = view.per_minute
        text += f", {pace:,.0f} a minute" if pace >= 100 else f", {pace:.3g} a minute"  # noqa: PLR2004  # three digits
    free = view.open - sum(view.holders.values())
    parts = [f"{name} has {number:,}" for name, number in list(view.holders.items())[:_HOLDERS]]
    others = list(view.holders.values())[_HOLDERS:]
    if others:
        have = "has" if len(others) == 1 else "have"
        parts.append(f"{counted(len(others), 'other holder')} {have} {sum(others):,}")
    if free > 0:
        have, them = ("has", "it") if free == 1 else ("have", "them")
        parts.append(f"{free:,} {have} no holder: the next to ask is given {them}")
    if not parts:
        return _fold(f"{text}; no ticket is open", width)
    head = f"{text}; {counted(view.open, 'ticket')} open:"
    line = f"{head} {', '.join(parts)}"
    return line if len(line) <= width else "\n  ".join([head, *parts])


def _fold(text: str, width: int) -> str:
    """Break a line that is too long for the screen after its semicolons."""
    return text if len(text) <= width else text.replace("; ", ";\n  ")


def _print_top(view: "View", console: "Console") -> None:
    from rich.text import Text

    from boxthirding.find.summary import explain_order

    top = view.top
    short = label_shortener([arm.label for arm in top], max(20, console.width - _NUMBERS), console)
    numbers = ["mean", "pulls", *(["level"] if any(arm.level is not None for arm in top) else [])]
    table = grid(["best arms", *numbers], right=numbers)
    write = writer(arm.mean for arm in top)
    for place, (label, mean, pulls, level) in enumerate(top):
        cells = [write(mean), f"{pulls:,}", "" if level is None else str(level)][: len(numbers)]
        table.add_row(Text(short(label)), *cells, style="bold" if place == 0 else None)
    console.print(table)
    order = explain_order(top, view.direction)
    if order:
        console.print(order)
    if short(top[0].label) != one_line(top[0].label):
        console.print()
        console.print(f"Best so far: {one_line(top[0].label)}", style="bold", soft_wrap=True)


# Drawings, the highest level or rung on top, no wider than the screen


def _draw_boxes(boxes: "Sequence[Box]", best: "Label", console: "Console") -> "Table":
    """Return the boxes of each level; the recommended arm stands out."""
    from rich.text import Text

    labels = [arm.label for box in boxes for arm in box.arms]
    width = max(20, console.width - _BESIDE)
    short = label_shortener(labels, min(_LABEL, max(_FEWEST, (width - _AROUND) // _SEATS)), console)
    table = grid(["level", "boxes", "dropped"], right=["level", "dropped"])
    for level in range(max((box.level for box in boxes), default=-1), -1, -1):
        here = {box.deferment: box for box in boxes if box.level == level}
        pile = here.pop(None, None)
        number = max((deferment for deferment in here if deferment is not None), default=-1) + 1
        row = Text()
        for deferment in range(number):
            left = number - deferment
            box = _draw_box(here.get(deferment), best, short)
            more = f"{dots(console)} {left} more"
            room = width - row.cell_len - (len(more) + 1 if left > 1 else 0)
            if box.cell_len > room and deferment:
                row.append(more, "dim")
                break
            row.append_text(box).append(" ")
        table.add_row(str(level), row, f"{pile.size:,}" if pile else "")
    return table


def _draw_box(box: "Box | None", best: "Label", short: "Callable[[Label], str]") -> "Text":
    from rich.text import Text

    text = Text("[", "bright_black")
    arms = () if box is None else box.arms
    shown = sorted(arms, key=lambda arm: arm.label != best)[:_SEATS]  # the best one first, if it is here
    for place, arm in enumerate(shown):
        text.append(" " if place else "").append(short(arm.label), "bold green" if arm.label == best else "default")
    if box is not None and box.size > len(shown):
        text.append(f" +{box.size - len(shown):,}", "dim")
    return text.append("]" if arms else " ]", "bright_black")


def _draw_ladder(ladder: "Sequence[Rung]", console: "Console") -> "Table":
    """Return a row for each rung, with the best of its arms."""
    from rich.text import Text

    from boxthirding.session.values import folded

    width = max(20, console.width - _BESIDE)
    more = {rung.fewest: f", {rung.keep_up:,} more" if rung.keep_up else "" for rung in ladder}
    said = max((len(f" {rung.arms[0].standing}{more[rung.fewest]}") for rung in ladder if rung.arms), default=0)
    short = label_shortener([arm.label for rung in ladder for arm in rung.arms], max(_FEWEST, width - said), console)
    table = grid(["pulls", "arms", "the best of them"], right=["pulls", "arms"])
    for rung in reversed(folded(ladder)):
        row = Text()
        keep_up = rung.keep_up or 0
        for place, arm in enumerate(rung.arms):
            style = "bold green" if arm.standing == "leads" else "bold" if arm.standing else "default"
            name = Text(f"{short(arm.label)} {arm.standing}".rstrip(), style)
            if place and row.cell_len + len(", ") + name.cell_len + len(more[rung.fewest]) > width:
                break
            row.append(", " if place else "").append_text(name)
            keep_up -= arm.standing == "keeps up"
        if keep_up > 0:
            row.append(f", {keep_up:,} more", "bold")
        pulls = f"{rung.fewest:,}" if rung.fewest == rung.most else f"{rung.fewest:,}-{rung.most:,}"
        table.add_row(pulls, f"{rung.size:,}" if rung.size else "", row)
    return table
