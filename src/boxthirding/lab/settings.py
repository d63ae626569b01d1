"""Settings of simulations, checked before anything runs, and their descriptions in plain values."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Final

import numpy as np

from boxthirding import _code_digest
from boxthirding._checks import whole
from boxthirding.errors import InvalidInput
from boxthirding.lab.chunks import Experiment
from boxthirding.lab.driver import loop_of
from boxthirding.lab.instances import Instance
from boxthirding.lab.reward_draws import Source
from boxthirding.lab.rewards import RewardModel
from boxthirding.policies.rivals.ucbe import oracle_hardness
from boxthirding.policies.spec import as_policy, format_spec
from boxthirding.rng import spawn
from boxthirding.types import Floats, Ints, Policy

DIGITS: Final = 12  # how many digits of a digest a message shows


@dataclass(frozen=True)
class Description:
    """A setting in plain values. Names and sources do not affect results; digests are SHA-256."""

    policy: str  # the SPEC, as given
    instance: str
    source: str  # where the means come from: a file, "embedded", or a formula
    arms: int
    rewards: str
    sigma: float  # the noise that a policy is told, if it must be told one
    budget: int
    checkpoints: tuple[int, ...]  # ascending, the budget among them
    seed: int
    workers: int
    replicates: int  # how many were asked for
    means_sha256: str
    rewards_sha256: str
    code_sha256: str  # of the rule, of the simulation loop and of how rewards are drawn; empty where nothing is saved
    means: Floats = field(compare=False, repr=False)  # [N] the expected rewards, which regret is measured in

    @property
    def identity(self) -> tuple[object, ...]:
        """What decides replicate k as long as the code is the same."""
        digests = (self.means_sha256, self.rewards_sha256, self.sigma)
        return self.policy, *digests, self.budget, self.checkpoints, self.seed, self.workers

    def told_policy(self) -> Policy:
        """Return the policy, with the budget, the noise and the hardness that it must be told."""
        return told(self.policy, self.budget, self.sigma, self.means)

    def differences(self, asked: "Description") -> Iterator[str]:
        """Name the parameters in which the setting that is asked for differs from this one of a file."""
        for (name, there), wanted in zip(_parts(self).items(), _parts(asked).values(), strict=True):
            if there[0] != wanted[0]:
                yield f"{name} is {there[-1]} there, but {wanted[-1]} is asked for"
        if self.budget == asked.budget and self.checkpoints != asked.checkpoints:
            ours, theirs = set(self.checkpoints), set(asked.checkpoints)
            yield f"checkpoints differ: {_listed(ours - theirs)} only there, {_listed(theirs - ours)} only asked for"


@dataclass(frozen=True, eq=False)
class Setting:
    """A policy on an instance with a reward model: everything that decides the results, and nothing else.

    A policy is told the budget, the noise or, as an oracle, the hardness of the problem if it needs them. The answer is
    read at every checkpoint and at the budget. Settings with the same results and number of replicates are equal.

    >>> from boxthirding.lab import Bernoulli, captions
    >>> one, other = (Setting(captions(100), Bernoulli(), "sh", budget=500) for _ in range(2))
    >>> one == other, one.checkpoints
    (True, (500,))
    """

    instance: Instance
    rewards: RewardModel
    policy: Policy | str  # a SPEC such as `b3` or `b3:reuse=topup,effort=0.3`; a policy object is converted to its SPEC
    budget: int
    checkpoints: tuple[int, ...] = ()
    replicates: int = 1000
    seed: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.policy, str):
            object.__setattr__(self, "policy", format_spec(as_policy(self.policy)))
        times = checked_checkpoints(self.checkpoints, whole("budget", self.budget, least=1))
        object.__setattr__(self, "checkpoints", tuple(times.tolist()))
        whole("the number of replicates", self.replicates, least=1)
        whole("the number of workers", self.workers, least=1)
        spawn(self.seed, 0, 0)  # raises for a bad seed
        # The experiment raises if the rewards do not fit the arms, the policy if the budget is too small for them.
        self.experiment.policy.new(self.instance.n_arms, self.seed, 1)

    @property
    def spec(self) -> str:
        """The policy as a SPEC."""
        return str(self.policy)

    @cached_property
    def experiment(self) -> Experiment:
        """What its replicates have in common."""
        source = self.rewards.source(self.instance)
        policy = told(self.policy, self.budget, self.rewards.sigma, source.means)
        times = checked_checkpoints(self.checkpoints, self.budget)
        return Experiment(source, policy, self.budget, times, self.seed, self.workers, None)

    @cached_property
    def description(self) -> Description:
        """The setting in plain values, without the fingerprint of its code."""
        source = self.experiment.source
        own = bool((source.means == self.instance.means).all())
        return Description(
            policy=self.spec,
            instance=self.instance.name,
            source=self.instance.source if own else f"{self.instance.source}, as {self.rewards.spec}",
            arms=self.instance.n_arms,
            rewards=self.rewards.spec,
            sigma=float(self.rewards.sigma),
            budget=int(self.budget),
            checkpoints=self.checkpoints,
            seed=int(self.seed),
            workers=int(self.workers),
            replicates=int(self.replicates),
            means_sha256=digest_of_means(source.means),
            rewards_sha256=_digest_of_rewards(source),
            code_sha256="",
            means=source.means,
        )

    @cached_property
    def fingerprinted(self) -> Description:
        """The description with the fingerprint of the code, as results files have it; this takes a moment."""
        return replace(self.description, code_sha256=digest_of_code(self.experiment.policy, self.workers))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Setting):
            return NotImplemented
        mine, theirs = self.description, other.description
        return (mine.identity, mine.replicates) == (theirs.identity, theirs.replicates)

    def __hash__(self) -> int:
        return hash(self.description.identity)


def told(policy: Policy | str, budget: int, sigma: float, means: Floats) -> Policy:
    """Return a policy, or that of a SPEC, with the budget, the noise and the hardness that it must be told."""
    return as_policy(policy, budget=budget, sigma=sigma, hardness=oracle_hardness(means))


def checked_checkpoints(checkpoints: Iterable[int], budget: int) -> Ints:
    """Return the checkpoints in order, each once, the budget among them."""
    times = {budget}
    for checkpoint in checkpoints:
        if whole("a checkpoint", checkpoint, least=1) > budget:
            raise InvalidInput(f"checkpoint is {checkpoint}, but must lie in 1…{budget}, the budget")
        times.add(int(checkpoint))
    return np.array(sorted(times), np.int64)


def digest_of_means(means: Floats) -> str:
    """Return the SHA-256 of means, whatever the byte order of the machine."""
    return hashlib.sha256(np.ascontiguousarray(means, "<f8").tobytes()).hexdigest()


def _digest_of_rewards(source: Source) -> str:
    """Return the SHA-256 of everything that a reward depends on except the mean: the model, its noise, its tables."""
    text = hashlib.sha256(repr((int(source.code), float(source.sigma))).encode())
    for table in (source.values, source.cumulative):
        text.update(repr(table.shape).encode() + np.ascontiguousarray(table, "<f8").tobytes())
    return text.hexdigest()


def _parts(one: Description) -> dict[str, tuple[object, ...]]:
    """Return what decides the results of a setting and, where that is no plain value, how a message shows it."""
    arms = f"{one.instance} ({one.arms} arms, {one.source}, SHA-256 {one.means_sha256[:DIGITS]}…)"
    rewards = f"{one.rewards} (SHA-256 {one.rewards_sha256[:DIGITS]}…)"
    return {
        "policy": (one.policy,),
        "instance": (one.means_sha256, arms),
        "rewards": ((one.rewards_sha256, one.sigma), rewards),
        "budget": (one.budget,),
        "seed": (one.seed,),
        "workers": (one.workers,),
    }


def digest_of_code(policy: Policy, workers: int) -> str:
    """Return the SHA-256 of the code that decides a replicate: of the policy, the simulation loop and the rewards.

    The policy's own values count, too, except those that it is told.
    """
    names = [one.name for one in fields(policy) if one.name not in policy.told]  # type: ignore[arg-type]  # policies are dataclasses
    own = _code_digest.constant({name: getattr(policy, name) for name in names})
    return hashlib.sha256(f"{_code_of(type(policy), workers > 1)} {own}".encode()).hexdigest()


@lru_cache(maxsize=64)
def _code_of(policy: type[Policy], parallel: bool) -> str:
    """Return the digest of all code that replicates of a policy run."""
    loop = loop_of(policy.rule, compiled=False, parallel=parallel)
    hardness = [oracle_hardness] if "hardness" in policy.told else []
    return _code_digest.digest([loop, policy.new, policy.grow, spawn, *hardness], policy)


def _listed(checkpoints: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(checkpoints))) or "none"
