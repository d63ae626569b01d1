"""Which version of each rule this is, with a digest of its code: who changes a decision raises the version.

Journals of studies keep the version that they were written with. The digest is of what a rule is made of and of nothing
else: every function that it reaches, without comments, docstrings, annotations and messages, and every constant that
these read. It is the same whatever compiles or interprets them.
"""

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, Final

VERSIONS: Final[Mapping[str, tuple[int, str]]] = {
    "ash": (1, "96551a640acdc0ee"),
    "asha": (1, "41243efc1fd26012"),
    "b3": (1, "334d7da0d1c5c735"),
    "bsh": (1, "5eaf456c631e350d"),
    "bucb": (1, "b4fee3eabfe2df76"),
    "chase": (1, "bd330dd0dece4284"),
    "dsh": (1, "7445bffc80da3434"),
    "ebtc": (1, "731a32594bf1fc9f"),
    "klucb": (1, "78a7bcb21e934d7e"),
    "lilucb": (1, "2d1762a0f8de21c5"),
    "prose": (1, "5893dc9a5f4b972d"),
    "sh": (1, "522c9a4588b6749f"),
    "sr": (1, "a8de33a658f1037c"),
    "ucbe": (1, "16dc930aee782dd5"),
    "us": (1, "3eca32b5488a2722"),
}
"""By name of the policy: its version, and the digest of the rule that has it."""

_DIGITS: Final = 16
_OUTSIDE: Final = ("boxthirding._checks", "boxthirding.errors", "boxthirding.types")
"""Modules that decide nothing: they check what is given, or say what things are called."""
_METHODS: Final = ("new", "grow")
_PLAIN: Final = bool | int | float | str | bytes | tuple | frozenset | dict | None


def digest(policy: type[Any]) -> str:
    """Return a name for all that decides in a policy's rule, and for how its states are made."""
    parts: dict[str, str] = {}
    for function in policy.rule:
        if function is not None:
            _take_function(function, parts)
    for name in _METHODS:
        _take_method(policy, name, parts)
    text = "\n".join(f"{name}\n{part}" for name, part in sorted(parts.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _take_method(kind: type[Any], name: str, parts: dict[str, str]) -> None:
    """Take a method of a class, and those of its own that it calls."""
    method = inspect.unwrap(getattr(kind, name))
    tree = _take_function(method, parts)
    for attribute in _names(tree, ast.Attribute):
        if _is_written_in(kind, inspect.getattr_static(kind, attribute, None), parts):
            _take_method(kind, attribute, parts)


def _take_function(function: Any, parts: dict[str, str]) -> ast.AST:
    """Take a function, and all that it reads; return its code."""
    tree = _Bare().visit(ast.parse(textwrap.dedent(inspect.getsource(function))))
    parts[_key(function)] = ast.unparse(tree)
    for name in _names(tree, ast.Name):
        if name in function.__globals__:
            _take_value(f"{function.__module__}.{name}", function.__globals__[name], parts)
    return tree


def _take_value(name: str, value: Any, parts: dict[str, str]) -> None:
    """Take what a function reads by a global name."""
    if isinstance(value, ModuleType) or str(getattr(value, "__module__", "")).startswith(_OUTSIDE):
        return
    if isinstance(value, FunctionType):
        if _key(value) not in parts:
            _take_function(value, parts)
    elif isinstance(value, type):
        if _key(value) not in parts and value.__module__ not in ("builtins", "typing"):
            _take_class(value, parts)
    elif isinstance(value, _PLAIN):
        parts[name] = repr(value)


def _take_class(kind: type[Any], parts: dict[str, str]) -> None:
    """Take the fields and the methods of a class."""
    parts[_key(kind)] = repr(tuple(kind.__annotations__))
    for name, value in sorted(vars(kind).items()):
        if _is_written_in(kind, value, parts):
            _take_method(kind, name, parts)


def _is_written_in(kind: type[Any], value: Any, parts: dict[str, str]) -> bool:
    """Tell whether a value is a method that the author of a class wrote, and that has not been taken yet."""
    if not isinstance(value, FunctionType) or inspect.unwrap(value).__code__.co_filename.startswith("<"):
        return False
    return value.__module__ == kind.__module__ and _key(value) not in parts


def _key(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _names(tree: ast.AST, kind: type[ast.Name] | type[ast.Attribute]) -> Iterator[str]:
    """Return the names that code reads, or those of the attributes."""
    found = {node.id if isinstance(node, ast.Name) else node.attr for node in ast.walk(tree) if isinstance(node, kind)}
    return iter(sorted(found))


class _Bare(ast.NodeTransformer):
    """Takes off what decides nothing."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Take off the docstring, the decorators and the annotations."""
        self.generic_visit(node)
        node.decorator_list, node.returns = [], None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Take off the annotation."""
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Take off the annotation."""
        if node.value is None:
            return ast.Pass()
        return ast.Assign([node.target], node.value, lineno=node.lineno)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:  # noqa: ARG002  # whatever it says
        """Take off the message."""
        return ast.Raise()
