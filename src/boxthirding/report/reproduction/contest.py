"""The captions that everything is measured on: the embedded ones, or the real contest, known by its SHA-256."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from boxthirding.errors import UnreadableData
from boxthirding.rewards import Instance, captions, from_csv

FILE: Final = "893.csv"
SHA256: Final = "94835f5dc3d4ac9dbb6901383fc3457208125743daef4f48a43c0ef9db6918b0"
"""Of the summary of New Yorker caption contest 893 in the public caption-contest data set."""


@dataclass(frozen=True)
class Contest:
    """Where captions come from: a file that was checked, or None for the embedded ones."""

    path: Path | None = None

    def captions(self, top: int | None = None) -> Instance:
        """Return all captions, or the first so many in the file's order."""
        if self.path is None:
            return captions(top)
        whole = from_csv(self.path, top)
        return Instance("captions", whole.means, source=f"contest 893, SHA-256 {SHA256[:12]}…")

    @property
    def description(self) -> str:
        """Say in a sentence which captions these are."""
        if self.path is None:
            return (
                "The captions are the embedded stand-in for New Yorker caption contest 893: its means at 100 ranks, "
                "interpolated between them."
            )
        return f"The captions are the real New Yorker caption contest 893, from {FILE} with SHA-256 {SHA256}."


def find_contest(folder: Path | None) -> Contest:
    """Return the contest in a folder, or the embedded one if there is no folder; refuse any other file."""
    if folder is None:
        return Contest()
    path = folder / FILE
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UnreadableData(
            f"{path} cannot be read ({problem.strerror or problem}): --data needs a folder with {FILE}, the summary of "
            "New Yorker caption contest 893; without --data the embedded captions are used"
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        raise UnreadableData(
            f"{path} has SHA-256 {found} and the columns {_columns(content)}, but must have SHA-256 {SHA256}: fetch "
            "the summary of contest 893 again as it was published, or leave --data out and use the embedded captions"
        )
    return Contest(path)


def _columns(content: bytes) -> str:
    """Return the header of what should be a CSV file, so that another file is recognised."""
    header = content.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    return header[:120] or "of an empty file"
