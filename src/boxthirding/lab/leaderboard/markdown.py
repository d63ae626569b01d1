"""The leaderboard as a page of Markdown: the standings, then every problem with every budget."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from boxthirding.lab.leaderboard.as_json import IN_WORDS, LEVEL, Facts, group_name
from boxthirding.lab.leaderboard.board import ADDED, Board, Ratio
from boxthirding.lab.leaderboard.entrants import Entrant, marks_used
from boxthirding.lab.leaderboard.suites import Cell, Group

CANNOT_RUN: Final = "–"  # instead of a figure


def page(board: Board, facts: Facts, picture: str) -> str:
    """Return the page; `picture` is the name of a file beside it."""
    blocks = [
        f"# Leaderboard: {facts.suite.name}",
        *_introduction(board, facts),
        f"![Relative regret of every policy]({picture})",
        "## Standings",
        _standings(board),
        *_reading(board, facts),
        "## Problem by problem",
        f"Regret relative {facts.reference} with its {IN_WORDS} interval; = marks a policy whose interval holds 1.",
        f"{CANNOT_RUN} marks where a policy cannot run, would only be `us`, or has means outside the range it is told.",
        *_problems(board, facts),
        "## Make it again",
        f"```sh\n{facts.command}\n```",
    ]
    return "\n\n".join(blocks) + "\n"


def number(value: float) -> str:
    """Write a ratio to three significant digits, and never as a power of ten.

    >>> number(0.98765), number(0.9999), number(12.345), number(123.4), number(1234.5)
    ('0.988', '1.00', '12.3', '123', '1,234')
    """
    return f"{value:#.3g}".rstrip(".") if value < 999.5 else f"{value:,.0f}"  # noqa: PLR2004  # as that becomes 1e+03


def _introduction(board: Board, facts: Facts) -> Iterator[str]:
    yield f"Suite `{facts.suite.name}`: {facts.suite.meaning}."
    if facts.missing:
        yield f"{facts.left_out[0].upper()}{facts.left_out[1:]}."
    yield (
        f"{len(board.entrants)} policies in {len(board.cells)} cells, {board.replicates:,} replicates in each, "
        f"seed {facts.seed}. A cell is a set of arms with a reward model and a budget of T pulls."
    )


def _standings(board: Board) -> str:
    heads = [f"{group_name(group)} ({len(board.cells_in(group))})" for group in board.groups]
    rows = [["policy", "told", *heads, "worst cell"]]
    for entrant in board.ranking:
        cell, ratio = board.worst(entrant.spec)
        scores = [_score(board, entrant, group) for group in board.groups]
        rows.append([f"`{entrant.spec}`", entrant.marks, *scores, f"{number(ratio.value)}: {cell.title}"])
    return _table(rows)


def _reading(board: Board, facts: Facts) -> Iterator[str]:
    yield (
        f"Geometric means over cells of the mean regret relative {facts.reference}, {ADDED} added to both: 2 is twice "
        f"the regret. In brackets the {IN_WORDS} interval, paired by replicate: replicate k meets the arms in the same "
        "order under every policy. The number of cells is beside the group. n of m: the policy can run in n of its m "
        "cells only, so its figure is of other cells than those of its neighbours."
    )
    marks = "; ".join(f"{mark}, {meant}" for mark, meant in marks_used(board.entrants).items())
    yield f"Told: {marks}. A policy without a mark is told nothing." if marks else "No policy is told anything."
    groups = [group for group in board.groups if group is not None]
    yield "\n".join(f"- **{group.value}**: {group.meaning}" for group in groups)


def _score(board: Board, entrant: Entrant, group: Group | None) -> str:
    score = board.scores.get((entrant.spec, group))
    if score is None:
        return CANNOT_RUN
    part = "" if score.whole else f", {score.ran} of {score.cells}"
    return f"{_with_interval(score.ratio)}{part}"


def _problems(board: Board, facts: Facts) -> Iterator[str]:
    row = f"mean regret of {facts.against or 'the best'}"
    for (arms, rewards), cells in groupby(board.cells, key=lambda cell: (cell.arms, cell.rewards)):
        yield f"### {arms}, {rewards}"
        yield _problem(board, list(cells), row)


def _problem(board: Board, cells: Sequence[Cell], first_row: str) -> str:
    rows = [["policy", "told", *(f"T = {cell.budget:,}" for cell in cells)]]
    rows.append([first_row, "", *(f"{board.regret(board.references[one], one):.4f}" for one in cells)])
    rows += [
        [f"`{entrant.spec}`", entrant.marks, *(_entry(board, entrant.spec, cell) for cell in cells)]
        for entrant in board.ranking
    ]
    return _table(rows)


def _entry(board: Board, spec: str, cell: Cell) -> str:
    score = board.score(spec, [cell])
    if score is None:
        return CANNOT_RUN
    if spec == board.references[cell]:
        return "**1**"
    low, high = score.ratio.interval(LEVEL)
    return _with_interval(score.ratio) + (" =" if low <= 1 <= high else "")


def _with_interval(ratio: Ratio) -> str:
    low, high = ratio.interval(LEVEL)
    return f"{number(ratio.value)} ({number(low)} to {number(high)})"


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
