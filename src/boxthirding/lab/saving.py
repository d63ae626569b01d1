"""Appending to a results file: whole lines, safe on disk, by one process at a time."""

import importlib
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any, Self
from weakref import WeakSet

import numpy as np

from boxthirding import _compile
from boxthirding.errors import ResultsRefused, SimulationFailed
from boxthirding.lab import results
from boxthirding.lab.chunks import Part
from boxthirding.lab.descriptions import DIGITS, Description


class ResultsFile:
    """A results file that belongs to this process while it is open.

    Opening it refuses one that cannot be resumed, before a byte is written: it must be of this version of the
    package, what is asked for again must be run by the same code, and what it holds must be among what is asked for,
    or the other way round.
    """

    def __init__(self, path: Path, asked: Sequence[Description]) -> None:
        self._path = path
        self._file = _opened(path)
        _OPEN.add(self)
        try:
            _lock(self._file, path)
            contents = results.parsed(str(path), _all_of(self._file))
            self._size = contents.size if contents else 0
            lines = self._beginning(contents, asked)  # refuses
            self._cut()  # what a kill left of a line
            self._append(lines)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others have the file."""
        _OPEN.discard(self)
        os.close(self._file)

    def found(self, place: int) -> list[Part]:
        """Return the chunks that were there of the setting that was asked for at this place."""
        return self._found[place]

    def save(self, place: int, part: Part) -> None:
        """Append a chunk; when this returns, neither a kill nor a power cut loses it."""
        self._append([results.chunk_line(self._numbers[place], part)])

    def _beginning(self, contents: results.Contents | None, asked: Sequence[Description]) -> list[dict[str, Any]]:
        """Return the lines that the file still needs before its first new chunk."""
        versions = _versions()
        if contents is None:
            contents = results.Contents(str(self._path), versions, 0)
            lines = [results.first_line(versions)]
        else:
            _check(contents, versions, asked)
            lines = [results.versions_line(versions)] if versions != contents.versions else []
        there = {description.identity: index for index, description in enumerate(contents.settings)}
        known = set(contents.means)
        for description in asked:
            index = there.setdefault(description.identity, len(there))
            if index >= len(contents.settings):
                if description.means_sha256 not in known:
                    lines.append(results.means_line(description))
                    known.add(description.means_sha256)
                lines.append(results.setting_line(index, description))
            elif description.replicates > contents.settings[index].replicates:
                lines.append(results.replicates_line(index, description.replicates))
        self._numbers = [there[description.identity] for description in asked]
        self._found = [contents.parts[k] if k < len(contents.parts) else [] for k in self._numbers]
        return lines

    def _append(self, lines: Sequence[dict[str, Any]]) -> None:
        left = memoryview(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        if not left:
            return
        after = self._size + len(left)
        try:
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
            self._size = after
        except OSError as problem:
            self._cut()
            raise SimulationFailed(
                f"{self._path} cannot be written ({problem.strerror or problem}); what it holds stays: "
                "make room and run the same again to go on"
            ) from problem
        except BaseException:  # Ctrl-C in the middle of a line
            self._cut()
            raise

    def _cut(self) -> None:
        """Take away what stands behind the last whole line."""
        with suppress(OSError):
            if os.fstat(self._file).st_size != self._size:
                os.ftruncate(self._file, self._size)


_OPEN: "WeakSet[ResultsFile]" = WeakSet()


def _leave_to_parent() -> None:
    """Close in a forked worker what belongs to its parent: one that outlives it would keep the file locked."""
    for file in list(_OPEN):
        with suppress(OSError):
            file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _opened(path: Path) -> int:
    """Return a descriptor of a file that is there, or is made now; what is written goes to its end."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as problem:
        raise ResultsRefused(
            f"results file is {str(path)!r}, but cannot be written ({problem.strerror or problem}): "
            "give a file in a folder that is there and may be written"
        ) from None
    if not S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise ResultsRefused(f"results file is {str(path)!r}, but that is a device or a pipe: give an ordinary file")
    with suppress(OSError):  # so that a power cut does not lose the file's name; some systems cannot
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    return file


def _all_of(file: int) -> bytes:
    with open(file, "rb", closefd=False) as reader:
        reader.seek(0)
        return reader.read()


def _lock(file: int, path: Path) -> None:
    """Refuse a file that another sweep is writing to; where there are no such locks, trust the user."""
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ResultsRefused(
            f"{path} is in use: another sweep is writing to it; wait for its end, or give another file"
        ) from None


def _check(contents: results.Contents, versions: dict[str, Any], asked: Sequence[Description]) -> None:
    """Refuse a file of another version of the package, of other code, or with other settings than are asked for."""
    if contents.versions.get("boxthirding") != versions["boxthirding"]:
        raise ResultsRefused(
            f"{contents.path} was written by boxthirding {contents.versions.get('boxthirding')}, but this is "
            f"{versions['boxthirding']}, whose runs may differ: give another file, or install that version"
        )
    there = {description.identity: description for description in contents.settings}
    for description in asked:
        saved = there.get(description.identity, description)
        if saved.code_sha256 != description.code_sha256:
            raise ResultsRefused(
                f"{contents.path} holds runs of {description.policy} by other code: since then its rule, or the "
                f"simulator, has changed (SHA-256 {saved.code_sha256[:DIGITS]}… there, "
                f"{description.code_sha256[:DIGITS]}… here), so runs may differ: give another file, or go back to the "
                "code that wrote it"
            )
    wanted = {description.identity for description in asked}
    spare = [description for description in contents.settings if description.identity not in wanted]
    new = [description for description in asked if description.identity not in there]
    if spare and new:
        nearest = min((list(one.differences(new[0])) for one in spare), key=len)
        raise ResultsRefused(
            f"{contents.path} holds other settings: {'; '.join(nearest)}: ask for all that it holds, to which more "
            "may be added, or give another file"
        )


def _versions() -> dict[str, Any]:
    """Return the versions of all that a replicate is made with; only the first of them can change it."""
    from importlib.metadata import version  # slow to load, and only needed here

    compiled = _compile.available()
    return {
        "boxthirding": version("boxthirding"),
        "python": ".".join(map(str, sys.version_info[:3])),
        "numpy": np.__version__,
        "numba": version("numba") if compiled else None,
        "compiled": compiled,
    }
