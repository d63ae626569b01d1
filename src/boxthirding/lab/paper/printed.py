"""Numbers that the paper prints: its two tables, its settings and those in its claims."""

from dataclasses import dataclass
from typing import Final

BUDGET: Final = 10_000  # pulls of every figure

ARMS: Final = 5_513

REPLICATES: Final = 1_000  # of every figure and table of the paper

TABLE_SIGMA: Final = 0.25  # not in the paper but inferred: it reproduces the rows of B3 and of SH with growth 1.7

BOX_PLOTS: Final = (5_000, 10_000)
EPSILONS: Final = (0.1, 0.2)
ANYTIME: Final = ("b3", "us", "bucb:delta=0.1", "bsh")  # the four policies of every figure

COMPARED: Final = ("b3", "us", "bsh")  # the policies whose candidate sets and bounds the paper compares

# Names of policies in figures and tables.
NAMES: Final = {
    "us": "US",
    "bucb:delta=0.1": "BUCB",
    "bsh": "BSH",
    "b3": "B3",
    "sh:growth=1.7,mode=paper": "SH, r₀ = 1.7",
    "sh:growth=1.728,mode=paper": "SH, r₀ = 1.728",
    "sh": "SH, r₀ = 2",
    "ucbe:exploration=oracle": "UCB-E",
    "prose": "PROSE",
    "asha": "ASHA",
    "b3:reuse=pool": "B3, pooled",
}


@dataclass(frozen=True)
class Printed:
    """A row of the paper's tables: simple regret and its quartiles."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class PrintedTable:
    """One of the paper's tables, and the other policies run beside it, whose rows are None."""

    arms: int
    budget: int
    rows: dict[str, Printed | None]


_BESIDE: Final = dict.fromkeys(("sh:growth=1.728,mode=paper", "prose", "asha", "b3:reuse=pool"))
"""The policies that are run beside those of the tables."""

TABLES: Final = (
    PrintedTable(
        128,
        896,
        {
            "b3": Printed(0.0490, 0.0290, 0.0682),
            "sh:growth=1.7,mode=paper": Printed(0.0446, 0.0281, 0.0652),
            "sh": Printed(0.0516, 0.0290, 0.0682),
            "ucbe:exploration=oracle": Printed(0.0664, 0.0502, 0.0749),
            "bsh": Printed(0.0992, 0.0587, 0.1569),
            "bucb:delta=0.1": Printed(0.1252, 0.0682, 0.1769),
            **_BESIDE,
        },
    ),
    PrintedTable(
        1_024,
        10_240,
        {
            "b3": Printed(0.0268, 0.0, 0.0502),
            "sh:growth=1.7,mode=paper": Printed(0.0195, 0.0, 0.0290),
            "sh": Printed(0.0288, 0.0, 0.0507),
            "ucbe:exploration=oracle": Printed(0.0403, 0.0222, 0.0588),
            "bsh": Printed(0.1531, 0.0661, 0.2475),
            "bucb:delta=0.1": Printed(0.2558, 0.2374, 0.3039),
            **_BESIDE,
        },
    ),
)

FIXED_BUDGET: Final = ("sh:growth=1.7,mode=paper", "sh", "ucbe:exploration=oracle")
"""Rows of policies that are told the budget."""

UNROUNDED: Final = {"sh:growth=1.728,mode=paper": "sh:growth=1.7,mode=paper"}
"""Rows that the paper does not have, with the row that each may stand for: 1.7 may be the growth 1.728, rounded."""

REMEDIAN_BLOCKS: Final = ((2.8, 1.2, 6.1), (5.3, 9.0, 3.5), (4.8, 7.7, 0.4))
"""Three blocks with the medians 2.8, 5.3 and 4.8; the paper does not give the other values."""

REMEDIAN: Final = 4.8
EXAMPLE_PULLS: Final = 6
EXAMPLE_CANDIDATES: Final = 3
GROWTH: Final = 1.728

H2_EXPONENTS: Final = {"poly": -0.5, "equal": 1.0, "square": 2.0}
"""H₂ of the three instances is printed as N to these powers."""

GAPS_ALPHA: Final = {"poly": 0.5, "equal": 1.0, "square": 2.0}
"""The gaps of the three instances are 3 (i/N) to these powers."""
