"""Snapshots: the state of a study as bytes, without pickle, checked by a sum.

A snapshot is a line of JSON (version, checksum, plain values, and for each array where it belongs, its type in the
file, its type here and its shape) and then the arrays one after the other, little-endian. Whole numbers are stored as
narrow as they fit.
"""

import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from boxthirding.errors import UnknownStudy
from boxthirding.study.arm_source import ArmSource
from boxthirding.study.codec import check_of
from boxthirding.study.events import Created
from boxthirding.study.journal import Journal, cut_off
from boxthirding.study.state import StudyState

VERSION: Final = 2

_NARROW: Final = ("<i1", "<i2", "<i4")


class SnapshotUnusable(Exception):
    """A snapshot is damaged or of another version: the journal has everything that was in it."""


def restored(
    name: str, journal: Journal, created: Created, check: str, source: ArmSource, distrusted: int
) -> StudyState:
    """Return the state of the latest snapshot that can be used, or that after the first event, which has this check.

    The rules of policies up to the era `distrusted` are not run.
    """
    first = journal.read(0, 1)
    if not first or check_of(first[0]) != check:
        raise UnknownStudy(
            f"study {name!r} was deleted while it was open", advice="open it again if another was made under its name"
        )
    for seq in journal.snapshots():
        texts = journal.read(seq - 1, 1)
        if not texts:
            raise cut_off(seq)
        with suppress(SnapshotUnusable, KeyError, TypeError, ValueError, IndexError, AttributeError):
            state = StudyState.load(name, created, source, unpack(journal.snapshot(seq)), distrusted)
            if check_of(texts[0]) == state.check:  # it follows that very event
                return state
    state = StudyState(name, created, source, distrusted=distrusted)
    state.check = check
    return state


def pack(saved: Mapping[str, Any]) -> bytes:
    """Return what was saved, nested mappings of plain values and arrays, as bytes."""
    facts, arrays = _split(saved, ())
    narrow = [(path, array, _narrow(array)) for path, array in arrays]
    body = b"".join(stored.tobytes() for _, _, stored in narrow)
    table = [[path, stored.dtype.str, _little(array).str, list(array.shape)] for path, array, stored in narrow]
    head = {"version": VERSION, "bytes": len(body), "sum": zlib.crc32(body), "facts": facts, "arrays": table}
    line = json.dumps(head, separators=(",", ":")).encode()
    return b"%08x\n%s\n%s" % (zlib.crc32(line), line, body)


def unpack(data: bytes) -> dict[str, Any]:
    """Return what was packed, or raise `SnapshotUnusable`."""
    try:
        check, line, body = data.split(b"\n", 2)
        if int(check, 16) != zlib.crc32(line):
            raise SnapshotUnusable("the snapshot's first line is damaged")
        head = json.loads(line)
        if head["version"] != VERSION:
            raise SnapshotUnusable(f"the snapshot is of version {head['version']}, and this one reads {VERSION}")
        if (len(body), zlib.crc32(body)) != (head["bytes"], head["sum"]):
            raise SnapshotUnusable("the snapshot's arrays are damaged")
        saved: dict[str, Any] = head["facts"]
        start = 0
        for (*path, name), stored, here, shape in head["arrays"]:
            array = np.frombuffer(body, stored, int(np.prod(shape)), start)
            part = saved
            for step in path:
                part = part[step]
            part[name] = array.astype(np.dtype(here).newbyteorder("=")).reshape(shape)
            start += array.nbytes
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise SnapshotUnusable(f"the snapshot cannot be read: {error}") from None
    return saved


def _split(saved: Mapping[str, Any], path: tuple[str, ...]) -> tuple[dict[str, Any], list[tuple[Any, NDArray[Any]]]]:
    """Return nested mappings without their arrays, and the arrays with the path of each."""
    facts, arrays = {}, []
    for name, value in saved.items():
        if isinstance(value, np.ndarray):
            arrays.append(((*path, name), value))
        elif isinstance(value, Mapping):
            facts[name], inner = _split(value, (*path, name))
            arrays += inner
        else:
            facts[name] = value
    return facts, arrays


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
