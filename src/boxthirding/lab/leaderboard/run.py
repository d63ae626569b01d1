"""The whole leaderboard: check what was asked for, simulate or go on, compare, and write the files."""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput
from boxthirding.figures.style import rendered
from boxthirding.lab.leaderboard.as_json import Facts, as_json
from boxthirding.lab.leaderboard.board import Board
from boxthirding.lab.leaderboard.entrants import DEFAULT, Planned, entrants_of, plan
from boxthirding.lab.leaderboard.markdown import page
from boxthirding.lab.leaderboard.picture import draw
from boxthirding.lab.leaderboard.suites import missing_contests, problems_of, suite_named
from boxthirding.lab.plots import check_matplotlib
from boxthirding.lab.report_folder import check_folder, write_whole
from boxthirding.lab.results import Run
from boxthirding.lab.settings import Setting

NAME: Final = "leaderboard"  # of the page, the picture and the JSON, each with its own ending

STANDARD: Final = "standard"
REPLICATES: Final = 1_000
QUICK: Final = 50


@dataclass(frozen=True)
class Leaderboard:
    """What was asked for, checked: nothing has been written yet."""

    out: Path
    facts: Facts
    planned: tuple[Planned, ...]

    @classmethod
    def asked(
        cls,
        out: Path,
        *,
        suite: str = STANDARD,
        policies: Sequence[str] = (),
        against: str | None = None,
        quick: bool = False,
        data: Path | None = None,
        replicates: int | None = None,
        seed: int = 0,
    ) -> "Leaderboard":
        """Check the options and the folder; refuse what cannot be done."""
        usual = QUICK if quick else REPLICATES
        each = whole("the number of replicates", usual if replicates is None else replicates, least=2)  # for an error
        chosen = suite_named(suite)
        problems = problems_of(chosen, data)
        planned = tuple(plan(entrants_of(policies or DEFAULT), problems, each, seed))
        _check_reference(against, planned)
        check_matplotlib()
        check_folder(out)
        folder = "DIR" if data else None  # not that of this machine
        command = _command(policies, suite=suite, replicates=each, seed=seed, data=folder, against=against)
        missing = tuple(missing_contests(chosen, problems))
        return cls(out, Facts(chosen, missing, seed, command, against, with_data=data is not None), planned)

    @property
    def settings(self) -> list[Setting]:
        """Everything that is simulated."""
        return [one.setting for one in self.planned]

    def write(self, runs: Sequence[Run], step: Callable[[str], None] = lambda _: None) -> Board:
        """Compare, and write the page, the JSON and the picture; `step` hears what is being done."""
        step("comparing")
        board = Board.of(self.planned, runs, self.facts.against)
        write_whole(self.file("json"), json.dumps(as_json(board, self.facts), indent=1))
        write_whole(self.file("md"), page(board, self.facts, picture=self.file("png").name))
        step("drawing")
        figure = draw(board, self.facts)
        for ending in ("png", "svg"):
            write_whole(self.file(ending), rendered(figure, ending))
        return board

    def file(self, ending: str) -> Path:
        """Return where what has this ending is written."""
        return self.out / f"{NAME}.{ending}"


def _check_reference(against: str | None, planned: Sequence[Planned]) -> None:
    """Refuse a policy to compare with that does not take part, or not everywhere."""
    if against is None:
        return
    known = list(dict.fromkeys(one.entrant.spec for one in planned))
    if against not in known:
        raise InvalidInput(f"--against is {against}, but must be one of the policies: {', '.join(known)}")
    there = {cell for one in planned if one.entrant.spec == against for cell in one.cells}
    absent = [cell.title for one in planned for cell in one.cells if cell not in there]
    if absent:
        raise InvalidInput(f"--against is {against}, but that cannot run in every cell: not in {absent[0]}")


def _command(policies: Sequence[str], **options: object) -> str:
    """Return the command that makes the leaderboard again."""
    words = ["boxthirding", "leaderboard"]
    for name, value in options.items():
        words += [f"--{name}", str(value)] if value is not None else []
    for spec in policies:
        words += ["--policy", spec]
    return shlex.join(words)
