"""The table of a replay: a block for each share of the cost."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from boxthirding._text import counted, visible, written

if TYPE_CHECKING:
    from boxthirding.runs.matrices import Matrix
    from boxthirding.runs.replay import Pick

_MARKS: Final = {"budget": "b", "sigma": "n"}  # what a policy was told
_PICKED = 16  # columns for the arm picked most often


def print_table(matrix: "Matrix", rows: Sequence["Pick"], *, replicates: int, seed: int) -> None:
    """Print how far each policy's pick is from the best arm."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from boxthirding.cli.study.boxes import Names, dots_of

    console = Console(highlight=False, markup=False)
    names = Names(matrix.labels, _PICKED, dots_of(console))
    arms, examples = matrix.scores.shape
    console.print(f"{visible(matrix.source)}: {counted(arms, 'arm')} × {counted(examples, 'example')}", style="bold")
    console.print(_best(matrix))
    orders = f"{counted(replicates, 'random order')} of each policy, seed {seed}"
    console.print(f"all of it costs {counted(matrix.cost, 'score')}; {orders}")
    console.print()
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("policy", overflow="fold")
    for heading in ("mean regret", "± ", "rank", "is best"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("most often", no_wrap=True)
    for share in dict.fromkeys(row.share for row in rows):
        block = [row for row in rows if row.share == share]
        least = min(row.regret_mean for row in block)
        table.add_section()
        table.add_row(f"{100 * share:g} %: {counted(block[0].pulls, 'pull')}", style="italic")
        for row in block:
            marked = len(block) > 1 and row.regret_mean == least
            marks = "".join(f" ({_MARKS[what]})" for what in row.told)
            picked = Text(names.short(row.most_often))
            cells = (f"{row.regret_mean:#.3g}", f"{row.regret_se:.1g}", f"{row.rank_median:,.0f}")
            policy = Text(f"  {row.policy}{marks}")
            table.add_row(policy, *cells, f"{row.best_share:.0%}", picked, style="bold" if marked else None)
    console.print(table)
    console.print()
    _print_legend(console, matrix, rows)


def _best(matrix: "Matrix") -> str:
    """Say which arm is best in truth."""
    import numpy as np

    means = np.nanmean(matrix.scores, axis=1)
    label = matrix.labels[int(means.argmax())]
    return f"best by its mean over all examples: {visible(label)}, {written(float(means.max()))}"


def _print_legend(console: Any, matrix: "Matrix", rows: Sequence["Pick"]) -> None:
    console.print("regret: the best mean less that of the pick; rank: that of the pick, the median")
    told = {what for row in rows for what in row.told}
    if "budget" in told:
        console.print("(b) must be told the budget, and is run anew for each")
    if "sigma" in told:
        console.print(f"(n) must be told the noise, and is told the spread within rows: {written(matrix.sigma)}")
