"""The figures of the reproduction: which there are, and which claims they decide."""

from typing import Final

from boxthirding.lab.paper.cases import CAPTION_REWARDS, GAPS, NOISY, SPLIT_REWARDS, caption_case, table_case
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.figures.drawings import arrange_picture, remedian_picture
from boxthirding.lab.paper.figures.instances import instances_picture
from boxthirding.lab.paper.figures.picture import Picture
from boxthirding.lab.paper.figures.regret import box_picture, regret_picture
from boxthirding.lab.paper.figures.screening import candidates_picture, levels_picture
from boxthirding.lab.paper.figures.split import split_picture
from boxthirding.lab.paper.figures.tables import table_picture
from boxthirding.lab.paper.printed import EPSILONS, TABLES

__all__ = ["BESIDE", "Picture", "sections"]

_NONE, _POWER, _VOTES = (caption_case(spec) for spec in ("none", "kumaraswamy", "bernoulli"))
_TABLES: Final = tuple(table_case(table.arms) for table in TABLES)

BESIDE: Final = {
    "lowest-when-noisy": tuple(f"regret-{case}" for case in NOISY),
    "best-without-noise": (f"regret-{_NONE}",),
    "uniform-stagnates": tuple(f"regret-{case}" for case in NOISY),
    "uniform-under-power-law": (f"regret-{_POWER}",),
    "brackets-under-power-law": (f"boxes-{_POWER}", f"boxes-{_VOTES}"),
    "poly-is-hardest": ("instances", *(f"regret-{case}" for case in GAPS)),
    "guideline": tuple(f"boxes-{caption_case(spec)}" for spec in ("gaussian:0.5", "gaussian:0.2", "none")),
    "rows-of-the-paper": _TABLES,
    "rows-of-baselines": _TABLES,
    "close-to-fixed-budget": _TABLES,
    "better-than-anytime": _TABLES,
    "half-is-lifted": ("levels",),
    "remedian": ("remedian",),
    "instance-table": ("instances",),
    "candidate-orders": ("candidates",),
    "candidate-bounds": ("candidates",),
    "exact-non-inclusion": tuple(
        f"split-{caption_case(spec)}-eps-{eps:g}" for spec in SPLIT_REWARDS for eps in EPSILONS
    ),
    "one-exponent": tuple(f"regret-{case}" for case in GAPS),
    "regret-rate": tuple(f"regret-{case}" for case in GAPS),
}
"""By claim, the figures that decide it: a figure stands beside the first claim that needs it, others link to it."""


def sections(evidence: Evidence) -> dict[str, list[Picture]]:
    """Return every figure under the heading it stands below."""
    captions = [caption_case(spec) for spec in CAPTION_REWARDS]
    return {
        "How Box Thirding works": [remedian_picture(), arrange_picture(), levels_picture(evidence)],
        "The instances": [instances_picture(evidence)],
        "Regret on the captions": [regret_picture(evidence, key) for key in captions],
        "Regret on instances made by formula": [regret_picture(evidence, key) for key in GAPS],
        "Spread of the runs": [box_picture(evidence, key) for key in captions],
        "The two tables": [table_picture(evidence, table) for table in TABLES],
        "Screening and its errors": [
            candidates_picture(evidence),
            *(split_picture(evidence, caption_case(spec), eps) for spec in SPLIT_REWARDS for eps in EPSILONS),
        ],
    }
