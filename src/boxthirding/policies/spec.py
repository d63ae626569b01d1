"""Policies by name: `b3`, `b3:reuse=topup,effort=0.3`, `sh:growth=1.7,mode=paper`, `my_policies:Mine:depth=3`."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from importlib import import_module
from operator import attrgetter
from typing import Any, Final

from boxthirding._compile import is_kernel
from boxthirding._text import did_you_mean
from boxthirding.errors import InvalidInput
from boxthirding.policies.box_thirding import BoxThirding
from boxthirding.policies.chase import Chase
from boxthirding.policies.rivals.ash import AnytimeSequentialHalving
from boxthirding.policies.rivals.asha import Asha
from boxthirding.policies.rivals.bsh import BracketingSequentialHalving
from boxthirding.policies.rivals.bucb import BracketingUCB
from boxthirding.policies.rivals.ebtc import EBTC
from boxthirding.policies.rivals.klucb_lilucb import KLUCB, LilUCB
from boxthirding.policies.rivals.prose import Prose
from boxthirding.policies.rivals.sequential_halving import DoublingSequentialHalving, SequentialHalving
from boxthirding.policies.rivals.successive_rejects import SuccessiveRejects
from boxthirding.policies.rivals.ucbe import UCBE
from boxthirding.policies.rivals.uniform import Uniform
from boxthirding.types import Policy, Rule

POLICIES: Final[Mapping[str, type[Any]]] = {
    policy.name: policy
    for policy in (
        BoxThirding,
        Chase,
        SequentialHalving,
        Uniform,
        BracketingSequentialHalving,
        BracketingUCB,
        Prose,
        Asha,
        SuccessiveRejects,
        DoublingSequentialHalving,
        UCBE,
        KLUCB,
        LilUCB,
        EBTC,
        AnytimeSequentialHalving,
    )
}

ENTRY_POINTS: Final = "boxthirding.policies"
"""The group of entry points in which other packages name their policies."""


def as_policy(
    policy: Policy | str | None, *, budget: int | None = None, sigma: float | None = None, hardness: float | None = None
) -> Policy:
    """Return a policy given as such, as a SPEC, or not at all: then it is `Chase()`, the default.

    What a SPEC leaves out, `parse_policy` takes from the other arguments; a policy given as such has all it needs.
    """
    if policy is None:
        return Chase()
    if isinstance(policy, str):
        policy = parse_policy(policy, budget=budget, sigma=sigma, hardness=hardness)
    elif isinstance(policy, type) or not hasattr(policy, "rule"):
        raise InvalidInput(f"policy is {policy!r}, but must be a policy such as BoxThirding() or a SPEC such as 'b3'")
    for name, function in zip(Rule._fields, policy.rule, strict=True):
        if function is not None and not is_kernel(function):
            raise InvalidInput(
                f"the rule of policy {policy.name} has the function {name}, which is no kernel: mark it @kernel (from "
                "boxthirding import kernel)"
            )
    return policy


def parse_policy(
    spec: str, *, budget: int | None = None, sigma: float | None = None, hardness: float | None = None
) -> Policy:
    """Return the policy that a SPEC describes: a name, then optionally a colon and key=value pairs.

    Instead of a name, `module.path:Class` is a policy of your own: `my_policies:Mine` or `my_policies:Mine:depth=3`. A
    package gives its policies names by the entry points `boxthirding.policies`.

    A policy that must be told the budget, the noise or, for an oracle, the hardness of the problem gets it from the
    arguments, unless the SPEC has the key itself.

    >>> parse_policy("b3:reuse=topup,effort=0.3")
    BoxThirding(growth=None, effort=0.3, schedule='geometric', reuse='topup')
    """
    name, cls, rest = _chosen(spec)
    known = {field.name: field for field in fields(cls) if field.init}
    values = values_of(spec, name, cls, rest)
    if values.get("exploration") != "oracle":
        hardness = None  # no other policy is told
    for key, value in {"budget": budget, "sigma": sigma, "hardness": hardness}.items():
        if key in cls.told and value is not None:
            values.setdefault(key, value)
    missing = [
        key
        for key, field in known.items()
        if field.default is MISSING and field.default_factory is MISSING and key not in values
    ]
    if missing:
        raise InvalidInput(f"policy {name} must be told {' and '.join(missing)}: write {name}:{missing[0]}=…")
    policy: Policy = cls(**values)
    return policy


def values_of(spec: str, name: str, cls: type[Any], rest: str) -> dict[str, Any]:
    """Return the values that the key=value pairs of a SPEC give the fields of a dataclass."""
    known = {field.name: field for field in fields(cls) if field.init}
    values: dict[str, Any] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, text = pair.partition("=")
        if not equals:
            raise InvalidInput(f"policy {spec!r} has {pair!r}, but after the colon come key=value pairs")
        if key not in known:
            exist = f"its keys are {', '.join(known)}" if known else "it has none"
            close = did_you_mean(key, known)
            raise InvalidInput(f"policy {name} has no key {key!r}: {exist}{f'; {close}' if close else ''}")
        if key in values:
            raise InvalidInput(f"policy {spec!r} gives {key} twice, but each key counts once")
        values[key] = _value(name, known[key], text)
    return values


def needs_import(spec: str) -> bool:
    """Return whether a SPEC names a class by its module, which would be imported, and is not a registered entry point.

    >>> needs_import("b3:reuse=topup"), needs_import("my_policies:Mine:depth=3")
    (False, True)
    """
    from importlib.metadata import entry_points  # noqa: PLC0415  # takes milliseconds

    name, _, rest = spec.partition(":")
    attribute = rest.partition(":")[0]
    if name in POLICIES or not attribute or "=" in attribute:
        return False
    known = entry_points(group=ENTRY_POINTS)
    return all(name != entry.name and f"{name}:{attribute}" != entry.value for entry in known)


def format_spec(policy: Policy) -> str:
    """Return a policy as a SPEC, or refuse one that cannot be read back from it."""
    kind = type(policy)
    name = policy.name if POLICIES.get(policy.name) is kind else f"{kind.__module__}:{kind.__qualname__}"
    way_out = "run it in a Session"
    if not is_dataclass(policy):
        raise InvalidInput(f"policy is {policy!r}, but only a frozen dataclass can be kept as a SPEC: {way_out}")
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        raise InvalidInput(
            f"policy is {policy!r}, but {kind.__qualname__} cannot be imported by another process: move the class to a "
            f"module of its own, or {way_out}"
        )
    pairs = [
        f"{part.name}={_text(getattr(policy, part.name))}"
        for part in fields(policy)
        if part.init and (part.default is MISSING or getattr(policy, part.name) != part.default)
    ]
    spec = f"{name}:{','.join(pairs)}" if pairs else name
    try:
        same = parse_policy(spec) == policy
    except InvalidInput:
        same = False
    if not same:
        raise InvalidInput(
            f"policy is {policy!r}, which the SPEC {spec!r} does not describe exactly: simplify it, or {way_out}"
        )
    return spec


def format_policy(policy: Policy) -> str:
    """Return a policy in readable form: its SPEC, or its repr if it has none."""
    try:
        return format_spec(policy)
    except InvalidInput:
        return repr(policy)


def _chosen(spec: str) -> tuple[str, type[Any], str]:
    """Return the policy name in a SPEC, the class of that name, and the key=value pairs behind it."""
    name, _, rest = spec.partition(":")
    if name in POLICIES:
        return name, POLICIES[name], rest
    cls = _entry_point(name)
    if cls is None:
        attribute, _, pairs = rest.partition(":")
        if not attribute or "=" in attribute:
            close = did_you_mean(name, POLICIES)
            raise InvalidInput(
                f"policy is {name!r}, but must be one of {', '.join(sorted(POLICIES))}, or module:Class for your own"
                f"{f': {close}' if close else ''}"
            )
        name, rest = f"{name}:{attribute}", pairs
        cls = _imported(*name.split(":"))
    if not (isinstance(cls, type) and hasattr(cls, "rule") and is_dataclass(cls)):
        raise InvalidInput(
            f"policy {name} is {cls!r}, which is no policy: it must be a dataclass with a rule, see "
            "boxthirding.types.Policy"
        )
    return name, cls, rest


def _entry_point(name: str) -> Any:
    """Return the entry point of another package with this name, or None; not used for built-in names."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # takes milliseconds

    for entry in entry_points(group=ENTRY_POINTS, name=name):
        try:
            return entry.load()
        except (ImportError, AttributeError) as error:
            raise InvalidInput(
                f"policy {name} is {entry.value}, as an installed package says, but cannot be imported ({error}): "
                "reinstall that package"
            ) from error
    return None


def _imported(module: str, attribute: str) -> Any:
    """Return a class of a third party's module."""
    try:
        place = import_module(module)
    except ModuleNotFoundError as error:
        parents = {module.rsplit(".", k)[0] for k in range(module.count(".") + 1)}
        if error.name in parents:
            raise InvalidInput(
                f"policy is {module}:{attribute}, but there is no module {error.name}: it must be installed, or lie in "
                f"a folder of PYTHONPATH; the policies of boxthirding are {', '.join(sorted(POLICIES))}"
            ) from None
        raise InvalidInput(
            f"policy is {module}:{attribute}, but {module} needs the module {error.name}, which is missing: install it"
        ) from error
    except (TypeError, ValueError):  # an empty or relative name
        raise InvalidInput(f"policy is {module}:{attribute}, but {module!r} is no name of a module") from None
    try:
        return attrgetter(attribute)(place)
    except AttributeError:
        raise InvalidInput(
            f"policy is {module}:{attribute}, but module {module} has no {attribute}: write module:Class"
        ) from None


def _value(policy: str, field: Field[Any], text: str) -> Any:
    """Read a value as its field wants it, by the text of its type, such as `float | None`."""
    kinds = str(field.type)
    if "tuple" in kinds and (text[:1].isdigit() or "/" in text):
        return tuple(_number(policy, field.name, part) for part in text.split("/"))
    if "str" in kinds:
        with suppress(ValueError):
            return float(text) if kinds.startswith("float") else text
        return text
    number = _number(policy, field.name, text)
    return int(number) if "int" in kinds and number.is_integer() else number


def _number(policy: str, key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"policy {policy} has {key}={text}, but {key} must be a number") from None


def _text(value: object) -> str:
    return "/".join(map(_text, value)) if isinstance(value, tuple) else str(value)
