"""Pictures that a server keeps beside its studies: what kind one is, and how another program reads it."""

from contextlib import closing
from typing import Final

from boxthirding.storage.opening import shelf
from boxthirding.storage.records import Records

KIND: Final = "picture"
"""Of the records that are pictures."""

_SHORTEST: Final = 12  # bytes, below which no picture begins


def type_of(data: bytes) -> str | None:
    """Return what kind of picture bytes are, by how they begin; None for everything else, SVG too.

    >>> type_of(b"GIF89a......"), type_of(b"<svg xmlns=''></svg>")
    ('image/gif', None)
    """
    if len(data) < _SHORTEST:
        return None
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def read_picture(place: str, key: str) -> tuple[str, bytes] | None:
    """Return the kind and the bytes of a picture of a place; None, if it is not there."""
    with closing(shelf(place).records()) as records:
        return picture_of(records, key)


def picture_of(records: Records, key: str) -> tuple[str, bytes] | None:
    """Return the kind and the bytes of a picture; None, if it is not there."""
    record = records.get(KIND, key)
    kind = None if record is None else type_of(record.data)
    return None if record is None or kind is None else (kind, record.data)
