"""Snapshots: facts and arrays as bytes, without pickle, checked by a sum.

A snapshot is a line of JSON (version, checksum, facts, and for each array its name, its type in the file, its type here
and its shape) and then the arrays one after the other, little-endian. Whole numbers are stored as narrow as they fit.
"""

import json
import zlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from boxthirding.session.serialization import Saved

VERSION: Final = 1

_NARROW: Final = ("<i1", "<i2", "<i4")


class Unusable(Exception):
    """A snapshot is damaged or of another version: the journal has everything that was in it."""


def pack(saved: Saved) -> bytes:
    """Return facts and arrays as bytes."""
    arrays = {name: _narrow(array) for name, array in saved.arrays.items()}
    body = b"".join(array.tobytes() for array in arrays.values())
    table = [
        [name, array.dtype.str, _little(saved.arrays[name]).str, list(array.shape)] for name, array in arrays.items()
    ]
    head = {"version": VERSION, "bytes": len(body), "sum": zlib.crc32(body), "facts": saved.facts, "arrays": table}
    line = json.dumps(head, separators=(",", ":")).encode()
    return b"%08x\n%s\n%s" % (zlib.crc32(line), line, body)


def unpack(data: bytes) -> Saved:
    """Return what was packed, or raise `Unusable`."""
    try:
        check, line, body = data.split(b"\n", 2)
        if int(check, 16) != zlib.crc32(line):
            raise Unusable("the snapshot's first line is damaged")
        head = json.loads(line)
        if head["version"] != VERSION:
            raise Unusable(f"the snapshot is of version {head['version']}, and this one reads {VERSION}")
        if (len(body), zlib.crc32(body)) != (head["bytes"], head["sum"]):
            raise Unusable("the snapshot's arrays are damaged")
        return Saved(head["facts"], _arrays(head["arrays"], body))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise Unusable(f"the snapshot cannot be read: {error}") from None


def _arrays(table: list[Any], body: bytes) -> dict[str, NDArray[Any]]:
    arrays = {}
    start = 0
    for name, stored, here, shape in table:
        count = int(np.prod(shape))
        array = np.frombuffer(body, stored, count, start)
        arrays[name] = array.astype(np.dtype(here).newbyteorder("=")).reshape(shape)
        start += array.nbytes
    return arrays


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with the narrowest type that holds every value exactly."""
    if array.dtype.kind == "i" and array.size:
        low, high = int(array.min()), int(array.max())
        for kind in _NARROW:
            limits = np.iinfo(kind)
            if limits.min <= low and high <= limits.max:
                return array.astype(kind)
    return array.astype(_little(array))


def _little(array: NDArray[Any]) -> np.dtype[Any]:
    return array.dtype.newbyteorder("<")
