"""Adaptive Box Thirding: a trace that can be checked by hand, then decision by decision against the naive reference."""

import math
import random
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import SEEDS, STEPS, TURNOVER, Jobs, Together, events
from reference_adaptive_box_thirding import AdaptiveReference
from reference_stream import Stream
from trees import in_order

from boxthirding.errors import InvalidInput
from boxthirding.policies import AdaptiveBoxThirding, boxes
from boxthirding.policies.adaptive_box_thirding import State
from boxthirding.policies.boxes import SEEN, WIDTH
from boxthirding.policies.final import ALL_MET, CENTRE, CREDIT, EFFORT, OUT, RATIO, SIGMA, SPREAD, TOLD
from boxthirding.rewards import captions
from boxthirding.session import Session
from boxthirding.testing import PolicyContract

EXAMPLES = settings(max_examples=150, derandomize=True, deadline=None)

GRID = 2.0**-10

# Multiples of 2**-10, so that sums are exact in any order.
REWARDS = {
    "only noise": lambda rng, _arm: GRID * rng.randrange(-4096, 4097),
    "arms differ": lambda rng, arm: GRID * (37 * arm % 1024 + rng.randrange(-256, 257)),
    "hardly any noise": lambda rng, arm: GRID * (64 * (37 * arm % 1024) + rng.randrange(-1, 2)),
    "coins": lambda rng, arm: float(rng.randrange(8) < 1 + arm % 6),
    "no noise": lambda _rng, arm: GRID * (37 * arm % 1024),
    "no noise, two values": lambda _rng, arm: float(arm % 3 == 1),
    "all equal": lambda _rng, _arm: 0.75,
    "wild now and then": lambda rng, arm: (
        GRID * (37 * arm % 1024 + rng.randrange(-256, 257)) + rng.choice((-1.0, 1.0)) * 64.0 * (rng.randrange(50) == 0)
    ),
    "one noisy arm": lambda rng, arm: float(arm == 0) * rng.choice((-1.0, 3.0)),
}


class Adaptive(Jobs):
    """The rule, told whole lists of rewards."""

    def __init__(self, n_arms, seed=0, capacity=None):
        super().__init__(AdaptiveBoxThirding(), n_arms, seed, capacity)

    def take(self, job, rewards):
        self.rule.tell(self.state, job, len(rewards), sum(rewards), sum(reward * reward for reward in rewards))

    def tell(self, job, times, total):
        """Tell rewards that are all equal."""
        self.take(job, [total / times] * times)

    def fact(self, which):
        return float(self.state.facts[which])

    def level(self, arm):
        return int(self.state.place[arm]) // WIDTH


def pair(n_arms, seed, capacity):
    live = Adaptive(n_arms, seed, capacity)
    return live, AdaptiveReference(n_arms, Stream(live.ties()))


def is_final(job):
    return job % 2 == 1


def assert_same_knowledge(live, reference):
    """What was worked out at the last fit; a sum in another order may differ in its last bits."""
    ours = [live.fact(which) for which in (SIGMA, CENTRE, RATIO, EFFORT)]
    theirs = [reference.sigma, reference.centre, reference.ratio, reference.effort]
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    assert live.fact(SPREAD) == pytest.approx(reference.spread, rel=1e-6, abs=1e-6)


def follow_the_reference(n_arms, pulls, rewards, seed, capacity=1):
    live, reference = pair(n_arms, seed, capacity)
    rng = random.Random(seed)
    assert live.recommend() is None
    while pulls > 0:
        job, arm, times = live.ask()
        other, *asked = reference.ask()
        assert [arm, times] == asked
        assert is_final(job) == (other[0] == "final")
        told = [REWARDS[rewards](rng, arm) for _ in range(times)]
        live.take(job, told)
        reference.take(other, told)
        pulls -= times
        assert live.recommend() == reference.recommend()
        assert live.at(CREDIT) == reference.earned
    assert_same_knowledge(live, reference)
    assert live.ranking()[:1] == [reference.recommend()]
    assert live.ties() == (*reference.ties.x, *reference.ties.y)


@EXAMPLES
@given(
    n_arms=st.one_of(st.integers(1, 12), st.integers(1, 600)),
    pulls=st.integers(1, 400),
    rewards=st.sampled_from(sorted(REWARDS)),
    seed=SEEDS,
    capacity=st.integers(1, 40),
)
def test_every_job_and_recommendation_is_that_of_the_reference(n_arms, pulls, rewards, seed, capacity):
    follow_the_reference(n_arms, pulls, rewards, seed, capacity)


@pytest.mark.parametrize("rewards", sorted(REWARDS))
@pytest.mark.parametrize("n_arms", [7, 150, 10_000])  # T > N by far, T > N, T < N
@pytest.mark.parametrize("pulls", [400, pytest.param(1_200, marks=pytest.mark.soak)])
def test_long_runs_are_those_of_the_reference(n_arms, pulls, rewards):
    follow_the_reference(n_arms, pulls, rewards, seed=n_arms)


@EXAMPLES
@given(n_arms=st.integers(1, 12), steps=STEPS, turnover=TURNOVER, seed=SEEDS)
def test_any_order_of_events_is_that_of_the_reference(n_arms, steps, turnover, seed):
    both = Together(*pair(n_arms, seed, capacity=1))
    for event, number in events(steps, turnover, seed):
        both.happens(event, number)
        live, reference = both.live, both.reference
        by_lower = sorted(reference.final(), key=lambda arm: (reference.lower(arm), reference.luck[arm]), reverse=True)
        assert in_order(live.state) == by_lower
        assert live.at(OUT) == reference.in_final.total() == live.state.out[: live.at(SEEN)].sum()
        assert live.at(CREDIT) == reference.earned
    assert_same_knowledge(both.live, both.reference)


def told(live, *rewards):
    """Ask and tell; return the jobs as F3 for a final pull of arm 3 and L3 for a lift."""
    names = []
    for reward in rewards:
        job, arm, times = live.ask()
        live.tell(job, times, reward * times)
        names.append(("F" if is_final(job) else "L") + str(arm))
    return " ".join(names)


def test_a_run_that_can_be_checked_by_hand():
    live = Adaptive(1_000)
    # There is no noise yet, so every box that holds three is arranged without a pull, and what the final has earned
    # goes to the boxes. The first repeat is due at 4 pulls, that of the best arm.
    assert told(live, 0.0, 4.0, 2.0, 1.0, 4.0) == "L0 L1 L2 L3 F1"
    assert live.recommend() == 1
    assert [live.level(arm) for arm in range(4)] == [0, 1, 0, 0]
    assert live.fact(SIGMA) == 0.0
    # The second one is due at 8 and says 1.
    assert told(live, 1.0, 1.0, 0.0, 1.0) == "L4 L5 L6 F1"
    assert live.fact(SIGMA) == 0.0  # worked out at 8 pulls, and next at 16
    assert live.fact(CENTRE) == (0 + 4 + 2 + 1 + 1 + 1 + 0) / 7
    assert told(live, *[0.0] * 7) == "L7 L8 L9 L10 L11 L12 L13"
    assert live.fact(SIGMA) == pytest.approx(math.sqrt((1 + 1 + 4) / 2))  # 4, 4, 1: the mean is 3
    assert live.fact(EFFORT) == pytest.approx(0.22 * live.fact(RATIO) ** 0.6)


def test_what_is_known_is_worked_out_whenever_results_have_doubled():
    live = Adaptive(1_000)
    rng = random.Random(1)
    fits = []
    while live.at(TOLD) < 60:
        job, _, times = live.ask()
        before = live.state.facts[[SIGMA, CENTRE]].tolist()
        live.take(job, [rng.random() for _ in range(times)])
        if live.state.facts[[SIGMA, CENTRE]].tolist() != before:
            fits.append(live.at(TOLD))
    assert fits[0] == 2  # that of the first pull changes nothing: rewards are counted from it
    assert all(after >= 2 * before for before, after in pairwise(fits))
    assert len(fits) >= 5


@pytest.mark.parametrize("noise", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("n_arms", [30, 3_000])
def test_the_ratio_is_where_the_likelihood_of_the_means_is_largest(n_arms, noise):
    live = Adaptive(n_arms)
    rng = random.Random(n_arms)
    means = [rng.gauss(0.0, 0.3) for _ in range(n_arms)]
    while live.at(TOLD) < 400:
        job, arm, times = live.ask()
        before = live.fact(CENTRE), live.fact(SIGMA)
        live.take(job, [rng.gauss(means[arm], noise) for _ in range(times)])
        if (live.fact(CENTRE), live.fact(SIGMA)) != before:
            assert_likeliest(live)


def assert_likeliest(live):
    if live.fact(SIGMA) == 0.0:
        return
    seen = live.at(SEEN)
    n = live.state.pulls[:seen][live.state.pulls[:seen] > 0]
    away = live.state.total[:seen][live.state.pulls[:seen] > 0] / n - live.fact(CENTRE)
    ratios = np.geomspace(live.fact(RATIO) / 4, live.fact(RATIO) * 4, 801)[:, None]
    variance = live.fact(SIGMA) ** 2 * (1 / ratios**2 + 1 / n)
    likelihood = -0.5 * (np.log(variance) + away**2 / variance).sum(axis=1) - 0.5 * np.log(ratios[:, 0] / 5) ** 2
    likeliest = max(2.0, float(ratios[likelihood.argmax(), 0]))  # it goes no further
    off = abs(math.log(likeliest / live.fact(RATIO), 1.25))
    assert off <= (0.51 if likeliest > 2.0 else 1.0)  # it moves in steps of 1.25, and stops beyond the end


@pytest.mark.parametrize("rewards", ["only noise", "arms differ", "hardly any noise", "coins", "no noise"])
@pytest.mark.parametrize("workers", [1, 8])
def test_the_final_has_no_more_than_its_share_while_arms_are_unseen(rewards, workers):
    live, rng = Adaptive(100_000, capacity=64), random.Random(3)
    spent, out = Counter(), []
    for _ in range(1_500):
        while len(out) < workers:
            job, arm, times = live.ask()
            out.append((job, arm, times))
            spent["final" if is_final(job) else "boxes"] += times
            repeats = max(0, math.floor(math.log2(max(1, live.at(TOLD)))) - 1)
            assert spent["final"] <= spent["boxes"] + repeats
        job, arm, times = out.pop(rng.randrange(workers))
        live.take(job, [REWARDS[rewards](rng, arm) for _ in range(times)])
    if rewards not in {"hardly any noise", "no noise"}:  # there it is clear who leads, and the boxes go on
        assert spent["final"] >= 0.5 * spent["boxes"]


def without_noise(means, pulls, seed):
    """Pull arms that always give the same; return the pulls of each and the answer."""
    session = Session(len(means), AdaptiveBoxThirding(), seed=seed)
    counts = Counter()
    while session.pulls < pulls:
        (ticket,) = session.ask()
        counts[ticket.label] += 1
        session.tell(ticket, means[ticket.label])
        best = session.recommend()
        assert means[best.label] == max(means[label] for label in counts)
    return counts, session


@pytest.mark.parametrize("pulls", [3, 4, 5, 100, 1_500])
def test_without_noise_every_arm_is_pulled_once_but_for_the_repeats(pulls):
    means = [GRID * random.Random(arm).randrange(1024) for arm in range(2_000)]
    counts, _ = without_noise(means, pulls, seed=pulls)
    assert len(counts) == pulls - max(0, math.floor(math.log2(pulls - 1)) - 1)


@pytest.mark.parametrize("zero", [0.0, 1e6])
def test_rounding_is_no_noise(zero):
    means = (captions().means + zero).tolist()
    counts, session = without_noise(means, 1_000, seed=1)
    assert session._core.live.arrays.facts[SIGMA] == 0.0
    assert len(counts) == 1_000 - 8


def test_without_noise_the_answer_is_still_the_best_when_all_have_been_met():
    means = [GRID * random.Random(arm).randrange(1024) for arm in range(60)]
    counts, session = without_noise(means, 300, seed=2)
    assert len(counts) == 60
    assert session.recommend().mean == max(means)


class Crowd:
    """A session whose rewards are functions of the arm and the number of its pull, told in a fixed jumble."""

    def __init__(self, reward, workers, direction="maximize", n_arms=150):
        self.session = Session(n_arms, "b3auto", seed=4, direction=direction)
        self.reward, self.workers = reward, workers
        self.out, self.rng, self.story = [], random.Random(5), []

    def run(self, pulls):
        """Return every label asked for, and every answer."""
        while self.session.pulls < pulls:
            while len(self.out) < self.workers and (tickets := self.session.ask()):
                self.out += tickets
                self.story.append(tickets[0].label)
            ticket = self.out.pop(self.rng.randrange(len(self.out)))
            self.session.tell(ticket, self.reward(ticket))
            self.story.append(f"answer {self.session.recommend().label}")
        return self.story


def on_the_grid(noise):
    def reward(ticket):
        rng = random.Random(1_000 * ticket.label + ticket.pull)
        return GRID * (53 * ticket.label % 128 + rng.randrange(-noise, noise + 1))

    return reward


@pytest.mark.parametrize("direction", ["maximize", pytest.param("minimize", marks=pytest.mark.soak)])
@pytest.mark.parametrize("workers", [1, 3, 20])
@pytest.mark.parametrize("noise", [0, 8, 128, 800])
def test_neither_the_unit_nor_the_zero_of_the_rewards_changes_a_decision(noise, workers, direction):
    reward = on_the_grid(noise)
    story = Crowd(reward, workers, direction).run(700)  # arms are all met on the way
    changed = (
        lambda ticket: 1_024 * reward(ticket),
        lambda ticket: reward(ticket) / 1_024,
        lambda ticket: reward(ticket) + 1_024,
        lambda ticket: reward(ticket) - 1_024,
        lambda ticket: 1_024 * reward(ticket) - 2**20,
    )
    for other in changed:
        assert Crowd(other, workers, direction).run(700) == story


@pytest.mark.parametrize("workers", [1, 20])
def test_minimize_mirrors_maximize(workers):
    reward = on_the_grid(noise=128)
    up = Crowd(reward, workers).run(700)
    assert Crowd(lambda ticket: -reward(ticket), workers, "minimize").run(700) == up
    assert Crowd(reward, workers, "minimize").run(700) != up


def test_the_zero_is_left_out_before_squares_are_taken():
    # Rewards around 1e8 in steps of 1/8, exact; their squares are not.
    def reward(ticket):
        rng = random.Random(1_000 * ticket.label + ticket.pull)
        return (ticket.label % 16 + rng.randrange(-4, 5)) / 8

    story = Crowd(reward, workers=1).run(600)
    assert Crowd(lambda ticket: reward(ticket) + 1e8, workers=1).run(600) == story


@pytest.mark.parametrize("n_arms", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 8])
def test_very_few_arms_are_pulled_for_ever(n_arms, workers):
    crowd = Crowd(lambda ticket: float(ticket.label), workers, n_arms=n_arms)
    story = crowd.run(60)
    assert crowd.session.recommend().label == n_arms - 1
    assert story[-1] == f"answer {n_arms - 1}"
    assert {label for label in story if isinstance(label, int)} == set(range(n_arms))


def test_nothing_is_recommended_before_the_first_result_and_closed_boxes_wait():
    live = Adaptive(3)
    assert [live.ask()[1] for _ in range(3)] == [0, 1, 2]
    assert live.ask() is None  # nobody has a result
    assert live.recommend() is None
    live.tell(2, 1, -5.0)
    assert live.recommend() == 1
    assert live.ask() == (3, 1, 1)


def noisy(live, jobs, rng):
    """Ask and tell some jobs."""
    for _ in range(jobs):
        job, arm, times = live.ask()
        live.take(job, [GRID * (100 * arm + rng.randrange(-600, 601)) for _ in range(times)])


def test_boxes_close_when_all_arms_have_been_met_and_open_again_for_new_ones():
    live, rng = Adaptive(6, capacity=2), random.Random(6)
    noisy(live, 40, rng)
    assert live.at(ALL_MET) == 1
    assert len(in_order(live.state)) == 6  # everybody is in the final
    places = live.state.place[:6].tolist()
    noisy(live, 60, rng)
    assert live.state.place[:6].tolist() == places
    live.add(30)
    met = set()
    while len(met) < 30:
        job, arm, times = live.ask()
        met |= {arm} - set(range(6))
        live.take(job, [GRID * (100 * arm + rng.randrange(-600, 601)) for _ in range(times)])
    assert [live.level(arm) for arm in range(36)] != [0] * 36
    assert live.state.place[:6].tolist() != places  # those who stood there met the new ones
    noisy(live, 1_500, rng)
    assert live.at(ALL_MET) == 1
    assert len(in_order(live.state)) == 36
    assert live.recommend() >= 30


def test_the_leader_can_be_withdrawn_again_and_again():
    live, rng = Adaptive(12), random.Random(7)
    noisy(live, 60, rng)
    gone = []
    while (leader := live.recommend()) is not None:
        assert live.ranking()[0] == leader
        live.drop(leader)
        gone.append(leader)
        assert not set(gone) & {*in_order(live.state), *live.ranking()}
        assert live.recommend() not in gone
    assert sorted(gone) == list(range(12))
    assert live.ask() is None
    live.add()
    assert live.ask() == (24, 12, live.state.due[12])


def test_pulls_of_the_final_in_flight_go_with_their_arm():
    live, rng = Adaptive(12), random.Random(8)
    noisy(live, 60, rng)
    out = [live.ask() for _ in range(30)]
    assert all(is_final(job) for job, _, _ in out)
    counts = Counter(arm for _, arm, _ in out)
    assert max(counts.values()) > 1  # several for one arm
    (arm, pulls), *_ = counts.most_common()
    live.drop(arm)
    assert live.at(OUT) == 30 - pulls
    for job, other, times in out:
        if other != arm:
            live.tell(job, times, 1.0)
    assert live.at(OUT) == 0
    assert arm not in {live.ask()[1] for _ in range(30)}


def test_an_arm_in_a_lift_is_withdrawn_and_the_other_two_go_their_ways():
    live, rng = Adaptive(1_000, capacity=4), random.Random(9)
    while True:
        job, arm, times = live.ask()
        if not is_final(job) and live.state.middle[arm] >= 0:
            break
        live.take(job, [GRID * (100 * (arm % 5) + rng.randrange(-600, 601)) for _ in range(times)])
    middle, worst, box = int(live.state.middle[arm]), int(live.state.worst[arm]), int(live.state.place[arm])
    live.drop(arm)
    assert live.state.place[middle] == box + 1
    assert live.state.place[worst] == box // WIDTH * WIDTH + boxes.PILE
    assert arm not in in_order(live.state)
    assert live.ask()[1] != arm


def test_the_state_begins_with_that_of_the_boxes():
    assert State._fields[: len(boxes.State._fields)] == boxes.State._fields


def test_room_changes_no_decision_and_reset_starts_the_same_run_again():
    runs = [Adaptive(90, capacity=capacity) for capacity in (1, 90)]
    ties = runs[0].state.ties.copy()
    first, second = (decisions(live) for live in runs)
    assert first == second
    for live in runs:
        live.begin(ties)
        assert live.recommend() is None
        assert decisions(live) == first


def decisions(live, jobs=400):
    rng, found = random.Random(10), []
    for _ in range(jobs):
        job, arm, times = live.ask()
        live.take(job, [REWARDS["arms differ"](rng, arm) for _ in range(times)])
        found.append((job, arm, times, live.recommend()))
    return found


@pytest.mark.parametrize("n_arms", [0, -1, 2.5, None])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        AdaptiveBoxThirding().new(n_arms, 0, 8)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize(("n_arms", "workers"), [(400, 1), (400, 16), (40, 16)])
def test_what_a_session_says_is_true(n_arms, workers, direction):
    rewards = defaultdict(list)
    grid = on_the_grid(noise=128)

    def noted(ticket):
        rewards[ticket.label].append(grid(ticket))
        return rewards[ticket.label][-1]

    crowd = Crowd(noted, workers, direction, n_arms)
    for pulls in (1, 2, 3, 7, 50, 300):
        crowd.run(pulls)
        assert_true(crowd.session, rewards, pulls)
    best = crowd.session.recommend().label
    crowd.session.withdraw(best)
    assert crowd.session.why(best).place == "withdrawn"
    assert best not in {arm.label for box in crowd.session.boxes() for arm in box.arms}
    assert crowd.session.screening(0.1).candidates == len(rewards) - 1


def assert_true(session, rewards, pulls):
    """Hold boxes, stories and screening against the rewards told."""
    stand = [box for box in session.boxes() if box.level is not None]
    finals = [box for box in session.boxes() if box.level is None]
    places = Counter(arm.label for box in stand for arm in box.arms)
    assert set(places) <= set(rewards)
    assert set(places.values()) == {1}  # everybody in one box
    assert len(finals) == 1
    finalists = [arm.label for arm in finals[0].arms]
    assert len(set(finalists)) == len(finalists)
    assert set(finalists) <= set(places)
    top = max(box.level for box in stand if box.deferment == 0)
    if session._core.live.arrays.scalars[ALL_MET] == 0:  # the floor is that of the last fit, so it may be behind
        level = {arm.label: box.level for box in stand for arm in box.arms}
        assert {label for label in level if level[label] >= max(0, top - 4)} <= set(finalists)
    for box in session.boxes():
        for arm in box.arms:
            mine = rewards[arm.label]
            assert arm.pulls <= len(mine)
            if arm.pulls == len(mine):  # nothing of an open job
                assert arm.mean == pytest.approx(sum(mine) / len(mine), abs=1e-12)
    stories = {label: session.why(label) for label in rewards}
    assert sum(story.pulls for story in stories.values()) == pulls
    assert {label for label, story in stories.items() if "in the final" in story.place} == set(finalists)
    assert f"place 1 of {len(finalists)} in the final" in stories[finalists[0]].place
    answers = [label for label, story in stories.items() if story.place.endswith("; the answer")]
    assert answers == [session.recommend().label]
    over = "the boxes closed when every arm had been tried"
    closed = {label for label, story in stories.items() if over in story.place}
    assert closed == (set(places) if session._core.live.arrays.scalars[ALL_MET] == 1 else set())
    assert all(stories[label].steps[0].outcome == "introduced" for label in places)
    assert session.screening(0.1).candidates == len(rewards)
    assert session.recommend() == session.top(3)[0]


def test_noise_is_learned_far_from_zero():
    # One by one, as in a session: their squares are too large to be exact there.
    near, far = Adaptive(5_000), Adaptive(5_000)
    rng = random.Random(7)
    while near.at(TOLD) < 1_024:
        job, arm, times = near.ask()
        assert far.ask() == (job, arm, times)
        for reward in [GRID * rng.randrange(-4096, 4097) for _ in range(times)]:
            near.take(job, [reward])
            far.take(job, [2.0**33 + reward])
        assert far.fact(SIGMA) == near.fact(SIGMA)


class TestAdaptiveBoxThirdingKeepsTheContract(PolicyContract):
    policy = AdaptiveBoxThirding()
