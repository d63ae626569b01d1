"""Pictures of simulated runs, written to the file that a user names."""

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from boxthirding.errors import InvalidInput, MissingExtra
from boxthirding.figures.style import rendered
from boxthirding.lab.curves import Curve, regret_figure
from boxthirding.lab.folders import write_whole
from boxthirding.lab.runs import Run

FORMATS: Final = ("png", "svg", "pdf")


def log_spaced(budget: int, count: int = 60) -> list[int]:
    """Return at most `count` checkpoints from 1 to the budget, evenly spread on a logarithmic axis.

    >>> log_spaced(1000, 4)
    [1, 10, 100, 1000]
    """
    return sorted({round(pulls) for pulls in np.geomspace(1, budget, count).tolist()})


def check_plot_file(path: Path) -> str:
    """Return the format that a file's ending asks for, or say why a picture cannot be written there."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise InvalidInput(f"plot file is {str(path)!r}, but must end in .{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}")
    try:
        _check_place(path)
    except OSError as problem:
        reason = problem.strerror or problem
        raise InvalidInput(f"plot file is {str(path)!r}, but cannot be written ({reason}): name another one") from None
    check_matplotlib()
    return ending


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise InvalidInput(f"plot file is {str(path)!r}, but that is a folder: give the name of a file")
    if not path.parent.is_dir():
        raise InvalidInput(f"plot file is {str(path)!r}, but there is no folder {str(path.parent)!r}: make it first")
    if not (os.access(path.parent, os.W_OK) and (os.access(path, os.W_OK) or not path.exists())):
        raise InvalidInput(f"plot file is {str(path)!r}, but must be one that may be written")


def check_matplotlib() -> None:
    """Say what to install where nothing can be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("a plot", "matplotlib", "plot")


def plot_regret(path: str | Path, runs: Mapping[str, Run], *, title: str = "", subtitle: str = "") -> None:
    """Draw the mean regret of each policy against pulls, with a band from the lower to the upper quartile.

    Parameters
    ----------
    path : path
        Where the picture goes; its ending, .png, .svg or .pdf, says in which format.
    runs : mapping of str to Run
        The runs by SPEC, or by a label that begins with one, such as "b3, seed 4". A policy has the same colour in
        every picture.
    title, subtitle : str, default ""
        What stands above the picture.

    Both axes are logarithmic. What lies too far below to be shown, a regret of 0 above all, is drawn at the lower edge,
    and the picture says so. More than three policies have bars instead of bands, which would hide each other.

    """
    path = Path(path)
    ending = check_plot_file(path)
    curves = [Curve.of(spec, run) for spec, run in runs.items() if run.replicates]
    if not curves:
        raise InvalidInput("there is nothing to plot: no policy has a complete replicate")
    write_whole(path, rendered(regret_figure(curves, title=title, subtitle=subtitle), ending))
