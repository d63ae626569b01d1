"""`boxthirding study show`: the boxes, the best arms and the screening chance of a study."""

import json
from typing import TYPE_CHECKING, Any

import click

from boxthirding.cli.drawing import counted
from boxthirding.cli.study.opening import json_option, of_a_study, opened

if TYPE_CHECKING:
    from rich.console import Console

    from boxthirding.study import Study

_TOP = 5
_GOOD = 0.01  # the share of arms that the screening speaks of
_HOLDERS = 5  # that are named
_NUMBERS = 36  # columns beside a label


@click.command()
@of_a_study
@json_option
def show(*, url: str, name: str | None, as_json: bool) -> None:
    """Show STUDY: its boxes, what it recommends now, and the chance that a good arm is still in the race."""
    with opened(url, name) as study:
        if as_json:
            click.echo(json.dumps(_as_json(study)))
        else:
            _print(study)


def _as_json(study: "Study") -> dict[str, Any]:
    from boxthirding.study.settings import written

    best, screening = study.recommend(), study.screening(_GOOD)
    return {
        "name": study.name,
        "status": study.status,
        "policy": written(study.policy),
        "seed": study.seed,
        "direction": study.direction,
        "arms": screening.arms,
        "pulls": study.pulls,
        "out": study.waiting,
        "holders": _holders(study),
        "best": None if best is None else best._asdict(),
        "top": [arm._asdict() for arm in study.top(_TOP)],
        "screening": {
            "share": _GOOD,
            "probability": screening.probability,
            "candidates": screening.candidates,
        },
        "boxes": [
            {"level": box.level, "deferment": box.deferment, "arms": [arm._asdict() for arm in box.arms]}
            for box in study.boxes()
        ],
    }


def _holders(study: "Study") -> dict[str, int]:
    """Return how many tickets each holder has."""
    holders: dict[str, int] = {}
    for lent in study.lent():
        if lent.holder is not None:
            holders[lent.holder] = holders.get(lent.holder, 0) + 1
    return holders


def _print(study: "Study") -> None:
    from rich.console import Console

    from boxthirding.cli.study.boxes import drawn
    from boxthirding.study.settings import written

    console = Console(highlight=False, markup=False)
    screening, best = study.screening(_GOOD), study.recommend()
    arms = "arms from an iterator" if screening.arms is None else counted(screening.arms, "arm")
    console.print(f"Study {study.name}: {study.status}", style="bold")
    console.print(f"policy {written(study.policy)}, seed {study.seed}, {study.direction}; {arms}")
    console.print(_progress(study, console.width), soft_wrap=True)
    console.print()
    if best is None:
        console.print("No result yet.")
        return
    boxes = study.boxes()
    if boxes:
        console.print(drawn(boxes, best.label, console))
        console.print()
    _print_top(study, console)
    console.print()
    console.print(f"{screening}.")


def _progress(study: "Study", width: int) -> str:
    """Say how many results are in, and who has tickets: in one line, or in a line for each who has."""
    text = counted(study.pulls, "pull")
    holders = _holders(study)
    nobodys = study.waiting - sum(holders.values())
    parts = [f"{name} has {number:,}" for name, number in list(holders.items())[:_HOLDERS]]
    if len(holders) > _HOLDERS:
        parts.append(f"{counted(len(holders) - _HOLDERS, 'other holder')} {sum(list(holders.values())[_HOLDERS:]):,}")
    if nobodys > 0:
        parts.append(f"{nobodys:,} failed or released, to be handed out again")
    if not parts:
        return f"{text}; no ticket is out"
    out = f"{text}; {counted(study.waiting, 'ticket')} out:"
    line = f"{out} {', '.join(parts)}"
    return line if len(line) <= width else "\n  ".join([out, *parts])


def _print_top(study: "Study", console: "Console") -> None:
    from rich.table import Table
    from rich.text import Text

    from boxthirding.cli.study.boxes import Names, dots_of, one_line

    top = study.top(_TOP)
    names = Names([arm.label for arm in top], max(20, console.width - _NUMBERS), dots_of(console))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.show_header = True
    table.add_column(Text("best arms", "dim"), no_wrap=True)
    for heading in ("mean", "pulls", "level"):
        table.add_column(Text(heading, "dim"), justify="right", no_wrap=True)
    for place, (label, mean, pulls, level) in enumerate(top):
        cells = (f"{mean:.4g}", f"{pulls:,}", "" if level is None else str(level))
        table.add_row(Text(names.short(label)), *cells, style="bold" if place == 0 else None)
    console.print(table)
    if names.short(top[0].label) != one_line(top[0].label):
        console.print()
        console.print(f"Best so far: {one_line(top[0].label)}", style="bold", soft_wrap=True)
