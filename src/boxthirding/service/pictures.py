"""Pictures of arms and studies: PNG, JPEG, WebP or GIF by their bytes, known by a hash of them."""

import hashlib
import time
from typing import Final, NamedTuple

from boxthirding.service.problems import Refusal
from boxthirding.storage.pictures import KIND, picture_of, type_of
from boxthirding.storage.records import Record, Records

_DIGITS: Final = 32


class Picture(NamedTuple):
    """A picture that was uploaded."""

    id: str
    type: str
    data: bytes


def keep(records: Records, data: bytes) -> Picture:
    """Keep a picture; the same bytes are kept once."""
    kind = type_of(data)
    if kind is None:
        raise Refusal(
            415,
            f"the upload of {len(data):,} bytes is no PNG, JPEG, WebP or GIF by its first bytes",
            "save the picture as one of these, and send that file",
        )
    picture = Picture(hashlib.sha256(data).hexdigest()[:_DIGITS], kind, data)
    records.put_new(KIND, Record(picture.id, time.time(), data))
    return picture


def find(records: Records, key: str) -> Picture:
    """Return a picture by its id."""
    found = picture_of(records, key)
    if found is None:
        raise Refusal(404, f"there is no picture {key!r} here", "upload it first")
    return Picture(key, *found)
