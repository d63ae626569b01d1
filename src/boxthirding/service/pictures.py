"""Pictures of arms and studies: PNG, JPEG, WebP or GIF by their bytes, known by a hash of them."""

import hashlib
import time
from collections.abc import Iterable
from typing import Final, NamedTuple

from boxthirding.errors import InvalidInput
from boxthirding.service.problems import Refusal
from boxthirding.storage.server_records import PICTURE, Records, StoredRecord, picture_of, type_of

_DIGITS: Final = 32

ID: Final = rf"^[0-9a-f]{{{_DIGITS}}}$"  # what the id of a picture looks like


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
            "save the picture as one of these, and upload that file",
        )
    picture = Picture(hashlib.sha256(data).hexdigest()[:_DIGITS], kind, data)
    records.put_new(PICTURE, StoredRecord(picture.id, time.time(), data))
    return picture


def find(records: Records, key: str) -> Picture:
    """Return a picture by its id."""
    found = picture_of(records, key)
    if found is None:
        raise Refusal(404, f"there is no picture {key!r} here", "upload it first")
    return Picture(key, *found)


def check(records: Records, keys: Iterable[str | None]) -> None:
    """Raise if a picture was not uploaded: raters would see a broken one."""
    wanted = {key for key in keys if key is not None}
    missing = wanted - records.ids(PICTURE) if wanted else None
    if missing:
        raise InvalidInput(
            f"there is no picture {min(missing)!r} here",
            advice="upload it first (POST /api/v1/pictures), and give the id in the reply",
        )
