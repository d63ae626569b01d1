"""A digest of code: of all functions that some functions reach, and of all values that these read by a name.

It is the same whether kernels are compiled or interpreted, on every machine and with every version of Python. Comments,
docstrings, annotations and the messages of errors do not count. Policies have one each, by which a test notices that a
rule has changed; results of simulations have one; and a cache of compiled code is named by one, made of bytecode.
"""

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from types import CodeType, FunctionType
from typing import Any, Final

import numpy as np

_DECIDES_NOTHING: Final = frozenset({"boxthirding._checks", "boxthirding.errors", "boxthirding.types"})
"""Modules that check what is given, or say what things are called."""

Reader = Callable[[CodeType], tuple[str, frozenset[str]]]
"""Returns the text of a function, and the names in it; those of attributes have a dot in front."""


def digest(roots: Iterable[Callable[..., Any]], owner: type | None = None, read: Reader | None = None) -> str:
    """Return the SHA-256 of all code that functions reach.

    They may be methods; `owner` is the class of their `self`, so that the methods they call there are part of it.
    """
    found = sorted(_texts([_function(root) for root in roots], owner, read or from_source))
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


def _texts(waiting: list[Any], owner: type | None, read: Reader) -> Iterator[str]:
    """Yield the text of every function and class that is reached, and what the names in it stand for."""
    packages = {"boxthirding", *((root.__module__ or "").partition(".")[0] for root in waiting)}
    seen: set[Any] = set()
    while waiting:
        reached = waiting.pop()
        if reached in seen:
            continue
        seen.add(reached)
        if isinstance(reached, type):
            yield f"{_name(reached)} has the fields {tuple(reached.__annotations__)}"
            meant = [(name, value) for name, value in vars(reached).items() if _is_written(value)]
        else:
            text, names = read(reached.__code__)
            yield f"{_name(reached)}{constant((reached.__defaults__, reached.__kwdefaults__))}: {text}"
            meant = [pair for name in names for pair in _meant(name, reached, owner)]
        for name, value in meant:
            yield f"{_name(reached)}: {name} is {constant(value)}"
            function = _function(value)
            if isinstance(function, FunctionType | type) and _counts(function, packages):
                waiting.append(function)


def _counts(reached: Any, packages: set[str]) -> bool:
    """Return whether a function or class decides something: not part of Python or a library, and not an input check."""
    module = reached.__module__
    in_packages = module.partition(".")[0] in packages and module not in _DECIDES_NOTHING
    return in_packages or getattr(reached, "__kernel__", False)


def _meant(name: str, function: FunctionType, owner: type | None) -> Iterator[tuple[str, Any]]:
    """Yield what a name in a function stands for: a global, what a closure holds, or methods of the owner."""
    if name.startswith("."):
        for kind in owner.__mro__ if owner else ():
            if _is_written(method := vars(kind).get(name[1:])):
                yield f"{_name(kind)}{name}", method
    elif name in function.__code__.co_freevars:
        yield name, function.__closure__[function.__code__.co_freevars.index(name)].cell_contents  # type: ignore[index]
    elif name in function.__globals__:
        yield name, function.__globals__[name]


def _is_written(value: Any) -> bool:
    """Return whether an attribute of a class is a handwritten method, not one made by a decorator."""
    function = _function(value)
    return isinstance(function, FunctionType) and not function.__code__.co_filename.startswith("<")


def _function(value: Any) -> Any:
    """Return the function behind what a name stands for."""
    if isinstance(value, property):
        return value.fget
    if isinstance(value, cached_property):
        return value.func
    value = getattr(value, "__func__", value)
    return inspect.unwrap(value) if callable(value) else value


@lru_cache(maxsize=4096)
def from_source(code: CodeType) -> tuple[str, frozenset[str]]:
    """Return a function's source without what decides nothing, or its bytecode if there is no source."""
    try:
        tree = _Bare().visit(ast.parse(textwrap.dedent(inspect.getsource(code))))
    except (OSError, SyntaxError):
        return from_bytecode(code)
    nodes = [*ast.walk(tree)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return _structure(tree), frozenset(names | {f".{node.attr}" for node in nodes if isinstance(node, ast.Attribute)})


def from_bytecode(code: CodeType) -> tuple[str, frozenset[str]]:
    """Read what Python has made of a function."""
    inner = [from_bytecode(value) for value in code.co_consts if isinstance(value, CodeType)]
    constants = [constant(value) for value in code.co_consts]
    text = f"{code.co_code.hex()} {code.co_names} {constants} {[text for text, _ in inner]}"
    names = {*code.co_names, *code.co_freevars, *(f".{name}" for name in code.co_names)}
    return text, frozenset(names).union(*(found for _, found in inner))


def _structure(node: Any) -> str:
    """Write a syntax tree without fields that are empty, as later versions of Python have more of them."""
    if isinstance(node, ast.AST):
        parts = [(name, _structure(value)) for name, value in ast.iter_fields(node)]
        return f"{type(node).__name__}({', '.join(f'{name}={text}' for name, text in parts if text not in _EMPTY)})"
    return f"[{', '.join(map(_structure, node))}]" if isinstance(node, list) else repr(node)


_EMPTY: Final = ("None", "[]")


class _Bare(ast.NodeTransformer):
    """Removes what decides nothing: docstrings, decorators, annotations and the messages of errors."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list, node.returns = [], None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return ast.Pass() if node.value is None else ast.Assign([node.target], node.value)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:  # noqa: ARG002  # whatever it says
        return ast.Raise()


def constant(value: Any) -> str:
    """Write a value so that two of them differ in text when they do; of what is no plain value, its name."""
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype}{value.shape}{value.tolist()}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(constant, value))})"
    if isinstance(value, Mapping):
        return f"({', '.join(f'{constant(key)}: {constant(one)}' for key, one in value.items())})"
    if isinstance(value, set | frozenset):
        return f"({', '.join(sorted(map(constant, value)))})"
    return repr(value) if isinstance(value, int | float | str | bytes | None) else _name(value)


def _name(value: Any) -> str:
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
