"""Pictures of arms and studies: PNG, JPEG, WebP or GIF by their bytes, known by a hash of them."""

import hashlib
import time
from typing import Final, NamedTuple

from boxthirding.service.problems import Refusal
from boxthirding.storage.records import Record, Records

KIND: Final = "picture"
_DIGITS: Final = 32
_SHORTEST: Final = 12  # bytes, below which no picture begins


class Picture(NamedTuple):
    """A picture that was uploaded."""

    id: str
    type: str
    data: bytes


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


def keep(records: Records, data: bytes) -> Picture:
    """Keep a picture; the same bytes are kept once."""
    kind = type_of(data)
    if kind is None:
        raise Refusal(
            415,
            f"the upload has {len(data):,} bytes that begin with {data[:8]!r}, which is no picture that is taken",
            "send a PNG, JPEG, WebP or GIF file",
        )
    picture = Picture(hashlib.sha256(data).hexdigest()[:_DIGITS], kind, data)
    records.put_new(KIND, Record(picture.id, time.time(), data))
    return picture


def find(records: Records, key: str) -> Picture:
    """Return a picture by its id."""
    record = records.get(KIND, key)
    kind = None if record is None else type_of(record.data)
    if record is None or kind is None:
        raise Refusal(404, f"there is no picture {key!r} here", "upload it first")
    return Picture(record.id, kind, record.data)
