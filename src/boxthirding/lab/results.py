"""Results files: a line of JSON for each thing that is known, appended when it becomes known.

The first line says which versions made the file. Then come the true means of arms, once for each set of them;
settings, numbered from 0; how many replicates of a setting are asked for, if that grows; and chunks: the arms that some
replicates of a setting recommended. A last line without its end was cut off, by a kill or a full disk, and counts for
nothing. Anything else that is not as it must be is an error that names the line.
"""

import json
from bisect import bisect
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np

from boxthirding._checks import MOST
from boxthirding.errors import ResultsRefused, UnreadableData
from boxthirding.lab.chunks import Part
from boxthirding.lab.descriptions import Description, digest_of_means
from boxthirding.lab.gathering import Gathered
from boxthirding.lab.runs import Run
from boxthirding.types import Floats, Ints

FORMAT: Final = 1
_MARK: Final = "boxthirding_results"
_BEGINNING: Final = f'{{"{_MARK}": '.encode()


@dataclass
class Contents:
    """What the whole lines of a results file say."""

    path: str
    versions: dict[str, Any]
    """Of what wrote to it last."""
    size: int
    """Bytes up to the end of the last whole line."""
    means: dict[str, Floats] = field(default_factory=dict)
    """Of the arms, by their digest."""
    settings: list[Description] = field(default_factory=list)
    parts: list[list[Part]] = field(default_factory=list)
    """Of each setting, by their first replicate."""


def load(path: str | PathLike[str]) -> list[tuple[Description, Run]]:
    """Return what a results file holds: every setting in plain values, and the run of its complete replicates.

    It needs neither the files that the arms came from nor the end of the sweep: whatever is complete is there.
    """
    contents = parsed(str(path), read(path))
    if contents is None:
        raise UnreadableData(f"{path} holds no results: its first line is not complete")
    runs = []
    for description, parts in zip(contents.settings, contents.parts, strict=True):
        times = np.array(description.checkpoints, np.int64)
        gathered = Gathered(description.means, times, max(map(_end, parts), default=0))
        for part in parts:
            gathered.take(part)
        runs.append((description, gathered.run()))
    return runs


def read(path: str | PathLike[str]) -> bytes:
    """Return the bytes of a file, or say why it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise UnreadableData(
            f"{path} cannot be read ({problem.strerror or problem}): give a file that `simulate --results` wrote"
        ) from None


def parsed(path: str, data: bytes) -> Contents | None:
    """Return what the bytes of a results file say; nothing, if not even its first line is complete."""
    *lines, torn = data.split(b"\n")
    if not lines and (_BEGINNING.startswith(torn) or torn.startswith(_BEGINNING)):
        return None
    contents = Contents(path, _versions(path, lines[0] if lines else torn), len(data) - len(torn))
    for number, line in enumerate(lines[1:], start=2):
        try:
            _add(contents, json.loads(line))
        except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
            raise UnreadableData(
                f"{path}, line {number} is not what a sweep writes ({type(problem).__name__}: {problem}): "
                "the file is damaged; take a copy of it, or begin another one"
            ) from None
    return contents


def first_line(versions: dict[str, Any]) -> dict[str, Any]:
    """Return the line that a results file begins with."""
    return {_MARK: FORMAT, "versions": versions}


def versions_line(versions: dict[str, Any]) -> dict[str, Any]:
    """Return the line that says that other versions go on with a file."""
    return {"versions": versions}


def means_line(description: Description) -> dict[str, Any]:
    """Return the line with the true means of arms."""
    return {"means_sha256": description.means_sha256, "means": description.means.tolist()}


def setting_line(index: int, description: Description) -> dict[str, Any]:
    """Return the line that describes a setting."""
    described = asdict(description)
    del described["means"]
    return {"setting": index, **described}


def replicates_line(index: int, replicates: int) -> dict[str, Any]:
    """Return the line that asks for more replicates of a setting."""
    return {"setting": index, "replicates": replicates}


def chunk_line(index: int, part: Part) -> dict[str, Any]:
    """Return the line with what a chunk of a setting gave."""
    return {
        "chunk": index,
        "first": part.first,
        "recommended": part.recommended.tolist(),
        "idle": part.idle.tolist(),
        "seconds": part.seconds,
    }


def _versions(path: str, line: bytes) -> dict[str, Any]:
    """Read the first line."""
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


def _add(contents: Contents, line: dict[str, Any]) -> None:
    """Add what a line says; ValueError and its like mean that it says nothing."""
    if "chunk" in line:
        index = _index(line["chunk"], len(contents.settings) - 1)
        _insert(contents.parts[index], _part(line, contents.settings[index]))
    elif "means" in line:
        means = np.array(line["means"], np.float64)
        if digest_of_means(means) != line["means_sha256"]:
            raise ValueError("the means are not those of their digest")
        contents.means[line["means_sha256"]] = means
    elif "policy" in line:
        _index(line.pop("setting"), len(contents.settings), least=len(contents.settings))
        contents.settings.append(_description(line, contents.means))
        contents.parts.append([])
    elif "setting" in line:
        index = _index(line["setting"], len(contents.settings) - 1)
        contents.settings[index] = replace(contents.settings[index], replicates=_index(line["replicates"], MOST, 1))
    else:
        contents.versions = dict(line["versions"])


def _description(line: dict[str, Any], known: dict[str, Floats]) -> Description:
    means = known[line["means_sha256"]]
    least = {"arms": 1, "budget": 1, "seed": 0, "workers": 1, "replicates": 1}
    numbers = {name: _index(line.pop(name), MOST, least[name]) for name in least}
    if numbers["arms"] != len(means):
        raise ValueError(f"there are {len(means)} means")
    times = [_index(time, numbers["budget"], 1) for time in line.pop("checkpoints")]
    if times != sorted({*times, numbers["budget"]}):
        raise ValueError("the checkpoints are not in order, or the budget is not the last of them")
    sigma = float(line.pop("sigma"))
    if not all(isinstance(text, str) for text in line.values()):
        raise ValueError("there is a name or a digest that is no text")
    values: dict[str, Any] = {**line, **numbers, "sigma": sigma, "checkpoints": tuple(times), "means": means}
    return Description(**values)


def _insert(parts: list[Part], part: Part) -> None:
    """Put a chunk among others of its setting, by its first replicate; none of them may be there twice."""
    place = bisect(parts, part.first, key=lambda other: other.first)
    if (place and _end(parts[place - 1]) > part.first) or (place < len(parts) and _end(part) > parts[place].first):
        raise ValueError("some of its replicates are there already")
    parts.insert(place, part)


def _end(part: Part) -> int:
    return part.first + len(part.recommended)


def _part(line: dict[str, Any], description: Description) -> Part:
    recommended, idle = _whole(line["recommended"]), _whole(line["idle"])
    if recommended.shape != (len(idle), len(description.checkpoints)):
        raise ValueError(f"recommended has the shape {recommended.shape}")
    if recommended.min() < 0 or recommended.max() >= description.arms:
        raise ValueError(f"there are {description.arms} arms")
    first = _index(line["first"], description.replicates - len(recommended))
    return Part(first, recommended, idle, float(line["seconds"]))


def _whole(numbers: Any) -> Ints:
    array = np.array(numbers)
    if array.dtype.kind != "i":
        raise ValueError("there is something that is not a whole number")
    return array.astype(np.int64)


def _index(number: Any, most: int, least: int = 0) -> int:
    if type(number) is not int or not least <= number <= most:
        raise ValueError(f"{number!r} is not a whole number from {least} to {most}")
    return number
