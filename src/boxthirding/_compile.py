"""The only file that knows Numba exists: one function, written once, interpreted live and compiled in the simulator.

`@kernel` only marks a function, so live use is plain Python. `compiled(f)` copies f with compiled copies of the kernels
it calls as its globals, and compiles that. Two traps of Numba's disk cache shape this file: it does not notice a change
in another file, and it ignores globals, so two copies of one driver would get each other's code. Therefore the cache
folder is named by a digest of everything the compiled function is made of.
"""

import atexit
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from boxthirding import _code_digest

F = TypeVar("F", bound=Callable[..., Any])

_Memo = dict[Callable[..., Any], Any]

# Without reference counts (`_nrt`) and with every kernel inlined, a run is twenty times faster: a state is a tuple of
# many arrays, and counting each of them at each call costs more than the call. The price: kernels allocate nothing.
_OPTIONS = {"nogil": True, "forceinline": True}
_UNCOUNTED = {"_nrt": False}  # private to Numba: a later version may refuse it

_cache_dir = threading.Lock()

_EDITION = 2  # of the cache: raised when a class of states gets another name, which Numba's files contain

_DIGITS = 24  # of a digest
_MONTH = 30 * 86_400.0  # seconds


def kernel(function: F) -> F:
    """Mark a function as one that can be compiled: scalars, arrays and other kernels only."""
    function.__kernel__ = True  # type: ignore[attr-defined]  # a mark that Numba and mypy need not know
    return function


def is_kernel(value: object) -> bool:
    """Return whether a value is a function marked with `@kernel`."""
    return isinstance(value, FunctionType) and getattr(value, "__kernel__", False)


def available() -> bool:
    """Return whether Numba is installed, so that kernels can be compiled."""
    return importlib.util.find_spec("numba") is not None


def bound(function: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """Return a plain copy of a kernel whose global names include the ones given."""
    return _copy(function, {**function.__globals__, **names})


def compiled(function: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """Return a compiled copy of a kernel, and of every kernel it reaches, that releases the interpreter lock.

    What is compiled once is found again on disk in the next process, as long as no line of it has changed.
    """
    import numba  # noqa: PLC0415  # loaded only when something is compiled

    root = bound(function, **names)
    folder = cache_folder() / digest(root)
    _mark_used(folder)
    memo: _Memo = {}
    options = _accepted_options()
    # Only the outermost function is ever called from Python; wrappers for the others would double the time.
    inner = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)
    outer = _with_compiled_kernels(root, memo, inner)
    with _cache_dir:  # Numba's setting is one for all threads
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder)  # read when the dispatcher is made; there is no argument for it
        try:
            return numba.njit(cache=True, **options)(outer)  # type: ignore[no-any-return]
        finally:
            numba.config.CACHE_DIR = before


@lru_cache(maxsize=1)
def _accepted_options() -> dict[str, bool]:
    """Return the options that this version of Numba takes: the fastest, or only those that are public."""
    import numba  # noqa: PLC0415

    fastest = _OPTIONS | _UNCOUNTED
    try:
        numba.njit(**fastest)(_nothing).compile(())  # Numba reads its options when it compiles, not before
    except (KeyError, TypeError, ValueError):  # Numba 0.68 raises a KeyError
        return _OPTIONS
    return fastest


def _nothing() -> None:
    """Compile in a few milliseconds."""


def digest(function: Callable[..., Any]) -> str:
    """Return a name for everything a kernel is made of: bytecode, values it reads, and what compiles it."""
    import numba  # noqa: PLC0415

    text = hashlib.sha256(repr((_EDITION, sys.version, numba.__version__, np.__version__)).encode())
    text.update(Path(__file__).read_bytes())  # it has the options
    text.update(_code_digest.digest([function], read=_code_digest.from_bytecode).encode())
    return text.hexdigest()[:_DIGITS]


def cache_folder() -> Path:
    """Return the folder for compiled code: `BOXTHIRDING_CACHE`, the user's cache folder, or a temporary one."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    folder = Path(os.environ.get("BOXTHIRDING_CACHE") or Path(home) / "boxthirding")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return _own_folder()


@lru_cache(maxsize=1)
def _own_folder() -> Path:
    """Return a folder that is this process's alone: its contents are run, so no other user may write to it."""
    folder = Path(tempfile.mkdtemp(prefix="boxthirding-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _mark_used(folder: Path) -> None:
    """Make the folder of a digest, or note that it is in use, and remove those unused for a month."""
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    for other in folder.parent.iterdir():
        if len(other.name) == _DIGITS and time.time() - other.stat().st_mtime > _MONTH:
            shutil.rmtree(other, ignore_errors=True)


def _copy(function: Callable[..., Any], names: dict[str, Any]) -> Callable[..., Any]:
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return kernel(copy)


def _with_compiled_kernels(function: Callable[..., Any], memo: _Memo, jit: Callable[..., Any]) -> Callable[..., Any]:
    names = dict(function.__globals__)
    for name in sorted(_code_digest.from_bytecode(function.__code__)[1] & names.keys()):
        value = names[name]
        if is_kernel(value):
            if value not in memo:
                memo[value] = jit(_with_compiled_kernels(value, memo, jit))
            names[name] = memo[value]
    return _copy(function, names)
