"""The captions that everything is measured on: the embedded ones, or the real contest, known by its SHA-256."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from boxthirding.lab.contests import SHA256, WITHOUT, checked_file, file_of
from boxthirding.lab.instances import Instance, captions, from_csv

NUMBER: Final = "893"
"""The contest that the paper's figures are of."""


@dataclass(frozen=True)
class Contest:
    """Where captions come from: a file that was checked, or None for the embedded ones."""

    path: Path | None = None

    def captions(self, top: int | None = None) -> Instance:
        """Return all captions, or the first so many in the file's order."""
        if self.path is None:
            return captions(top)
        whole = from_csv(self.path, top)
        return Instance("captions", whole.means, source=f"contest 893, SHA-256 {SHA256[NUMBER][:12]}…")

    @property
    def description(self) -> str:
        """Say in a sentence which captions these are."""
        if self.path is None:
            return (
                "The captions are the embedded stand-in for New Yorker caption contest 893: its means at 100 ranks, "
                "interpolated between them."
            )
        return (
            f"The captions are the real New Yorker caption contest {NUMBER}, from {file_of(NUMBER)} with SHA-256 "
            f"{SHA256[NUMBER]}."
        )


def find_contest(folder: Path | None) -> Contest:
    """Return the contest in a folder, or the embedded one if there is no folder; refuse any other file."""
    return Contest(None if folder is None else checked_file(folder, NUMBER, WITHOUT))
