"""Policies by name: `b3`, `b3:reuse=topup,effort=0.3`, `sh:growth=1.7,mode=paper`."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, Final

from boxthirding.errors import InvalidInput
from boxthirding.policies.adaptive_box_thirding import AdaptiveBoxThirding
from boxthirding.policies.asha import Asha
from boxthirding.policies.box_thirding import BoxThirding
from boxthirding.policies.bsh import BracketingSequentialHalving
from boxthirding.policies.bucb import BracketingUCB
from boxthirding.policies.doubling import DoublingSequentialHalving
from boxthirding.policies.prose import Prose
from boxthirding.policies.sequential_halving import SequentialHalving
from boxthirding.policies.successive_rejects import SuccessiveRejects
from boxthirding.policies.ucbe import UCBE
from boxthirding.policies.uniform import Uniform
from boxthirding.types import Policy

POLICIES: Final[Mapping[str, type[Any]]] = {
    policy.name: policy
    for policy in (
        BoxThirding,
        AdaptiveBoxThirding,
        SequentialHalving,
        Uniform,
        BracketingSequentialHalving,
        BracketingUCB,
        Prose,
        Asha,
        SuccessiveRejects,
        DoublingSequentialHalving,
        UCBE,
    )
}
"""Every policy by its name."""


def parse_policy(
    spec: str, *, budget: int | None = None, sigma: float | None = None, hardness: float | None = None
) -> Policy:
    """Return the policy that a SPEC describes: a name, then optionally a colon and key=value pairs.

    A policy that must be told the budget, the noise or, for an oracle, the hardness of the problem gets it from the
    arguments, unless the SPEC has the key itself.

    >>> parse_policy("b3:reuse=topup,effort=0.3")
    BoxThirding(growth=None, effort=0.3, schedule='geometric', reuse='topup')
    """
    name, _, rest = spec.partition(":")
    if name not in POLICIES:
        raise InvalidInput(f"policy is {name!r}, but must be one of {', '.join(sorted(POLICIES))}")
    cls = POLICIES[name]
    known = {field.name: field for field in fields(cls)}
    values: dict[str, Any] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, text = pair.partition("=")
        if not equals:
            raise InvalidInput(f"policy {spec!r} has {pair!r}, but after the colon come key=value pairs")
        if key not in known:
            exist = f"its keys are {', '.join(known)}" if known else "it has none"
            raise InvalidInput(f"policy {name} has no key {key!r}: {exist}")
        if key in values:
            raise InvalidInput(f"policy {spec!r} gives {key} twice, but each key counts once")
        values[key] = _value(name, known[key], text)
    if values.get("exploration") != "oracle":
        hardness = None  # nobody else is told
    for key, value in {"budget": budget, "sigma": sigma, "hardness": hardness}.items():
        if key in cls.told and value is not None:
            values.setdefault(key, value)
    missing = [key for key, field in known.items() if field.default is MISSING and key not in values]
    if missing:
        raise InvalidInput(f"policy {name} must be told {' and '.join(missing)}: write {name}:{missing[0]}=…")
    policy: Policy = cls(**values)
    return policy


def _value(policy: str, field: Field[Any], text: str) -> Any:
    """Read a value as its field wants it, by the text of its type, such as `float | None`."""
    kinds = str(field.type)
    if "tuple" in kinds and (text[:1].isdigit() or "/" in text):
        return tuple(_number(policy, field.name, part) for part in text.split("/"))
    if "str" in kinds:
        return _number_or_text(text) if kinds.startswith("float") else text
    number = _number(policy, field.name, text)
    return int(number) if "int" in kinds and number.is_integer() else number


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _number(policy: str, key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"policy {policy} has {key}={text}, but {key} must be a number") from None
