"""The folder that a report is written to: checked before anything is simulated for it, and what is saved in it."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from boxthirding.errors import InvalidInput, ResultsRefused
from boxthirding.lab.precompile import compiled_ahead
from boxthirding.lab.runs import Run
from boxthirding.lab.settings import Setting
from boxthirding.lab.sweep import sweep
from boxthirding.types import Progress

RESULTS: Final = "results.jsonl"


def check_folder(out: Path) -> None:
    """Refuse a folder that nothing can be written to; it need not be there yet."""
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
    """Simulate what the folder does not hold yet; make it, and those above it, unless they are there."""
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
    """Write a file whole or not at all: a full disk leaves what was there before, and nothing half."""
    path = path.resolve()  # so that a link stays one
    aside = path.with_name(f".{os.getpid()}.part")
    try:
        aside.write_bytes(content.encode() if isinstance(content, str) else content)
        aside.replace(path)
    except OSError as problem:
        aside.unlink(missing_ok=True)
        raise OSError(problem.errno, problem.strerror, str(path)) from problem


def _no_folder(out: Path, problem: OSError) -> InvalidInput:
    reason = problem.strerror or problem
    return InvalidInput(f"--out is {str(out)!r}, but cannot be a folder ({reason}): give another one")
