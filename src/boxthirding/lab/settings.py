"""One thing to simulate, checked before anything runs."""

from dataclasses import dataclass, replace
from functools import cached_property

from boxthirding._checks import whole
from boxthirding.lab.chunks import Task
from boxthirding.lab.descriptions import Description, digest_of_means, digest_of_rewards, told
from boxthirding.lab.fingerprints import digest_of_code
from boxthirding.lab.instances import Instance
from boxthirding.lab.rewards import RewardModel
from boxthirding.lab.simulate import checked_checkpoints
from boxthirding.policies.spec import as_policy, written
from boxthirding.rng import spawn
from boxthirding.types import Policy


@dataclass(frozen=True, eq=False)
class Setting:
    """A policy on an instance with a reward model: everything that decides the results, and nothing else.

    A policy that must be told the budget, the noise or, as an oracle, the hardness of the problem is told. The answer
    is read at every checkpoint and at the budget. Two settings are equal when their results must be, and as many.

    >>> from boxthirding.lab import Bernoulli, captions
    >>> one, other = (Setting(captions(100), Bernoulli(), "sh", budget=500) for _ in range(2))
    >>> one == other, one.checkpoints
    (True, (500,))
    """

    instance: Instance
    rewards: RewardModel
    policy: Policy | str
    """A SPEC: `b3`, or `b3:reuse=topup,effort=0.3`; a policy that is given as such is kept as its SPEC."""
    budget: int
    checkpoints: tuple[int, ...] = ()
    replicates: int = 1000
    seed: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.policy, str):
            object.__setattr__(self, "policy", written(as_policy(self.policy)))
        times = checked_checkpoints(self.checkpoints, whole("budget", self.budget, least=1))
        object.__setattr__(self, "checkpoints", tuple(times.tolist()))
        whole("the number of replicates", self.replicates, least=1)
        whole("the number of workers", self.workers, least=1)
        spawn(self.seed, 0, 0)  # refuses a bad seed
        # The task refuses arms that the rewards do not fit, the policy a budget too small for so many arms.
        self.task.policy.new(self.instance.n_arms, self.seed, 1)

    @property
    def spec(self) -> str:
        """The policy as a SPEC."""
        return str(self.policy)

    @cached_property
    def task(self) -> Task:
        """What its replicates have in common."""
        source = self.rewards.source(self.instance)
        policy = told(self.policy, self.budget, self.rewards.sigma, source.means)
        times = checked_checkpoints(self.checkpoints, self.budget)
        return Task(source, policy, self.budget, times, self.seed, self.workers, None)

    @cached_property
    def description(self) -> Description:
        """The setting in plain values, without the fingerprint of its code."""
        source = self.task.source
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
            rewards_sha256=digest_of_rewards(source),
            code_sha256="",
            means=source.means,
        )

    @cached_property
    def fingerprinted(self) -> Description:
        """The description as a results file has it: with the fingerprint of the code, which takes a moment."""
        return replace(self.description, code_sha256=digest_of_code(self.task.policy, self.workers))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Setting):
            return NotImplemented
        mine, theirs = self.description, other.description
        return (mine.identity, mine.replicates) == (theirs.identity, theirs.replicates)

    def __hash__(self) -> int:
        return hash(self.description.identity)
