"""What a leaderboard was made from, and all of it in plain values, as its JSON file has it."""

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

from boxthirding.lab.leaderboard.board import ADDED, Board, Ratio, Score
from boxthirding.lab.leaderboard.suites import Cell, Group, Suite

LEVEL: Final = 0.95  # of the confidence intervals that are printed, and that say whether two policies can be told apart

IN_WORDS: Final = f"{100 * LEVEL:g} %"

LEVELS: Final = (LEVEL, 0.99)  # of those in the picture and in the JSON file


@dataclass(frozen=True)
class Facts:
    """What was asked for."""

    suite: Suite
    missing: tuple[str, ...]  # contests of the suite whose files were not at hand
    seed: int
    command: str  # how to make it again
    against: str | None = None
    with_data: bool = False  # whether a folder of contests was given

    @property
    def reference(self) -> str:
        """Say what regrets are relative to."""
        return f"to {self.against}" if self.against else "to the best of each cell"

    @property
    def left_out(self) -> str:
        """Say which contests are left out, and why; nothing, if none is."""
        if not self.missing:
            return ""
        contests = f"contest{'s' if len(self.missing) > 1 else ''} {' and '.join(self.missing)}"
        why = "because --data has no file of them" if self.with_data else "as they need --data"
        return f"left out, {why}: {contests}"


def group_name(group: Group | None) -> str:
    """Return what a group is called; None is all cells."""
    return "all" if group is None else group.value


def as_json(board: Board, facts: Facts) -> dict[str, Any]:
    """Return the leaderboard in plain values: policies in their order, then every cell."""
    return {
        "suite": facts.suite.name,
        "meaning": facts.suite.meaning,
        "missing_contests": list(facts.missing),
        "replicates": board.replicates,
        "seed": facts.seed,
        "against": facts.against or "best",
        "added": ADDED,
        "command": facts.command,
        "boxthirding": version("boxthirding"),
        "policies": [_policy(board, entrant.spec, entrant.told) for entrant in board.ranking],
        "cells": [_cell(board, cell) for cell in board.cells],
    }


def _policy(board: Board, spec: str, told: tuple[str, ...]) -> dict[str, Any]:
    worst, ratio = board.worst(spec)
    scores = {group: board.scores.get((spec, group)) for group in board.groups}
    return {
        "policy": spec,
        "told": list(told),
        "groups": {group_name(group): _score(score) for group, score in scores.items() if score is not None},
        "worst": {"cell": worst.title, **_ratio(ratio)},
    }


def _cell(board: Board, cell: Cell) -> dict[str, Any]:
    ran = [entrant.spec for entrant in board.ranking if board.ran(entrant.spec, cell)]
    return {
        "group": cell.group.value,
        "arms": cell.arms,
        "rewards": cell.rewards,
        "budget": cell.budget,
        "reference": board.references[cell],
        "policies": {spec: _entry(board, spec, cell) for spec in ran},
        "cannot_run": [entrant.spec for entrant in board.ranking if entrant.spec not in ran],
    }


def _entry(board: Board, spec: str, cell: Cell) -> dict[str, Any]:
    regrets, score = board.regrets[cell, spec], board.score(spec, [cell])
    error = float(regrets.std(ddof=1)) / math.sqrt(len(regrets))
    return {"regret_mean": board.regret(spec, cell), "regret_se": error, **(_ratio(score.ratio) if score else {})}


def _score(score: Score) -> dict[str, Any]:
    return {**_ratio(score.ratio), "ran": score.ran, "cells": score.cells}


def _ratio(ratio: Ratio) -> dict[str, Any]:
    intervals = {f"interval_{level:.0%}".replace("%", ""): list(ratio.interval(level)) for level in LEVELS}
    return {"ratio": ratio.value, "log_error": ratio.log_error, **intervals}
