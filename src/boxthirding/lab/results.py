"""Runs of replicates, and the JSON-lines files that keep them.

The first line of a results file says which versions made it. Then come the true means of arms, once for each set of
them; settings, numbered from 0; how many replicates of a setting are asked for, if that grows; and chunks: the arms
that some replicates of a setting recommended. A last line without its end was cut off by a kill or a full disk and is
ignored. Anything else that is not as expected is an error that names the line.
"""

import importlib
import json
import os
import sys
from bisect import bisect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final, Self
from weakref import WeakSet

import numpy as np

from boxthirding import _compile
from boxthirding._checks import MOST
from boxthirding._csv import read_bytes
from boxthirding.errors import ResultsRefused, SimulationFailed, UnreadableData
from boxthirding.lab.chunks import ChunkResult
from boxthirding.lab.settings import DIGITS, Description, digest_of_means
from boxthirding.types import Floats, Ints

FORMAT: Final = 1
_MARK: Final = "boxthirding_results"
_BEGINNING: Final = f'{{"{_MARK}": '.encode()


@dataclass(frozen=True)
class Run:
    """What replicates of one policy recommended, and how far that is from the best."""

    checkpoints: Ints  # [C] pulls
    recommended: Ints  # [R, C] arms of the instance
    regret: Floats  # [R, C]
    seconds: float
    """Elapsed time or, with an executor, the time of all its workers together; without compilation."""
    idle: Ints  # [R] with several workers: results that arrived while another worker had nothing to do
    numbers: Ints  # [R] the replicates' numbers: 0, 1, 2, …, unless the run was interrupted

    @property
    def replicates(self) -> int:
        """How many replicates were run."""
        return len(self.recommended)

    def rows(self) -> list[dict[str, float]]:
        """Return one summary per checkpoint."""
        if not self.replicates:
            return []
        low, high = np.quantile(self.regret, (0.25, 0.75), axis=0)
        return [
            {
                "pulls": int(pulls),
                "replicates": self.replicates,
                "regret_mean": float(self.regret[:, c].mean()),
                "regret_se": float(self.regret[:, c].std(ddof=1) / np.sqrt(self.replicates))
                if self.replicates > 1
                else 0.0,
                "regret_q25": float(low[c]),
                "regret_q75": float(high[c]),
                "error_rate": float(np.mean(self.regret[:, c] > 0)),
                "seconds": self.seconds,
            }
            for c, pulls in enumerate(self.checkpoints)
        ]


class Interrupted(KeyboardInterrupt):
    """The run was interrupted; `partial` holds the replicates that were complete, `runs` those of a sweep."""

    def __init__(self, *runs: Run) -> None:
        super().__init__(f"interrupted after {sum(run.replicates for run in runs)} replicates")
        self.runs = list(runs)

    @property
    def partial(self) -> Run:
        """The run of `simulate`."""
        return self.runs[0]


class Gathered:
    """The replicates of one setting, gathered as their chunks end, in any order."""

    def __init__(self, means: Floats, checkpoints: Ints, replicates: int) -> None:
        self._means = means
        self._checkpoints = checkpoints
        self._recommended = np.zeros((replicates, len(checkpoints)), np.int64)
        self._idle = np.zeros(replicates, np.int64)
        self._present = np.zeros(replicates, np.bool_)
        self._seconds = 0.0

    @property
    def complete(self) -> bool:
        """Whether no replicate is missing."""
        return bool(self._present.all())

    def lacks(self, chunk: ChunkResult) -> bool:
        """Return whether some of a chunk's replicates are missing."""
        return not self._present[chunk.first : _end(chunk)].all()

    def add(self, chunk: ChunkResult) -> int:
        """Add a chunk; return how many of its replicates are new. Those that are there already stay."""
        stop = min(_end(chunk), len(self._present))
        new = chunk.first + np.flatnonzero(~self._present[chunk.first : stop])
        self._recommended[new] = chunk.recommended[new - chunk.first]
        self._idle[new] = chunk.idle[new - chunk.first]
        self._present[new] = True
        if len(new):
            self._seconds += chunk.seconds * len(new) / len(chunk.recommended)
        return len(new)

    def missing(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of missing replicates, each with its first and its end."""
        edges = np.flatnonzero(np.diff(np.r_[True, self._present, True].astype(np.int8)))
        yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)

    def run(self, replicates: int | None = None) -> Run:
        """Return what is there of the first `replicates`, or of all."""
        numbers = np.flatnonzero(self._present[:replicates])
        recommended = self._recommended[numbers]
        regret = self._means.max() - self._means[recommended]
        seconds = self._seconds * len(numbers) / max(1, int(self._present.sum()))
        return Run(self._checkpoints, recommended, regret, seconds, self._idle[numbers], numbers)


def load(path: str | PathLike[str]) -> list[tuple[Description, Run]]:
    """Return what a results file holds: every setting in plain values, and the run of its complete replicates.

    It needs neither the files that the arms came from nor the end of the sweep: whatever is complete is there.
    """
    contents = _parsed(str(path), read_bytes(path, "give a file that `simulate --results` wrote"))
    if contents is None:
        raise UnreadableData(f"{path} holds no results: its first line is not complete")
    runs = []
    for description, chunks in zip(contents.settings, contents.chunks, strict=True):
        times = np.array(description.checkpoints, np.int64)
        gathered = Gathered(description.means, times, max(map(_end, chunks), default=0))
        for chunk in chunks:
            gathered.add(chunk)
        runs.append((description, gathered.run()))
    return runs


@dataclass
class _Contents:
    """What the complete lines of a results file say."""

    versions: dict[str, Any]  # of the latest writer
    size: int  # bytes up to the end of the last complete line
    means: dict[str, Floats] = field(default_factory=dict)  # by their digest
    settings: list[Description] = field(default_factory=list)
    chunks: list[list[ChunkResult]] = field(default_factory=list)  # of each setting, by their first replicate

    def add(self, line: dict[str, Any]) -> None:
        """Add what a line says, or raise ValueError, LookupError or TypeError for a damaged one."""
        if "chunk" in line:
            index = _integer(line["chunk"], len(self.settings) - 1)
            _insert(self.chunks[index], _chunk(line, self.settings[index]))
        elif "means" in line:
            means = np.array(line["means"], np.float64)
            if digest_of_means(means) != line["means_sha256"]:
                raise ValueError("the means are not those of their digest")
            self.means[line["means_sha256"]] = means
        elif "policy" in line:
            _integer(line.pop("setting"), len(self.settings), least=len(self.settings))
            self.settings.append(_description(line, self.means[line["means_sha256"]]))
            self.chunks.append([])
        elif "setting" in line:
            index = _integer(line["setting"], len(self.settings) - 1)
            self.settings[index] = replace(self.settings[index], replicates=_integer(line["replicates"], MOST, 1))
        else:
            self.versions = dict(line["versions"])


def _parsed(path: str, data: bytes) -> _Contents | None:
    """Parse the bytes of a results file; return None if its first line is not complete."""
    first, *lines = data.split(b"\n")
    if not lines and (_BEGINNING.startswith(first) or first.startswith(_BEGINNING)):
        return None
    torn = lines.pop() if lines else first
    contents = _Contents(_first_versions(path, first), len(data) - len(torn))
    for number, line in enumerate(lines, start=2):
        try:
            contents.add(json.loads(line))
        except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
            raise UnreadableData(
                f"{path}, line {number} is not what a sweep writes ({type(problem).__name__}: {problem}): "
                "the file is damaged; take a copy of it, or begin another one"
            ) from None
    return contents


def _first_versions(path: str, line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
        form, versions = header[_MARK], dict(header["versions"])
    except (LookupError, TypeError, ValueError):
        raise UnreadableData(f"{path} is not a results file: give one that `simulate --results` wrote") from None
    if form != FORMAT:
        raise ResultsRefused(
            f"{path} has the format {form}, but this version of boxthirding has {FORMAT}: "
            f"use boxthirding {versions.get('boxthirding')}, which wrote it, or begin another file"
        )
    return versions


def _description(line: dict[str, Any], means: Floats) -> Description:
    least = {"arms": 1, "budget": 1, "seed": 0, "workers": 1, "replicates": 1}
    numbers = {name: _integer(line.pop(name), MOST, least[name]) for name in least}
    if numbers["arms"] != len(means):
        raise ValueError(f"there are {len(means)} means")
    times = [_integer(time, numbers["budget"], 1) for time in line.pop("checkpoints")]
    if times != sorted({*times, numbers["budget"]}):
        raise ValueError("the checkpoints are not in order, or the budget is not the last of them")
    sigma = float(line.pop("sigma"))
    if not all(isinstance(text, str) for text in line.values()):
        raise ValueError("there is a name or a digest that is no text")
    values: dict[str, Any] = {**line, **numbers, "sigma": sigma, "checkpoints": tuple(times), "means": means}
    return Description(**values)


def _chunk(line: dict[str, Any], description: Description) -> ChunkResult:
    recommended, idle = np.array(line["recommended"]), np.array(line["idle"])
    if recommended.dtype.kind != "i" or idle.dtype.kind != "i":
        raise ValueError("there is something that is not a whole number")
    if recommended.shape != (len(idle), len(description.checkpoints)):
        raise ValueError(f"recommended has the shape {recommended.shape}")
    if recommended.min() < 0 or recommended.max() >= description.arms:
        raise ValueError(f"there are {description.arms} arms")
    first = _integer(line["first"], description.replicates - len(recommended))
    return ChunkResult(first, recommended.astype(np.int64), idle.astype(np.int64), float(line["seconds"]))


def _insert(chunks: list[ChunkResult], chunk: ChunkResult) -> None:
    """Insert a chunk by its first replicate, or raise if one of its replicates is there already."""
    place = bisect(chunks, chunk.first, key=lambda other: other.first)
    if (place and _end(chunks[place - 1]) > chunk.first) or (place < len(chunks) and _end(chunk) > chunks[place].first):
        raise ValueError("some of its replicates are there already")
    chunks.insert(place, chunk)


def _end(chunk: ChunkResult) -> int:
    return chunk.first + len(chunk.recommended)


def _integer(number: Any, most: int, least: int = 0) -> int:
    if type(number) is not int or not least <= number <= most:
        raise ValueError(f"{number!r} is not a whole number from {least} to {most}")
    return number


class ResultsFile:
    """A results file that this process holds open for appending, alone.

    Opening raises, before a byte is written, for a file that cannot be resumed: it must be of this version of the
    package, settings that are asked for again must have been run by the same code, and what the file holds must be
    among what is asked for, or the other way round.
    """

    def __init__(self, path: Path, asked: Sequence[Description]) -> None:
        self._path = path
        self._file = _opened(path)
        _OPEN.add(self)
        try:
            _lock(self._file, path)
            with open(self._file, "rb", closefd=False) as reader:
                reader.seek(0)
                contents = _parsed(str(path), reader.read())
            self._size = contents.size if contents else 0
            lines = self._beginning(contents, asked)  # raises for a file that cannot be resumed
            self._cut()  # the part of a line that a kill left
            self._append(lines)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, which unlocks it."""
        _OPEN.discard(self)
        os.close(self._file)

    def found(self, place: int) -> list[ChunkResult]:
        """Return the chunks that the file had, when opened, of the setting asked for at this place."""
        return self._found[place]

    def save(self, place: int, chunk: ChunkResult) -> None:
        """Append a chunk; when this returns, neither a kill nor a power cut loses it."""
        arrays = {"recommended": chunk.recommended.tolist(), "idle": chunk.idle.tolist()}
        self._append([{"chunk": self._numbers[place], **chunk._asdict(), **arrays}])

    def _beginning(self, contents: _Contents | None, asked: Sequence[Description]) -> list[dict[str, Any]]:
        """Return the lines that the file still needs before its first new chunk."""
        versions = _versions()
        lines: list[dict[str, Any]] = []
        if contents is None:
            contents = _Contents(versions, 0)
            lines.append({_MARK: FORMAT, "versions": versions})
        else:
            self._check(contents, versions, asked)
            if versions != contents.versions:
                lines.append({"versions": versions})
        there = {description.identity: index for index, description in enumerate(contents.settings)}
        known = set(contents.means)
        for description in asked:
            index = there.setdefault(description.identity, len(there))
            if index >= len(contents.settings):
                if description.means_sha256 not in known:
                    lines.append({"means_sha256": description.means_sha256, "means": description.means.tolist()})
                    known.add(description.means_sha256)
                described = asdict(description)
                del described["means"]
                lines.append({"setting": index, **described})
            elif description.replicates > contents.settings[index].replicates:
                lines.append({"setting": index, "replicates": description.replicates})
        self._numbers = [there[description.identity] for description in asked]
        self._found = [contents.chunks[k] if k < len(contents.chunks) else [] for k in self._numbers]
        return lines

    def _check(self, contents: _Contents, versions: dict[str, Any], asked: Sequence[Description]) -> None:
        """Raise for a file of another version of the package, of other code, or with other settings than asked for."""
        if contents.versions.get("boxthirding") != versions["boxthirding"]:
            raise ResultsRefused(
                f"{self._path} was written by boxthirding {contents.versions.get('boxthirding')}, but this is "
                f"{versions['boxthirding']}, whose runs may differ: give another file, or install that version"
            )
        there = {description.identity: description for description in contents.settings}
        for description in asked:
            saved = there.get(description.identity, description)
            if saved.code_sha256 != description.code_sha256:
                raise ResultsRefused(
                    f"{self._path} holds runs of {description.policy} by other code: since then its rule, or the "
                    f"simulator, has changed (SHA-256 {saved.code_sha256[:DIGITS]}… there, "
                    f"{description.code_sha256[:DIGITS]}… here), so runs may differ: give another file, or go back to "
                    "the code that wrote it"
                )
        wanted = {description.identity for description in asked}
        spare = [description for description in contents.settings if description.identity not in wanted]
        new = [description for description in asked if description.identity not in there]
        if spare and new:
            nearest = min((list(one.differences(new[0])) for one in spare), key=len)
            raise ResultsRefused(
                f"{self._path} holds other settings: {'; '.join(nearest)}: ask for all that it holds, to which more "
                "may be added, or give another file"
            )

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
        """Remove what follows the last complete line."""
        with suppress(OSError):
            if os.fstat(self._file).st_size != self._size:
                os.ftruncate(self._file, self._size)


_OPEN: "WeakSet[ResultsFile]" = WeakSet()


def _close_in_child() -> None:
    """Close the parent's files in a forked worker, which would keep them locked if it outlived the parent."""
    for file in list(_OPEN):
        with suppress(OSError):
            file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def _opened(path: Path) -> int:
    """Open or create a file for appending; return its descriptor."""
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


def _lock(file: int, path: Path) -> None:
    """Raise if another sweep is writing to the file; without `fcntl`, as on Windows, there is no lock."""
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


def _versions() -> dict[str, Any]:
    """Return the versions of everything that makes a replicate; only that of boxthirding can change it."""
    from importlib.metadata import version  # slow to import

    compiled = _compile.available()
    return {
        "boxthirding": version("boxthirding"),
        "python": ".".join(map(str, sys.version_info[:3])),
        "numpy": np.__version__,
        "numba": version("numba") if compiled else None,
        "compiled": compiled,
    }
