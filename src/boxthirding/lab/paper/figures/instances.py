"""The instances: how far the arms are from the best, rank by rank, and what makes each of them hard."""

from typing import TYPE_CHECKING

import numpy as np

from boxthirding.figures.style import COLOURS, DASHES, MARKERS, canvas, head, label_logs, legend, plain
from boxthirding.lab.paper.cases import GAPS, caption_case
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.figures.picture import WIDTH, Picture, Reading
from boxthirding.lab.paper.printed import ARMS, EPSILONS, H2_EXPONENTS
from boxthirding.lab.plots import log_spaced
from boxthirding.lab.theory import complexity_h2
from boxthirding.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def instances_picture(evidence: Evidence) -> Picture:
    """Return the gaps of the four instances by rank, with N_ε and H₂ of each."""
    cases = {"captions": caption_case("gaussian:0.5"), **{name: name for name in GAPS}}
    gaps = {name: _gaps(evidence, case) for name, case in cases.items()}
    ranks = log_spaced(ARMS, 40)[1:]
    rows = [[name, rank, found[rank - 1]] for name, found in gaps.items() for rank in ranks]

    def draw() -> "Figure":
        figure = canvas(WIDTH, 4.6)
        axes = figure.add_subplot()
        for k, (name, found) in enumerate(gaps.items()):
            look = {"color": COLOURS[k], "linestyle": DASHES[k], "marker": MARKERS[k]}
            axes.plot(ranks, found[[rank - 1 for rank in ranks]], markevery=4, linewidth=2, label=name, **look)
        axes.set(xscale="log", yscale="log")
        axes.set_xlabel("rank of the arm", fontsize=12)
        axes.set_ylabel("how far its mean is\nbelow the best", fontsize=12)
        label_logs(axes.xaxis, axes.yaxis)
        plain(axes)
        head(axes, f"Four instances of {ARMS:,} arms", ["true means; nothing is simulated here"])
        legend(figure, 2)
        return figure

    caption = (
        "The flatter a line, the fewer arms are close to the best. On poly few arms are good, but the best one stands "
        "out; on square very many are good, and the best one is hard to tell from the next."
    )
    table = Reading(
        ("Instance", "Range", *(f"N_ε, ε = {eps:g}" for eps in EPSILONS), "H₂", "H₂ grows as", "Paper"),
        [_reading(evidence, name, case) for name, case in cases.items()],
        "N_ε counts the arms less than ε below the best, itself included. H₂ is the largest rank over squared gap: "
        "the larger, the harder the best arm is to tell. How it grows is measured between N and 2 N.",
    )
    return Picture("instances", "The instances", caption, ("instance", "rank", "gap"), rows, draw, table)


def _gaps(evidence: Evidence, case: str) -> Floats:
    """Return how far each arm is below the best, the best first."""
    means = evidence.cases[case].instance.means
    return np.sort(means.max() - means)


def _reading(evidence: Evidence, name: str, case: str) -> tuple[str, ...]:
    gaps = _gaps(evidence, case)
    shape = evidence.facts.shapes.get(name)
    grows = f"N^{shape.hardness_power:.2g}" if shape else "–"
    printed = f"N^{H2_EXPONENTS[name]:g}" if shape else "–"
    good = (f"{evidence.good(case, eps):,}" for eps in EPSILONS)
    return (name, f"{gaps.max():.4f}", *good, f"{float(f'{complexity_h2(-gaps):.3g}'):,.0f}", grows, printed)
