"""`boxthirding plot`: a picture from saved results, with nothing run again."""

from pathlib import Path

import click

from boxthirding.cli.drawing import draw


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the picture goes: .png, .svg or .pdf.",
)
@click.option(
    "--policy",
    "specs",
    multiple=True,
    metavar="SPEC",
    help="Draw only this policy, as its SPEC was given; may be repeated.",
)
def plot(*, results: Path, out: Path, specs: tuple[str, ...]) -> None:
    """Draw regret against pulls from RESULTS, a file that `simulate --results` wrote.

    Nothing is run. What is not complete yet is drawn as far as it is.
    """
    from boxthirding.errors import InvalidInput
    from boxthirding.report import check_plot_file
    from boxthirding.sim import load

    check_plot_file(out)
    saved = load(results)
    known = dict.fromkeys(description.policy for description, _ in saved)
    for spec in specs:
        if spec not in known:
            raise InvalidInput(f"--policy is {spec}, but {results} has {', '.join(known) or 'none'}")
    draw(out, [pair for pair in saved if not specs or pair[0].policy in specs])
