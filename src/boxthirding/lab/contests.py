"""The New Yorker caption contests that reports are made of: files of the public data set, known by their SHA-256."""

import hashlib
from pathlib import Path
from typing import Final

from boxthirding.errors import UnreadableData

SHA256: Final = {
    "893": "94835f5dc3d4ac9dbb6901383fc3457208125743daef4f48a43c0ef9db6918b0",
    "872": "dd807fc79295647879351297a20aac6505a883185d22272f7b4b086a1e2a6eaa",
    "830": "2ebe25850c8c0af03c91912ad29367a69b9761de9c79f9330e102d68b41be95c",
}
"""Of the summary of each contest, as it was published."""


def file_of(number: str) -> str:
    """Return the name of a contest's file."""
    return f"{number}.csv"


WITHOUT: Final = ", or leave --data out and use the embedded captions"
"""The way out where there is a stand-in."""


def checked_file(folder: Path, number: str, otherwise: str = "") -> Path:
    """Return the file of a contest in a folder, or refuse any other file of that name; `otherwise` is a way out."""
    path = folder / file_of(number)
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UnreadableData(
            f"{path} cannot be read ({problem.strerror or problem}): give a folder with {path.name}, the summary of "
            f"New Yorker caption contest {number}{otherwise}"
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256[number]:
        raise UnreadableData(
            f"{path} has SHA-256 {found} and the columns {_columns(content)}, but must have SHA-256 {SHA256[number]}: "
            f"fetch the summary of contest {number} again as it was published{otherwise}"
        )
    return path


def _columns(content: bytes) -> str:
    """Return the header of what should be a CSV file, so that another file is recognised."""
    header = content.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    return header[:120] or "of an empty file"
