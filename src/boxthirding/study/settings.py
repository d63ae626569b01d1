"""What a study is made with, as its first event keeps it, and how that is held against what a caller gives."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from boxthirding._checks import is_number, whole
from boxthirding.errors import StudyDiffers, UnreadableData
from boxthirding.policies import parse_policy
from boxthirding.policies.spec import as_policy, written
from boxthirding.session.labels import sort_out
from boxthirding.session.session import check_lease
from boxthirding.study.events import Created
from boxthirding.types import Label, Policy

__all__ = ["Given", "Settings", "check_same", "created_from", "given", "policy_of", "policy_version", "written"]


@dataclass(frozen=True)
class Settings:
    """What a caller says about a study that is opened; None stands for what the study has, or the default."""

    arms: int | Iterable[Any] | Mapping[Label, Any] | None = None
    policy: Policy | str | None = None
    seed: int | None = None
    direction: str | None = None
    patience: int | None = None
    lease: float | None = None


@dataclass
class Given:
    """The arms that a caller gives, sorted out."""

    arms: int | tuple[Label, ...] | None = None
    """How many, or their labels; None for an iterator, and when none were given."""
    payloads: dict[Label, Any] = field(default_factory=dict)
    iterator: Iterator[Any] | None = None


def given(arms: int | Iterable[Any] | Mapping[Label, Any] | None) -> Given:
    """Sort out the arms that a caller gives."""
    if arms is None:
        return Given()
    match sort_out(arms):
        case int() as number:
            return Given(number)
        case list() as pairs:
            payloads = {label: payload for label, payload in pairs if payload is not label}
            return Given(tuple(label for label, _ in pairs), payloads)
        case iterator:
            return Given(iterator=iterator)


def policy_version(policy: Policy) -> int:
    """Return the version of a policy's decisions, 1 unless it says otherwise."""
    return int(getattr(policy, "version", 1))


def policy_of(created: Created) -> Policy:
    """Return the policy of a study, or say that this version of it decides otherwise."""
    policy = parse_policy(created.policy)
    if policy_version(policy) != created.policy_version:
        raise UnreadableData(
            f"the study was made with version {created.policy_version} of policy {policy.name}, but here is version "
            f"{policy_version(policy)}, which decides otherwise: open it with boxthirding {created.package}"
        )
    return policy


def created_from(settings: Settings, arms: Given, at: float) -> Created:
    """Return the first event of a new study; a session made from it checks the rest."""
    policy = as_policy(settings.policy)
    lease = settings.lease
    check_lease(lease)
    return Created(
        at=at,
        origin=os.urandom(8).hex(),
        arms=arms.arms,
        drawn=(),
        policy=written(policy),
        policy_version=policy_version(policy),
        seed=whole("seed", 0 if settings.seed is None else settings.seed, least=0),
        direction="maximize" if settings.direction is None else settings.direction,
        patience=whole("patience", 3 if settings.patience is None else settings.patience, least=1),
        lease=None if lease is None else float(lease),
        package=_package(),
    )


def check_same(name: str, created: Created, settings: Settings, arms: Given, knows: Callable[[object], bool]) -> None:
    """Refuse settings that differ from those of the study, and say in what."""
    differences = []
    policy = None if settings.policy is None else written(as_policy(settings.policy))
    for what, theirs, ours in (
        ("policy", policy, created.policy),
        ("seed", settings.seed, created.seed),
        ("direction", settings.direction, created.direction),
        ("patience", settings.patience, created.patience),
        ("lease", settings.lease, created.lease),
    ):
        if theirs is not None and theirs != ours and not (what == "lease" and _is_as_float(theirs, ours)):
            differences.append(f"{what} {ours}, not {theirs}")
    if settings.arms is not None:
        differences += _other_arms(created, arms, knows)
    if differences:
        raise StudyDiffers(
            f"study {name!r} was made with {'; with '.join(differences)}: "
            "leave out what the study knows itself, or choose another name"
        )


def _other_arms(created: Created, arms: Given, knows: Callable[[object], bool]) -> Iterator[str]:
    """Say how the arms differ; those that were added later may stand anywhere, or be left out."""
    if created.arms is None or arms.iterator is not None:
        if created.arms is not None:
            yield "a sequence or a number of arms, not an iterator"
        elif arms.iterator is None:
            yield "an iterator of arms, not a sequence or a number"
        return  # what an iterator gives is compared when it is drawn from
    ours = range(created.arms) if isinstance(created.arms, int) else created.arms
    theirs = range(arms.arms) if isinstance(arms.arms, int) else arms.arms or ()
    first = ours if isinstance(ours, range) else frozenset(ours)
    known = [label for label in theirs if label in first]
    new = [label for label in theirs if label not in first and not knows(label)]
    if new and known == [*ours]:
        more = f" and {len(new) - 1:,} more" if len(new) > 1 else ""
        way = "with Study.add or `boxthirding study add`"
        yield f"{len(ours):,} arms, not {len(ours) + len(new):,} ({new[0]!r}{more} must be added first, {way})"
        return
    begun = [label for label in theirs if label in first or not knows(label)]
    for position, (mine, yours) in enumerate(zip(ours, begun, strict=False)):
        if mine != yours:
            yield f"arm {mine!r} at position {position}, not {yours!r}"
            return
    if len(begun) < len(ours):
        yield f"{len(ours):,} arms, not {len(begun):,}"


def _is_as_float(value: Any, kept: Any) -> bool:
    """Tell whether a number is the one that a study keeps, with as many digits as that has."""
    try:
        return is_number(value) and float(value) == kept
    except OverflowError:
        return False


def _package() -> str:
    """Return the version of boxthirding, asked for only when a study is made: that takes milliseconds."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version("boxthirding")
    except PackageNotFoundError:  # run from a copy that is not installed
        return "unknown"
