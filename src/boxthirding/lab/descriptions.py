"""What decides the results of a setting, in plain values, as a results file has them, and how two settings differ."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from boxthirding.lab.draws import Source
from boxthirding.policies.rivals.ucbe import oracle_hardness
from boxthirding.policies.spec import as_policy
from boxthirding.types import Floats, Policy

DIGITS: Final = 12
"""Of a digest, enough to tell two of them apart in a message."""


@dataclass(frozen=True)
class Description:
    """A setting in plain values; digests are SHA-256. Names and sources of figures are told, but decide nothing."""

    policy: str
    """The SPEC, as given."""
    instance: str
    source: str
    """Where the means come from: a file, "embedded", or a formula."""
    arms: int
    rewards: str
    sigma: float
    """The noise that a policy is told, if it must be told one."""
    budget: int
    checkpoints: tuple[int, ...]
    """Ascending, the budget among them."""
    seed: int
    workers: int
    replicates: int
    """How many were asked for."""
    means_sha256: str
    rewards_sha256: str
    code_sha256: str
    """Of the rule, of the loop that plays it and of how rewards are drawn; empty where nothing is saved."""
    means: Floats = field(compare=False, repr=False)  # [N] what rewards are on average; regret is measured in these

    @property
    def identity(self) -> tuple[object, ...]:
        """What decides replicate k as long as the code is the same: all but names and how many replicates there are."""
        digests = (self.means_sha256, self.rewards_sha256, self.sigma)
        return self.policy, *digests, self.budget, self.checkpoints, self.seed, self.workers

    def told_policy(self) -> Policy:
        """Return the policy, told what it must be told."""
        return told(self.policy, self.budget, self.sigma, self.means)

    def differences(self, asked: "Description") -> Iterator[str]:
        """Say in which parameters another setting differs from this one, which stands in a file."""
        if self.policy != asked.policy:
            yield _differs("policy", self.policy, asked.policy)
        if self.means_sha256 != asked.means_sha256:
            yield _differs("instance", _arms(self), _arms(asked))
        if (self.rewards_sha256, self.sigma) != (asked.rewards_sha256, asked.sigma):
            yield _differs("rewards", _rewards(self), _rewards(asked))
        for name in ("budget", "seed", "workers"):
            if getattr(self, name) != getattr(asked, name):
                yield _differs(name, getattr(self, name), getattr(asked, name))
        if self.budget == asked.budget and self.checkpoints != asked.checkpoints:
            there, wanted = set(self.checkpoints), set(asked.checkpoints)
            yield f"checkpoints differ: {_listed(there - wanted)} only there, {_listed(wanted - there)} only asked for"


def told(policy: Policy | str, budget: int, sigma: float, means: Floats) -> Policy:
    """Return a policy, or that of a SPEC; what it must be told follows from the budget, the rewards and the means."""
    return as_policy(policy, budget=budget, sigma=sigma, hardness=oracle_hardness(means))


def digest_of_means(means: Floats) -> str:
    """Return the SHA-256 of means, whatever the machine's order of bytes."""
    return hashlib.sha256(np.ascontiguousarray(means, "<f8").tobytes()).hexdigest()


def digest_of_rewards(source: Source) -> str:
    """Return the SHA-256 of all that a reward depends on but the mean: the model, its noise, its tables."""
    text = hashlib.sha256(repr((int(source.code), float(source.sigma))).encode())
    for table in (source.values, source.cumulative):
        text.update(repr(table.shape).encode() + np.ascontiguousarray(table, "<f8").tobytes())
    return text.hexdigest()


def _arms(one: Description) -> str:
    return f"{one.instance} ({one.arms} arms, {one.source}, SHA-256 {one.means_sha256[:DIGITS]}…)"


def _rewards(one: Description) -> str:
    return f"{one.rewards} (SHA-256 {one.rewards_sha256[:DIGITS]}…)"


def _listed(checkpoints: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(checkpoints))) or "none"


def _differs(name: str, there: object, asked: object) -> str:
    return f"{name} is {there} there, but {asked} is asked for"
