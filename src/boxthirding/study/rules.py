"""Which rule a journal names, and whether the one that is here is of the same version, older or newer."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final, NamedTuple

from boxthirding.errors import InvalidInput
from boxthirding.policies.spec import parse_policy
from boxthirding.types import Policy

_WAY: Final = "continue with another policy, by study.use('chase'): it starts from the results"


class Chosen(NamedTuple):
    """The policy that a journal names, as it is here."""

    spec: str
    version: int
    """The version of its rule that wrote the journal."""
    policy: Policy | None
    """None, if it cannot decide here."""
    problem: str = ""
    """Why it cannot; empty if it can."""
    way: str = ""
    """What to do about it, where the problem does not say."""

    @property
    def is_here(self) -> bool:
        """Whether the rule that wrote the journal is here."""
        return self.policy is not None and version_of(self.policy) == self.version


def chosen(spec: str, number: int) -> Chosen:
    """Return the policy that a journal names, with what is wrong with it here."""
    try:
        policy = parse_policy(spec)
    except InvalidInput as problem:
        return Chosen(spec, number, None, f"the study's policy {spec} cannot be made here ({problem})", _WAY)
    here = version_of(policy)
    if here < number:
        return Chosen(
            spec,
            number,
            None,
            f"the study was written with version {number} of policy {policy.name}, but here is version {here}: upgrade "
            "boxthirding, or what else the policy comes from",
        )
    if here > number and policy.rule.amend is None:
        return Chosen(
            spec,
            number,
            None,
            f"the study was written with version {number} of policy {policy.name}, but here is version {here}, which "
            "decides otherwise and cannot start from results that are there",
            _WAY,
        )
    return Chosen(spec, number, policy)


def version_of(policy: Policy) -> int:
    """Return the version of a policy's rule, 1 unless it says otherwise."""
    return int(getattr(policy, "version", 1))


def package() -> str:
    """Return the version of boxthirding, asked for only when it is written down: that takes milliseconds."""
    try:
        return version("boxthirding")
    except PackageNotFoundError:  # run from a copy that is not installed
        return "unknown"
