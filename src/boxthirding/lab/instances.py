"""Instances: sets of true means, from the paper's formulas, the embedded captions, a file or a caption contest.

The embedded captions stand in for New Yorker caption contest 893 of the public caption-contest data set (CC BY 4.0):
`caption_means_by_rank.csv` holds the share of votes "somewhat funny" or "funny" at 100 ranks, and the ranks between
them are interpolated.
"""

import hashlib
import operator
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np

from boxthirding._checks import one_of, whole
from boxthirding._csv import Sheet, read_bytes, read_sheet
from boxthirding.errors import InvalidInput, UnreadableData
from boxthirding.lab.memory_check import refuse_too_large
from boxthirding.types import Floats, Ints

ARMS: Final = 5513  # the captions of contest 893, and the size of the paper's other instances

TOO_LARGE: Final = 1e150
"""Means, rewards and their noise must be smaller in size, as in a live session, so that their squares stay finite."""

_ANSWERS = 3  # not funny, somewhat funny, funny
_BYTES = 32  # per arm: its mean, and what it is computed from
_CONTEST: Final = ("votes", "somewhat_funny", "funny")
_LABELS: Final = ("label", "caption")

# The SHA-256 of the published summary of each New Yorker caption contest that reports use.
CONTESTS: Final = {
    "893": "94835f5dc3d4ac9dbb6901383fc3457208125743daef4f48a43c0ef9db6918b0",
    "872": "dd807fc79295647879351297a20aac6505a883185d22272f7b4b086a1e2a6eaa",
    "830": "2ebe25850c8c0af03c91912ad29367a69b9761de9c79f9330e102d68b41be95c",
}


@dataclass(frozen=True, eq=False)
class Instance:
    """A set of arms with their true means and, where known, their vote counts and labels.

    >>> Instance("three", [0.5, 0.9, 0.1]).means.max()
    np.float64(0.9)
    """

    name: str
    means: Floats  # [N]
    counts: Ints | None = None  # [N, 3] votes "not funny", "somewhat funny", "funny"
    labels: tuple[str, ...] | None = None  # [N]
    source: str = "given"  # where the figures come from: a file, "embedded", or a formula

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", _frozen(_checked_means(self.means)))
        n_arms = len(self.means)
        if self.counts is not None:
            object.__setattr__(self, "counts", _frozen(_checked_counts(self.counts, n_arms)))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
            if len(self.labels) != n_arms:
                raise InvalidInput(f"there are {len(self.labels)} labels, but must be as many as arms: {n_arms}")

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.means)


def captions(arms: int | None = None) -> Instance:
    """Return the embedded captions of ranks 1 … arms, the best first; default: all 5,513."""
    n_arms = whole("arms", ARMS if arms is None else arms, 1)
    if n_arms > ARMS:
        raise InvalidInput(f"arms is {n_arms}, but the instance captions has {ARMS}: give at most that many")
    text = resources.files(__package__).joinpath("caption_means_by_rank.csv").read_text(encoding="utf-8")
    ranks, means = np.loadtxt(text.splitlines(), delimiter=",", skiprows=1, unpack=True)
    return Instance("captions", np.interp(np.arange(1, n_arms + 1), ranks, means), source="embedded")


def poly(arms: int = ARMS) -> Instance:
    """Return the paper's `poly`: μ₁ - μᵢ₊₁ = 3 (i/N)^0.5."""
    return _formula("poly", arms, np.sqrt, "3 (i/N)^0.5")


def equal(arms: int = ARMS) -> Instance:
    """Return the paper's `equal`: μ₁ - μᵢ₊₁ = 3 (i/N)."""
    return _formula("equal", arms, operator.pos, "3 (i/N)")


def square(arms: int = ARMS) -> Instance:
    """Return the paper's `square`: μ₁ - μᵢ₊₁ = 3 (i/N)²."""
    return _formula("square", arms, np.square, "3 (i/N)²")


NAMES: Final[dict[str, Callable[..., Instance]]] = {make.__name__: make for make in (captions, poly, equal, square)}


def named(name: str, arms: int | None = None) -> Instance:
    """Return an instance by its name, with its default size or a given number of arms.

    >>> named("equal", arms=3).means.tolist()
    [0.0, -1.0, -2.0]
    """
    one_of("instance", name, NAMES)
    return NAMES[name]() if arms is None else NAMES[name](arms)


def from_csv(path: str | PathLike[str], top: int | None = None, *, header: bool = True) -> Instance:
    """Read an instance from a CSV file, in the file's order: its first `top` rows, or all.

    A file with the columns votes, somewhat_funny and funny is a contest summary: a mean is the share of the last two in
    the votes, and its column `mean`, on another scale, is ignored. Any other file needs a column `mean`. A column
    `label` or `caption` names the arms. A file without a `header` has the means in its only column, or labels and means
    in its first two.
    """
    sheet = read_sheet(path, header=header)
    sheet = sheet.named("mean") if len(sheet.columns) == 1 else sheet.named("label", "mean")
    wanted = len(sheet.rows) if top is None else whole("top", top, 1)
    if wanted > len(sheet.rows):
        raise InvalidInput(f"top is {wanted}, but {path} has {len(sheet.rows)} rows: give at most that many")
    rows = range(wanted)
    counts = None
    if sheet.has(_CONTEST):
        counts = np.array([_answers(sheet, row) for row in rows], np.int64)
        means = (counts[:, 1] + counts[:, 2]) / counts.sum(axis=1)
    elif sheet.has(["mean"]):
        means = np.array([sheet.number(row, "mean") for row in rows])
    else:
        raise sheet.without(f"{', '.join(_CONTEST)} (a contest summary) or mean: rename one")
    labels = next((sheet.column(name)[:wanted] for name in _LABELS if sheet.has([name])), None)
    return Instance(Path(path).stem, means, counts, labels, source=str(path))


def contest_file(folder: Path, number: str, way_out: str = "") -> Path:
    """Return the file of a caption contest in a folder, or raise if it is missing or is not the published summary."""
    path = folder / f"{number}.csv"
    what = f"a folder with {path.name}, the summary of New Yorker caption contest {number}"
    content = read_bytes(path, f"give {what}{way_out}")
    found = hashlib.sha256(content).hexdigest()
    if found != CONTESTS[number]:
        header = content.split(b"\n", 1)[0].decode("utf-8", "replace").strip()[:120] or "of an empty file"
        raise UnreadableData(
            f"{path} has SHA-256 {found} and the columns {header}, but must have SHA-256 {CONTESTS[number]}: "
            f"fetch the summary of contest {number} again as it was published{way_out}"
        )
    return path


def _answers(sheet: Sheet, row: int) -> tuple[int, int, int]:
    votes = sheet.whole(row, "votes", 1)
    somewhat, funny = sheet.whole(row, "somewhat_funny", 0), sheet.whole(row, "funny", 0)
    if votes < somewhat + funny:
        raise UnreadableData(
            f"{sheet.place(row)}: votes is {votes}, but must be at least somewhat_funny + funny = {somewhat + funny}"
        )
    return votes - somewhat - funny, somewhat, funny


def _formula(name: str, arms: int, shape: Callable[[Floats], Floats], text: str) -> Instance:
    """Return means whose gaps are 3 · shape(i/N). The best mean is 0, so that the other means are exactly the gaps."""
    n_arms = whole("arms", arms, 1)
    refuse_too_large(f"arms is {n_arms:,}, which", _BYTES * n_arms, "take fewer arms")
    gaps = 3.0 * shape(np.arange(n_arms) / n_arms)
    return Instance(name, 0.0 - gaps, source=f"μ₁ - μᵢ₊₁ = {text}")


def _checked_means(means: object) -> Floats:
    try:
        array = np.array(means, np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"means is {means!r}, but must be a sequence of numbers") from None
    if array.ndim != 1 or not len(array):
        raise InvalidInput(
            f"means has the shape {array.shape}, but must be one sequence with a mean for at least one arm"
        )
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong):
        raise InvalidInput(f"arm {wrong[0] + 1} has mean {array[wrong[0]]}, but means must be finite")
    large = np.flatnonzero(np.abs(array) >= TOO_LARGE)
    if len(large):
        raise InvalidInput(
            f"arm {large[0] + 1} has mean {array[large[0]]}, but means must be below {TOO_LARGE:g} in size: scale them"
        )
    return array


def _checked_counts(counts: object, n_arms: int) -> Ints:
    array = np.array(counts)
    if array.shape != (n_arms, _ANSWERS) or array.dtype.kind not in "iu":
        raise InvalidInput(
            f"counts has the shape {array.shape} and type {array.dtype}, "
            f"but must be whole numbers of the shape {(n_arms, _ANSWERS)}"
        )
    wrong = np.flatnonzero((array < 0).any(axis=1) | (array.sum(axis=1) < 1))
    if len(wrong):
        raise InvalidInput(
            f"arm {wrong[0] + 1} has counts {array[wrong[0]].tolist()}, but they must be at least 0 and not all 0"
        )
    return array.astype(np.int64)


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
