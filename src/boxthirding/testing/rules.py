"""The contract of a rule: `ask`, `tell`, `drop`, `recommend`, `amend`, `reset` and `grow`, driven without a session."""

import random
from collections import Counter

from boxthirding.rng import TIES, spawn
from boxthirding.testing.scenarios import STEP, Scenario, broken, expect, suited
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Policy

_GROWN_IN_VAIN = 64  # a state that doubled this often has room for anything
_ROOMY = 1_000
_PULLS = 2**30  # jobs beyond this would make sums inexact


class Driven:
    """A policy whose every answer is checked."""

    def __init__(
        self, policy: Policy, n_arms: int, seed: int, capacity: int, *, ends_jobs_in_ask: bool = False
    ) -> None:
        self.policy, self.rule = policy, policy.rule
        self.state = policy.new(n_arms, seed, capacity)
        self.ends_jobs_in_ask = ends_jobs_in_ask
        self.seed = seed
        self.begin()
        expect(self.answer() == NONE, "nothing is recommended before there is a result")

    def begin(self) -> None:
        """Forget what was checked so far."""
        self.due: Counter[int] = Counter()  # by job: pulls asked for and not told
        self.openings: Counter[int] = Counter()  # by job: how often its name was given since it was last not open
        self.arm_of: dict[int, int] = {}  # by open job
        self.seen = 0
        self.results: dict[int, Counter[float]] = {}  # by arm: how often each reward counts
        self.amended = False
        self.dropped: set[int] = set()
        self.added = False

    def restart(self, n_arms: int) -> None:
        """Reset the rule, as a driver does between replicates."""
        self.state.scalars[N_ARMS] = n_arms
        self.state.ties[:] = spawn(self.seed, 0, 1)[0, TIES]
        self.rule.reset(self.state)
        self.begin()

    @property
    def n_arms(self) -> int:
        """How many arms the rule has been told of."""
        return int(self.state.scalars[N_ARMS])

    def answer(self) -> int:
        """Return the recommended arm or NONE, checked."""
        arm = int(self.rule.recommend(self.state))
        if arm != NONE:
            expect(bool(self.results.get(arm)), f"arm {arm} is recommended, but has no result")
            expect(arm not in self.dropped, f"arm {arm} is recommended, but is withdrawn")
        expect(int(self.rule.recommend(self.state)) == arm, "asking for the recommendation twice gives two answers")
        return arm

    def ask(self) -> tuple[int, int, int] | None:
        """Return a job, its arm and its pulls, or None for WAIT."""
        before = self.answer()
        job, arm, times = self._next_job()
        if before != NONE and not self.ends_jobs_in_ask and not self.amended:  # a job whose pulls are known needs none
            expect(
                self.answer() == before, "the recommendation changed in ask, though no job ended and no arm was dropped"
            )
        if job == WAIT:
            return None
        expect(job >= 0, f"ask gave the job {job}, which is neither WAIT, GROW nor a name")
        expect(0 <= arm < self.n_arms, f"ask gave arm {arm}, but there are {self.n_arms} arms")
        expect(arm <= self.seen, f"ask gave arm {arm}, though {self.seen} is the next number to be met")
        expect(arm not in self.dropped, f"ask gave arm {arm}, which is withdrawn")
        expect(times >= 1, f"ask gave a job of {times} pulls")
        expect(self.arm_of.get(job, arm) == arm, f"job {job} is open for another arm than {arm}")
        self.seen = max(self.seen, arm + 1)
        self.arm_of[job] = arm
        self.due[job] += times
        self.openings[job] += 1
        return job, arm, times

    def _next_job(self) -> tuple[int, int, int]:
        for _ in range(_GROWN_IN_VAIN):
            job, arm, times = map(int, self.rule.ask(self.state))
            if job != GROW:
                return job, arm, times
            self.state = self.policy.grow(self.state)
        return broken("the state was grown again and again, and is still too small")

    def tell(self, job: int, times: int, reward: float) -> None:
        """Tell some pulls of a job, or all; they gave the same reward each."""
        before = self.answer()
        self.rule.tell(self.state, job, times, times * reward, times * reward * reward)
        self.results.setdefault(self.arm_of[job], Counter())[reward] += times
        self.due[job] -= times
        after = self.answer()
        if self.openings[job] == 1 and self.due[job] and before != NONE:
            expect(after == before, "the recommendation changed before the last pull of a job was in")
        if not self.due[job]:
            del self.arm_of[job], self.due[job], self.openings[job]
            gone = bool(self.dropped) or self.amended
            expect(after != NONE or gone, "a job has ended, but nothing is recommended")

    def amend(self, arm: int, rewards: Counter[float], *, out: bool = False) -> None:
        """Make results known that no job asked for, or take some out again."""
        sign = -1 if out else 1
        total = sum(reward * times for reward, times in rewards.items())
        squares = sum(reward * reward * times for reward, times in rewards.items())
        self._amend(arm, sign * rewards.total(), sign * total, sign * squares)
        there = self.results.get(arm, Counter())
        self.results[arm] = there - rewards if out else there + rewards
        self.answer()

    def correct(self, arm: int, old: float, new: float) -> None:
        """Change a result."""
        self._amend(arm, 0, new - old, new * new - old * old)
        self.results[arm] = self.results[arm] - Counter([old]) + Counter([new])
        self.answer()

    def end_of_batch(self) -> None:
        """Notify the rule of the amendments."""
        self._amend(NONE, 0, 0.0, 0.0)
        self.answer()

    def _amend(self, arm: int, times: int, total: float, squares: float) -> None:
        if self.rule.amend is None:
            broken("a rule that cannot be amended was amended")
        self.amended = True
        self.seen = max(self.seen, arm + 1)
        for _ in range(_GROWN_IN_VAIN):
            if self.rule.amend(self.state, arm, times, total, squares) != GROW:
                return
            self.state = self.policy.grow(self.state)
        broken("the state was grown again and again, and there is still no room for an amended arm")

    def drop(self, arm: int) -> None:
        """Withdraw an arm that has been met; its jobs end."""
        self.dropped.add(arm)
        for job in [job for job, owner in self.arm_of.items() if owner == arm]:
            del self.arm_of[job], self.due[job], self.openings[job]
        self.rule.drop(self.state, arm)
        self.answer()

    def add(self, arms: int) -> None:
        """Add arms: the next numbers."""
        self.state.scalars[N_ARMS] += arms
        self.added = True

    def ranking(self) -> list[int]:
        """Return the ranking, checked."""
        arms = self.policy.ranking(self.state)
        expect(len(set(arms)) == len(arms), f"the ranking {arms} names an arm twice")
        expect(all(self.results.get(arm) for arm in arms), f"the ranking {arms} names an arm without a result")
        expect(self.dropped.isdisjoint(arms), f"the ranking {arms} names a withdrawn arm")
        for k in (1, 3):
            best = self.policy.ranking(self.state, k)[:k]
            expect(best == arms[:k], f"the ranking begins with {arms[:k]}, but the {k} best are {best}")
        return arms


def check_rule(policy: Policy, scenario: Scenario, *, ends_jobs_in_ask: bool) -> None:
    """Check a rule on one scenario: with little room, with much, and a second time after `reset`.

    All three must make the same decisions: room changes nothing, and neither does what a state has seen before.
    """
    narrow, roomy = (
        Driven(policy, scenario.n_arms, scenario.seed, capacity, ends_jobs_in_ask=ends_jobs_in_ask)
        for capacity in (1, _ROOMY)
    )
    first = _story(narrow, scenario)
    expect(_story(roomy, scenario) == first, "more room in the state changed a decision")
    roomy.restart(scenario.n_arms)
    expect(_story(roomy, scenario) == first, "the state is not as new after reset: the same run came out differently")


def _story(driven: Driven, scenario: Scenario) -> list[object]:
    """Carry out a scenario; return every job and every answer."""
    rng = scenario.rng()
    story: list[object] = []
    withdraw, add, amend = (scenario.shares[verb] for verb in ("withdraw", "add", "amend"))
    for _ in range(scenario.steps):
        if driven.due.total() > _PULLS:
            break
        chance = rng.randrange(100)
        if chance < withdraw and driven.seen > len(driven.dropped):
            best = driven.answer()
            there = sorted(set(range(driven.seen)) - driven.dropped)
            driven.drop(best if best != NONE and rng.randrange(2) else rng.choice(there))
        elif chance < withdraw + add:
            driven.add(rng.randrange(1, 4))
        elif chance < withdraw + add + amend and driven.rule.amend is not None:
            _amend_something(driven, scenario, rng)
        elif len(driven.arm_of) < scenario.workers and rng.randrange(2):
            job = driven.ask()
            if job is None and not driven.arm_of and is_endless(driven.policy, added=driven.added):
                expect(driven.n_arms == len(driven.dropped), "the rule waits, though no job is open and an arm is left")
            story.append(job)
        elif driven.arm_of:
            name = rng.choice(sorted(driven.arm_of))
            times = rng.choice([1, rng.randint(1, driven.due[name]), driven.due[name]])
            driven.tell(name, times, scenario.reward(driven.arm_of[name], rng))
        story.append(driven.answer())
    story.append(driven.ranking())
    return story


def _amend_something(driven: Driven, scenario: Scenario, rng: random.Random) -> None:
    """Make results known, take some out, correct one, or do something that must leave no trace."""
    reach = driven.n_arms if rng.randrange(4) == 0 else min(driven.n_arms, driven.seen + 3)
    arms = sorted(set(range(reach)) - driven.dropped)
    told = [arm for arm in arms if driven.results.get(arm)]
    verb = rng.randrange(6)
    if verb == 0 or not arms:
        driven.end_of_batch()
    elif verb == 1:
        _leave_no_trace(driven, scenario, rng.choice(arms), rng)
    elif verb in (2, 3) or driven.policy.forgets or not told:  # whose record an older result is no part of
        arm = rng.choice(arms)
        driven.amend(arm, Counter(scenario.reward(arm, rng) for _ in range(rng.choice([1, 1, 2, 5]))))
    else:
        arm = rng.choice(told)
        there = driven.results[arm]
        if verb == 4:  # noqa: PLR2004  # the last but one
            driven.correct(arm, rng.choice(sorted(there)), scenario.reward(arm, rng))
        else:
            some = +Counter({reward: rng.randint(0, times) for reward, times in there.items()})
            driven.amend(arm, some or there, out=True)


def _leave_no_trace(driven: Driven, scenario: Scenario, arm: int, rng: random.Random) -> None:
    """Add a result and remove it; if nothing is in flight, remove all and add them again. The state must not change."""
    before = driven.answer(), driven.ranking()
    one = Counter([scenario.reward(arm, rng) + rng.choice([-1.0, 0.0, 1.0])])
    driven.amend(arm, one)
    driven.amend(arm, one, out=True)
    after = driven.answer(), driven.ranking()
    expect(after == before, f"a result was added and taken out, and {before} became {after}")
    there = driven.results.get(arm, Counter())
    if there and not driven.policy.forgets and arm not in driven.arm_of.values():
        driven.amend(arm, there, out=True)
        expect(arm not in driven.ranking(), f"all results of arm {arm} were taken out, but it is ranked")
        driven.amend(arm, there)
        after = driven.answer(), driven.ranking()
        expect(after == before, f"all results of an arm were taken out and added again, and {before} became {after}")


def is_endless(policy: Policy, *, added: bool) -> bool:
    """Return whether a policy never ends; one that must know the number of arms may ignore added ones."""
    return "budget" not in policy.told and (policy.open_ended or not added)


def check_ties(policy: Policy) -> None:
    """Check that equal arms do not go by number: when all rewards are equal, no number is favoured.

    A rule that breaks ties by number recommends the same one whatever the seed. One that breaks them at random may
    still prefer those it met first; if it takes none of 8 in more than 60 % of all runs, it takes one in more than 54
    of 60 with a chance below 1e-6.
    """
    arms, pulls, seeds = 8, 160, 60
    policy = suited(policy, pulls)
    counts: Counter[int] = Counter()
    for seed in range(seeds):
        driven = Driven(policy, arms, seed, arms, ends_jobs_in_ask=True)
        spent = 0
        while spent < pulls and (job := driven.ask()) is not None:
            name, _, times = job
            driven.tell(name, times, STEP)
            spent += times
        counts[driven.answer()] += 1
    arm, most = counts.most_common(1)[0]
    expect(
        10 * most <= 9 * seeds,
        f"with equal rewards number {arm} was recommended {most} times of {seeds}: ties go by number",
    )
