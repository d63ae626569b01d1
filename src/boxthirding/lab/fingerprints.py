"""The fingerprint of the code that decides a replicate, so that results of one algorithm are not taken for another's.

It is made of the text of all functions that a run reaches, without comments, documentation and line breaks, and of the
constants that they read. So it is the same with and without Numba, on every machine and with every version of Python;
compiled code, which `_compile.digest` names, is not.
"""

import hashlib
import inspect
import io
import sys
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cached_property, lru_cache
from types import CodeType, FunctionType
from typing import Any, Final

import numpy as np

from boxthirding import _compile
from boxthirding.lab import driver, parallel_driver
from boxthirding.policies.rivals.ucbe import oracle_hardness
from boxthirding.rng import spawn
from boxthirding.types import Policy

_CHECKS: Final = ("boxthirding._checks", "boxthirding.errors")  # what they refuse is never run
_LAYOUT: Final = {tokenize.NEWLINE: "\n", tokenize.INDENT: "\n>", tokenize.DEDENT: "\n<"}
_NO_CODE: Final = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER, tokenize.ENCODING})


def digest_of_code(policy: Policy, workers: int) -> str:
    """Return the SHA-256 of the code of a policy, of the loop that plays it and of how rewards are drawn.

    Of the policy's own values all count but those that it is told.
    """
    text = hashlib.sha256(_code_of(type(policy), workers > 1).encode())
    for field in fields(policy):  # type: ignore[arg-type]  # policies are dataclasses
        if field.name not in policy.told:
            text.update(f"{field.name}={_constant(getattr(policy, field.name))}\n".encode())
    return text.hexdigest()


@lru_cache(maxsize=64)
def _code_of(policy: type[Policy], parallel: bool) -> str:
    """Return all the code that replicates of a policy run."""
    loop = _compile.bound(parallel_driver.drive_parallel if parallel else driver.drive, **driver.bindings(policy.rule))
    roots: list[Callable[..., Any]] = [loop, policy.new, policy.grow, spawn]
    if "hardness" in policy.told:
        roots.append(oracle_hardness)
    return "\n".join(_texts(roots, policy))


def _texts(roots: list[Callable[..., Any]], policy: type) -> Iterator[str]:
    """Yield the text of every function that is reached, each with what its names stand for."""
    ours = {"boxthirding", policy.__module__.partition(".")[0]}
    seen: set[str] = set()
    waiting = roots
    while waiting:
        function = waiting.pop()
        if _name(function) in seen:
            continue
        seen.add(_name(function))
        yield f"{_name(function)}: {_text(function.__code__)}"
        for name, value in _meant(function, policy):
            waiting += [part for part in _parts(value) if _followed(part, ours)]
            yield f"{name} is {_constant(value)}"


def _parts(value: Any) -> list[FunctionType]:
    """Return the functions that a value brings with it: itself, or those of a class, but for what Python adds to it."""
    if isinstance(value, type):
        file = getattr(sys.modules.get(value.__module__), "__file__", None)
        methods = map(_method, vars(value).values())
        return [one for one in methods if isinstance(one, FunctionType) and one.__code__.co_filename == file]
    return [value] if isinstance(value, FunctionType) else []


def _followed(function: FunctionType, ours: set[str]) -> bool:
    """Tell whether a function is part of the algorithm: not of Python, of a library, or a check of input."""
    module = function.__module__
    return _compile.is_kernel(function) or (module.partition(".")[0] in ours and module not in _CHECKS)


def _meant(function: Callable[..., Any], policy: type) -> Iterator[tuple[str, Any]]:
    """Yield what the names in a function stand for: globals, and methods of the policy."""
    known = function.__globals__
    for name in sorted(_names(function.__code__)):
        if name in known:
            yield name, inspect.unwrap(known[name]) if callable(known[name]) else known[name]
        elif isinstance(method := _method(inspect.getattr_static(policy, name, None)), FunctionType):
            yield name, method


def _names(code: CodeType) -> set[str]:
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _method(value: Any) -> Any:
    """Return the function behind what stands in a class."""
    if isinstance(value, property):
        return value.fget
    if isinstance(value, cached_property):
        return value.func
    return getattr(value, "__func__", value)


@lru_cache(maxsize=1024)
def _text(code: CodeType) -> str:
    """Return the text of a function; of one that stands in no file, or no more, what Python made of it."""
    try:
        return " ".join(_words(textwrap.dedent(inspect.getsource(code))))
    except (OSError, SyntaxError, tokenize.TokenError):
        return f"{code.co_code.hex()} {code.co_names} {_constant(code.co_consts)}"


def _words(source: str) -> list[str]:
    """Return the words of a function, without comments and documentation."""
    words: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        begins = not words or words[-1] in _LAYOUT.values()
        if token.type in _NO_CODE or (begins and token.type in {tokenize.STRING, tokenize.NEWLINE}):
            continue  # a text that begins a line is documentation
        words.append(_LAYOUT.get(token.type, token.string))
    return words


def _constant(value: Any) -> str:
    """Write a value so that two of them differ in text when they do; of what is no plain value, its name."""
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype}{value.shape}{value.tolist()}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_constant, value))})"
    if isinstance(value, dict):
        return f"({', '.join(f'{_constant(key)}: {_constant(one)}' for key, one in value.items())})"
    if isinstance(value, set | frozenset):
        return f"({', '.join(sorted(map(_constant, value)))})"
    return repr(value) if isinstance(value, int | float | str | bytes | None) else _name(value)


def _name(value: Any) -> str:
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
