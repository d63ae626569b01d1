"""Box Thirding with several jobs in flight, partial results, arms added and withdrawn (SPEC S16 and what follows it).

One harness plays any interleaving against the naive reference and recounts the rule's lists and counters from scratch.
"""

import random
from collections import Counter

import pytest
from driving import Live
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from reference_box_thirding import BoxThirdingReference, cost_of
from reference_box_thirding_queue import BoxThirdingQueueReference
from reference_stream import Stream

from boxthirding.policies import BoxThirding
from boxthirding.policies.box_thirding import (
    BASE,
    FULL,
    LIVE,
    OPEN,
    PILE,
    READY,
    SEEN,
    TOP,
    WAITING,
    WIDTH,
    WITHDRAWN,
)
from boxthirding.rng import TIES, spawn
from boxthirding.types import N_ARMS, NONE


class InFlight:
    """The rule and its reference, given the same events; `open` is what the driver knows of the jobs."""

    def __init__(self, n_arms, reuse="none", effort=1.0, seed=0, capacity=1):
        self.live = Live(BoxThirding(reuse=reuse, effort=effort), n_arms, seed, capacity)
        ties = Stream(self.live.ties())
        self.reference = BoxThirdingQueueReference(n_arms, ties, cost_of(effort=effort), reuse)
        self.reuse = reuse
        self.open = {}  # arm: pulls still to be told
        self.gone = set()
        self.told = 0

    def ask(self):
        """Ask for a job; False if there is none, or if so much has been told that levels cost more than anyone pays."""
        if self.told > 10_000:
            return False
        before = self.live.recommend()
        job = self.live.ask()
        assert job == self.reference.ask()
        if self.reuse != "topup":  # where a LIFT without pulls ends as soon as it is begun
            assert self.live.recommend() == before
        if job is None:
            self.check_that_nothing_can_be_asked()
            return False
        arm, times = job
        assert arm not in self.open
        assert arm not in self.gone
        assert times >= 1
        self.open[arm] = times
        return True

    def tell(self, arm, times, total):
        """Tell some pulls of an open job."""
        before = self.live.recommend()
        self.live.tell(arm, times, total)
        self.reference.tell(arm, times, total)
        self.told += times
        self.open[arm] -= times
        if self.open[arm] == 0:
            del self.open[arm]
        elif before is not None:
            assert self.live.recommend() == before  # changes only when a job ends

    def drop(self, arm):
        self.live.drop(arm)
        self.reference.drop(arm)
        self.open.pop(arm, None)
        self.gone.add(arm)

    def add(self, arms=1):
        self.live.add(arms)
        self.reference.n_arms += arms

    def work_alone(self, jobs, reward):
        """Tell whatever is open, then one job at a time: here the rule is the paper's, on queues of any length."""
        while self.open:
            arm, times = self.open.popitem()
            self.open[arm] = times
            self.tell(arm, times, reward(times))
        for _ in range(jobs):
            if self.ask():
                (arm, times), *_ = self.open.items()
                self.tell(arm, times, reward(times))

    def withdraw_unseen(self):
        """Numbers are exchangeable: one that nobody has met is withdrawn by counting one less."""
        self.add(-1)

    def present(self):
        return [arm for arm in range(self.live.at(SEEN)) if arm not in self.gone]

    def check_that_nothing_can_be_asked(self):
        live = self.live
        assert self.open or not self.present()
        assert live.at(SEEN) == live.at(N_ARMS)
        assert live.at(WAITING) == 0
        assert live.at(READY) == 0

    def check(self):
        """Recount everything that the rule keeps, and compare the places with the reference."""
        state, live, reference = self.live.state, self.live, self.reference
        boxes = {}
        room = (live.at(TOP) + 1) * WIDTH
        assert not state.boxes.size[room:].any()
        assert not state.boxes.free[room:].any()
        assert (state.boxes.first[room:] == NONE).all()
        for box in range(room):
            arms = walk(state.boxes.first[box], state.boxes.after)
            assert arms == walk(state.boxes.last[box], state.boxes.before)[::-1]
            assert all(state.arms.place[arm] == box for arm in arms)
            assert state.boxes.size[box] == len(arms)
            if arms:
                boxes[divmod(box, WIDTH)] = arms
            if box // WIDTH >= live.at(BASE):
                free = [arm for arm in arms if state.lifts.lifter[arm] == NONE]
                assert arms[len(arms) - len(free) :] == free  # those taken stand in front
                assert state.boxes.free[box] == len(free)
                assert state.boxes.first_free[box] == (free[0] if free else NONE)
                assert (state.boxes.ready[box // WIDTH] >> box % WIDTH) & 1 == (
                    len(free) >= FULL and box % WIDTH != PILE
                )
        expected = {box: arms for box, arms in reference.boxes.items() if arms}
        expected |= {(level, PILE): arms for level, arms in reference.discarded.items() if arms}
        assert boxes == expected
        assert live.at(READY) == sum(int(bits).bit_count() for bits in state.boxes.ready)

        seen = range(live.at(SEEN))
        assert live.at(SEEN) == reference.seen
        assert live.at(LIVE) == len(self.present())
        assert {arm for arm in seen if state.arms.place[arm] == WITHDRAWN} == self.gone
        assert Counter(arm for arms in boxes.values() for arm in arms) <= Counter(seen)  # nobody stands twice
        waiting = {arm for arm in seen if state.queued[arm]}
        assert waiting == set(reference.waiting)
        assert live.at(WAITING) == len(waiting)
        nowhere = {arm for arm in seen if state.arms.place[arm] == NONE}
        assert nowhere <= waiting | set(self.open)  # in W, or on the way into a first box
        assert live.at(BASE) == reference.base

        lifts = reference.lifts
        assert lifts.keys() == self.open.keys() == {arm for arm in self.present() if state.lifts.lifter[arm] == arm}
        assert all(state.jobs.due[arm] == times for arm, times in self.open.items())
        assert live.at(OPEN) == len(lifts)
        by_level = Counter(lift.lowest() for lift in lifts.values())
        assert {level: count for level, count in enumerate(state.lifts.lifting.tolist()) if count} == by_level
        self.check_the_recommendation()

    def check_the_recommendation(self):
        reference, best = self.reference, self.live.recommend()
        if reference.recommend() is not None:
            assert best == reference.recommend()
        elif best is not None:
            assert best not in self.gone
            assert reference.pulls[best] > 0 or reference.lifts[best].pulls > 0  # never one without a result
        else:
            assert not any(reference.pulls[arm] for arm in self.present())


def walk(arm, neighbour):
    arms = []
    while arm != NONE:
        arms.append(int(arm))
        assert len(arms) <= len(neighbour)
        arm = neighbour[arm]
    return arms


class AnyOrder(RuleBasedStateMachine):
    """Asks, whole and partial tells, withdrawals and new arms in whatever order breaks most."""

    @initialize(
        n_arms=st.integers(1, 12),
        reuse=st.sampled_from(["none", "pool", "topup"]),
        effort=st.sampled_from([0.2, 1.0, 2.5]),
        seed=st.integers(0, 99),
        capacity=st.integers(1, 12),
    )
    def start(self, n_arms, reuse, effort, seed, capacity):
        self.run = InFlight(n_arms, reuse, effort, seed, capacity)

    @rule(jobs=st.integers(1, 8))
    def ask(self, jobs):
        for _ in range(jobs):
            self.run.ask()

    @precondition(lambda self: self.run.open)
    @rule(data=st.data(), jobs=st.integers(1, 6), halves=st.integers(0, 4))
    def tell(self, data, jobs, halves):
        for _ in range(min(jobs, len(self.run.open))):
            arm = data.draw(st.sampled_from(list(self.run.open)))
            self.run.tell(arm, self.run.open[arm], halves / 2 * self.run.open[arm])

    @precondition(lambda self: self.run.open)
    @rule(data=st.data(), halves=st.integers(0, 4))
    def tell_a_part(self, data, halves):
        arm = data.draw(st.sampled_from(list(self.run.open)))
        times = data.draw(st.integers(1, self.run.open[arm]))
        self.run.tell(arm, times, halves / 2 * times)

    @rule(jobs=st.integers(0, 12), seed=st.integers(0, 99))
    def work_alone(self, jobs, seed):
        rng = random.Random(seed)
        self.run.work_alone(jobs, lambda times: times * rng.randrange(5) / 2)

    @precondition(lambda self: self.run.present())
    @rule(data=st.data())
    def drop(self, data):
        self.run.drop(data.draw(st.sampled_from(self.run.present())))

    @rule(arms=st.integers(1, 4))
    def add(self, arms):
        self.run.add(arms)

    @precondition(lambda self: self.run.live.at(N_ARMS) > self.run.live.at(SEEN))
    @rule()
    def withdraw_unseen(self):
        self.run.withdraw_unseen()

    @invariant()
    def nothing_is_lost(self):
        if hasattr(self, "run"):
            self.run.check()


def test_any_order_of_events_is_that_of_the_reference():
    run_state_machine_as_test(
        AnyOrder, settings=settings(max_examples=120, stateful_step_count=40, derandomize=True, deadline=None)
    )


@pytest.mark.parametrize("reuse", ["none", "pool", "topup"])
@pytest.mark.parametrize(("n_arms", "workers"), [(3, 2), (20, 3), (60, 8), (200, 64)])
def test_long_runs_with_many_workers(n_arms, workers, reuse):
    rng = random.Random(f"{n_arms} {workers} {reuse}")
    run = InFlight(n_arms, reuse, effort=0.7, seed=n_arms, capacity=5)
    step = 0
    while run.told < 5_000:
        step += 1
        while len(run.open) < workers and run.ask():
            pass
        arm = rng.choice(list(run.open))
        times = run.open[arm] if rng.random() < 0.7 else rng.randint(1, run.open[arm])
        run.tell(arm, times, rng.randint(0, 2 * times) / 2)
        if rng.random() < 0.02 and len(run.present()) > 1:
            run.drop(rng.choice(run.present()))
        if rng.random() < 0.02:
            run.add()
        if rng.random() < 0.02:
            run.work_alone(rng.randrange(40), lambda times: rng.randint(0, 2 * times) / 2)
        if step % 25 == 0:
            run.check()
    run.check()


@settings(max_examples=60, derandomize=True, deadline=None)
@given(n_arms=st.integers(1, 40), reuse=st.sampled_from(["none", "pool", "topup"]), seed=st.integers(0, 2**32))
def test_both_references_agree_on_one_worker(n_arms, reuse, seed):
    rng = random.Random(seed)
    paper = BoxThirdingReference(n_arms, Stream(), cost_of(effort=0.5), reuse)
    queue = BoxThirdingQueueReference(n_arms, Stream(), cost_of(effort=0.5), reuse)
    spent = 0
    while spent < 400:
        arm, times = queue.ask()
        assert (arm, times) == paper.ask()
        total = rng.randint(0, 2 * times) / 2
        queue.tell(arm, times, total)
        paper.tell(total)
        spent += times


def test_in_flight_a_box_is_a_queue():
    live = Live(BoxThirding(), 30)
    assert [live.ask() for _ in range(10)] == [(arm, 1) for arm in range(10)]
    for arm in range(9):  # the tenth job stays open
        live.tell(arm, 1, float(arm))
    for winner in (2, 5, 8):  # the first three, the next three, the last three of Box(0, 0)
        assert live.ask() == (winner, 2)
        live.tell(winner, 2, 2.0 * winner)
    assert live.ask() == (8, 3)  # Box(1, 0), the highest that holds three
    assert live.ask() == (7, 2)  # then Box(0, 1)
    assert live.ask() == (10, 1)  # then a new arm


def test_with_nothing_in_flight_the_sweep_is_that_of_the_paper():
    live = Live(BoxThirding(), 30)
    assert [live.ask() for _ in range(9)] == [(arm, 1) for arm in range(9)]
    for arm in range(9):
        live.tell(arm, 1, float(arm))
    for winner in (2, 5, 8):
        assert live.ask() == (winner, 2)
        live.tell(winner, 2, 2.0 * winner)
    assert live.ask() == (9, 1)  # Box(1, 0) has filled behind the scan: an introduction comes before the next sweep
    live.tell(9, 1, 0.0)
    assert live.ask() == (8, 3)


@pytest.mark.parametrize(("gone", "recommended"), [(0, 2), (1, 2), (2, 1)])
def test_an_arrange_commits_without_the_arm_that_is_withdrawn(gone, recommended):
    live = Live(BoxThirding(), 4)
    for arm in range(3):
        live.ask()
        live.tell(arm, 1, float(arm))
    assert live.ask() == (2, 2)
    live.drop(gone)
    live.drop(gone)  # the second time is no news
    if gone != 2:
        live.tell(2, 2, 4.0)
    expected = [PILE, 1, WIDTH]  # D_0, Box(0, 1), Box(1, 0)
    expected[gone] = WITHDRAWN
    assert live.state.arms.place[:3].tolist() == expected
    assert live.recommend() == recommended
    assert live.at(LIVE) == 2


def test_the_top_level_is_found_again_when_its_arms_are_withdrawn():
    live = Live(BoxThirding(), 4)
    for _ in range(5):
        arm, times = live.ask()
        live.tell(arm, times, float(arm * times))
    assert live.recommend() == 2
    live.drop(2)
    assert live.recommend() == 3  # alone in Box(0, 0)
    live.drop(3)
    assert live.recommend() in {0, 1}  # none stands in a Box(., 0) any more, but these have results


def test_when_all_are_withdrawn_there_is_nothing_until_one_is_added():
    live = Live(BoxThirding(), 2)
    for arm in range(2):
        live.ask()
        live.tell(arm, 1, 1.0)
    for arm in range(2):
        live.drop(arm)
    assert live.recommend() is None
    assert live.ask() is None
    live.add()
    assert live.ask() == (2, 1)
    live.tell(2, 1, 0.0)
    assert live.recommend() == 2


def test_an_added_arm_joins_the_waiting_ones_at_a_random_place():
    # After the first base update of nine arms five wait; with one of them introduced there are five places for a new
    # one. χ² of 2,000 runs with 4 degrees of freedom exceeds 33.4 with chance 1e-6, the false-alarm rate.
    runs, places = 2_000, Counter()
    live = Live(BoxThirding(), 9, capacity=10)
    streams = spawn(77, 0, runs)
    for replicate in range(runs):
        live.state.ties[:] = streams[replicate, TIES]
        live.state.scalars[N_ARMS] = 9
        live.rule.reset(live.state)
        job = live.ask()
        while live.at(BASE) == 0:
            live.tell(*job, float(job[0]))
            job = live.ask()
        assert live.at(WAITING) == 4
        live.add()
        while live.at(SEEN) == 9:
            live.tell(*job, float(job[0]))
            job = live.ask()
        places[live.at(WAITING)] += 1
    expected = runs / 5
    assert sorted(places) == [0, 1, 2, 3, 4]
    assert sum((count - expected) ** 2 for count in places.values()) / expected <= 33.4
