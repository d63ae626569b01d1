"""Random runs, drawn by Hypothesis: number of arms and workers, rewards, failures and amendments."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from boxthirding.errors import BoxThirdingError, InvalidInput, MissingExtra
from boxthirding.types import Policy

STEP: Final = 2.0**-10  # rewards are multiples of this, so that their sums are exact in any order

REWARDS: Final = ("equal", "coins", "by arm", "anything")
GIVEN: Final = ("number", "labels", "iterator")

RARE: Final = ("withdraw", "add", "refuse", "fail", "release", "tell_late", "observe", "correct", "doubt", "use")
"""What is done now and then in a session: each is a method of `SessionModel`."""

_SHARES: Final = dict.fromkeys(RARE, (0, 0, 1, 3, 10)) | {"use": (0, 0, 1, 2), "amend": (0, 0, 3, 10, 30)}
"""In how many of 100 steps each of them is done, to choose from; "amend" is for a rule without a session."""


class ContractBroken(AssertionError):
    """A policy broke a rule of the contract; the message says which."""


@dataclass(frozen=True)
class Scenario:
    """One run."""

    n_arms: int
    workers: int  # pulls, or jobs, in flight at the most; in a session as many holders
    steps: int
    budget: int  # told to a policy that must know it, and spent in a simulation
    seed: int
    rewards: str
    given: str  # how a session gets its arms
    raters: int  # holders, the first of all, who must see no arm twice
    shares: Mapping[str, int]  # in how many of 100 steps each of `RARE`, or "amend", is done

    def rng(self) -> random.Random:
        """Return the generator of everything that the scenario leaves open."""
        return random.Random(self.seed)  # noqa: S311  # a seeded generator is what a test wants

    def reward(self, arm: int, rng: random.Random) -> float:
        """Return the reward of one pull."""
        if self.rewards == "equal":
            return 0.5
        if self.rewards == "coins":
            return float(rng.randrange(2))
        if self.rewards == "by arm":
            return STEP * (37 * arm % 1024)
        return STEP * rng.randrange(-4096, 4096)


def for_scenarios(policy: Policy, check: Callable[[Policy, Scenario], None], examples: int) -> None:
    """Run a check of a policy on scenarios that Hypothesis chooses, the same ones every time.

    Scenarios that the policy refuses, as a budget that is too small for the arms, are passed over.
    """
    try:
        from hypothesis import HealthCheck, Phase, given, reject, settings  # noqa: PLC0415  # an extra
        from hypothesis import strategies as st  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("the contract suite", "hypothesis", "testing") from None

    scenarios = st.builds(
        Scenario,
        n_arms=st.one_of(st.integers(1, 12), st.integers(1, 150)),
        workers=st.one_of(st.just(1), st.integers(2, 8), st.integers(9, 64)),
        steps=st.integers(1, 400),
        budget=st.integers(1, 400),
        seed=st.integers(0, 2**32),
        rewards=st.sampled_from(REWARDS),
        given=st.sampled_from(GIVEN),
        raters=st.one_of(st.just(0), st.integers(1, 64)),
        shares=st.fixed_dictionaries({verb: st.sampled_from(choices) for verb, choices in _SHARES.items()}),
    )

    @settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow],
        phases=[Phase.generate, Phase.shrink],
    )
    @given(scenario=scenarios)
    def run(scenario: Scenario) -> None:
        told = suited(policy, scenario.budget)
        try:
            told.new(scenario.n_arms, scenario.seed, 1)
        except InvalidInput:
            reject()
        check(told, scenario)

    run()


def suited(policy: Policy, budget: int) -> Policy:
    """Return the policy, told the budget if it must be."""
    if "budget" not in policy.told:
        return policy
    configuration: Any = policy
    told: Policy = replace(configuration, budget=budget)
    return told


def expect(truth: bool, rule: str) -> None:  # noqa: FBT001  # an assertion, read as one
    """Raise if a rule was broken, and name it."""
    if not truth:
        broken(rule)


def broken(rule: str) -> NoReturn:
    """Raise, and name the rule that was broken."""
    raise ContractBroken(rule)


def expect_refusal(error: type[BoxThirdingError], attempt: Callable[[], object], what: str) -> None:
    """Expect that something is refused with this kind of error."""
    try:
        attempt()
    except error:
        return
    except BoxThirdingError as other:
        broken(f"{what} was refused with {type(other).__name__} ({other}), not with {error.__name__}")
    broken(f"{what} was taken, but must be refused with {error.__name__}")
