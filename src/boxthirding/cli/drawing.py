"""What the commands say of settings, and how their runs become a picture."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from boxthirding._text import counted, visible
from boxthirding.cli.output import Failure

if TYPE_CHECKING:
    from boxthirding.lab import Description, Run

_TOLD: Final = ("replicates", "seed", "workers")
"""What a subtitle tells where it is common to all, and a label where it is not."""


def title(one: "Description") -> str:
    """Return which arms these are, and where their means come from."""
    return visible(f"{one.instance}: {counted(one.arms, 'arm')}, means: {one.source}")


def subtitle(one: "Description", without: Collection[str] = ()) -> str:
    """Return how they were run, but for what differs between settings."""
    parts = {
        "rewards": f"rewards {one.rewards}",
        "budget": f"budget {counted(one.budget, 'pull')}",
        "replicates": counted(one.replicates, "replicate"),
        "seed": f"seed {one.seed}",
        "workers": counted(one.workers, "worker") if one.workers > 1 else "",
    }
    return ", ".join(text for name, text in parts.items() if text and name not in without)


def draw(plot: Path, runs: Iterable[tuple["Description", "Run"]]) -> None:
    """Write the picture of regret against pulls on one problem; what else differs stands beside the policy."""
    from boxthirding.lab.plots import plot_regret

    begun = [(one, run) for one, run in runs if run.replicates]
    drawn = [one for one, _ in begun]
    different = [name for name in _TOLD if len({getattr(one, name) for one in drawn}) > 1]
    named = {}
    for one, run in begun:
        parts = [one.policy, *(f"{name} {getattr(one, name)}" for name in different)]
        if run.replicates < one.replicates:
            parts.append(counted(run.replicates, "replicate"))
        named[", ".join(parts)] = run
    try:
        plot_regret(
            plot,
            named,
            title=title(drawn[0]) if drawn else "",
            subtitle=subtitle(drawn[0], without=different) if drawn else "",
        )
    except OSError as problem:
        raise Failure(f"the plot {plot} could not be written: {problem.strerror or problem}") from problem
