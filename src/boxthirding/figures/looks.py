"""How each policy looks in every picture, and what it is called there: one table, so that neither ever changes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

from boxthirding.figures.style import DASHES, mixed


@dataclass(frozen=True)
class Look:
    """What a policy's line looks like."""

    words: str
    """The name of the policy, in words."""
    colour: str
    marker: str | tuple[int, int, int]
    """As Matplotlib names it; (8, 1, 0) is a star with eight points."""
    dashes: Any = "-"


LOOKS: Final = {
    "chase": Look("Chase", "#D55E00", "o"),
    "b3": Look("Box Thirding", "#0072B2", "s"),
    "us": Look("Uniform sampling", "#4D4D4D", "v"),
    "sh": Look("Sequential Halving", "#009E73", "^"),
    "prose": Look("PROSE", "#CC79A7", "D"),
    "asha": Look("ASHA", "#E69F00", "P"),
    "bsh": Look("Bracketing Halving", "#56B4E9", "<"),
    "bucb": Look("Bracketing UCB", "#661100", ">"),
    "dsh": Look("Doubling Halving", "#999933", "X"),
    "sr": Look("Successive Rejects", "#332288", "h"),
    "ucbe": Look("UCB-E", "#000000", "*"),
    "klucb": Look("KL-UCB of the contest", "#2233DD", "d"),
    "lilucb": Look("lil'UCB of the contest", "#9944EE", "H"),
    "ebtc": Look("EB-TC", "#22DDBB", "8"),
    "ash": Look("Anytime Halving", "#66BB00", "p"),
}
"""Every policy of ours: colours of Okabe and Ito, then of Tol, which colour-blind readers can tell apart."""

_TONES: Final = (("#000000", 0.0), ("#000000", 0.45), ("#FFFFFF", 0.35), ("#FFFFFF", 0.6))
"""What the colour of each further variant of a policy is mixed with, and how much of that: darker, paler, palest."""

_STRANGERS: Final = ("#AA4499", "#CC6677", "#DDCC77", "#888888")


def name_of(label: str) -> str:
    """Return the name of the policy that a SPEC, or a label that begins with one, is about.

    >>> name_of("b3:reuse=topup"), name_of("b3, seed 4"), name_of("my.module:Mine")
    ('b3', 'b3', 'my.module')
    """
    return label.replace(",", ":").replace(" ", ":").partition(":")[0]


def in_words(label: str) -> str:
    """Return a label with the policy's name in words; a policy of your own keeps its SPEC.

    >>> in_words("b3:reuse=topup"), in_words("mine")
    ('Box Thirding (b3:reuse=topup)', 'mine')
    """
    look = LOOKS.get(name_of(label))
    return label if look is None else f"{look.words} ({label})"


def look_of(label: str, before: Iterable[str] = ()) -> Look:
    """Return how a policy is drawn: its colour follows from its name alone.

    Of several variants of one policy in a picture, the first has a solid line in that colour, the others have dashes in
    tones of it; `before` names those drawn before it.
    """
    name = name_of(label)
    variant = sum(name_of(other) == name for other in before)
    base = LOOKS.get(name) or Look(name, _STRANGERS[crc32(name.encode()) % len(_STRANGERS)], "p")
    colour = mixed(base.colour, *_TONES[variant % len(_TONES)])
    return Look(base.words, colour, base.marker, DASHES[variant % len(DASHES)])


def looks_of(labels: Iterable[str]) -> list[Look]:
    """Return the looks of all policies of a picture, in their order.

    >>> [look.dashes == "-" for look in looks_of(["b3", "us", "b3:reuse=topup"])]
    [True, True, False]
    """
    listed = list(labels)
    return [look_of(label, listed[:place]) for place, label in enumerate(listed)]
