"""The output folder of a report: checked before anything is simulated, with the results and files in it."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from boxthirding.errors import InvalidInput, ResultsRefused
from boxthirding.lab.precompile import compiled_ahead
from boxthirding.lab.results import Run
from boxthirding.lab.settings import Setting
from boxthirding.lab.sweep import sweep
from boxthirding.types import Progress

RESULTS: Final = "results.jsonl"


def check_folder(out: Path) -> None:
    """Raise unless the folder, or the nearest folder above it that exists, can be written to."""
    try:
        if out.exists() and not out.is_dir():
            raise InvalidInput(f"--out is {str(out)!r}, but that is a file: give a folder")
        there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
        writable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    except OSError as problem:
        raise _no_folder(out, problem) from None
    if not writable:
        raise InvalidInput(f"--out is {str(out)!r}, but {str(there)!r} may not be written: give another folder")


def simulated_in(
    out: Path, settings: Sequence[Setting], *, progress: bool | Callable[[Progress], None] = False
) -> list[Run]:
    """Run the settings whose results are not in the folder yet, and save them there; create the folder if needed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise _no_folder(out, problem) from None
    try:
        with compiled_ahead(settings):
            return sweep(settings, results=out / RESULTS, progress=progress)
    except ResultsRefused as refusal:
        raise ResultsRefused(f"{refusal}; here that means another --out") from None


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file atomically: on a full disk, the old content stays."""
    path = path.resolve()  # so that a symbolic link stays one
    part = path.with_name(f".{os.getpid()}.part")
    try:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
        part.replace(path)
    except OSError as problem:
        part.unlink(missing_ok=True)
        raise OSError(problem.errno, problem.strerror, str(path)) from problem


def _no_folder(out: Path, problem: OSError) -> InvalidInput:
    reason = problem.strerror or problem
    return InvalidInput(f"--out is {str(out)!r}, but cannot be a folder ({reason}): give another one")
