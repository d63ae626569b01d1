"""Chase: a trace that can be checked by hand, then decision by decision against the naive reference."""

import math
import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import SEEDS, STEPS, TURNOVER, Jobs, Together, events, story
from reference_chase import ChaseReference
from reference_stream import Stream
from trees import in_order

from boxthirding.errors import InvalidInput
from boxthirding.lab import captions
from boxthirding.policies import Chase
from boxthirding.policies.chase_final import ALL_MET, CENTRE, CREDIT, OUT, RATIO, SIGMA, TOLD
from boxthirding.policies.roster import SEEN
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
    "outliers now and then": lambda rng, arm: (
        GRID * (37 * arm % 1024 + rng.randrange(-256, 257)) + rng.choice((-1.0, 1.0)) * 64.0 * (rng.randrange(50) == 0)
    ),
    "one noisy arm": lambda rng, arm: float(arm == 0) * rng.choice((-1.0, 3.0)),
}


class Chasing(Jobs):
    """The rule, told whole lists of rewards."""

    def __init__(self, n_arms, seed=0, capacity=None):
        super().__init__(Chase(), n_arms, seed, capacity)

    def take(self, job, rewards):
        self.rule.tell(self.state, job, len(rewards), sum(rewards), sum(reward * reward for reward in rewards))

    def tell(self, job, times, total):
        """Tell rewards that are all equal."""
        self.take(job, [total / times] * times)

    def fact(self, which):
        return float(self.state.facts[which])


def pair(n_arms, seed, capacity):
    live = Chasing(n_arms, seed, capacity)
    return live, ChaseReference(n_arms, Stream(live.ties()), lead=0.3)


def is_final(job):
    return job % 2 == 1


def assert_same_knowledge(live, reference):
    """What was computed at the last fit; a sum in another order may differ in its last bits."""
    ours = [live.fact(which) for which in (SIGMA, CENTRE, RATIO)]
    assert ours == pytest.approx([reference.sigma, reference.centre, reference.ratio], rel=1e-9, abs=1e-9)


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
        assert in_order(live.state.tree) == by_lower
        assert live.at(OUT) == reference.in_final.total() == live.state.out[: live.at(SEEN)].sum()
        assert live.at(CREDIT) == reference.earned
    assert_same_knowledge(both.live, both.reference)


def told(live, *rewards):
    """Ask and tell; return the jobs as F3 for a final pull of arm 3, C3×2 for two pulls of it in the chase."""
    names = []
    for reward in rewards:
        job, arm, times = live.ask()
        live.tell(job, times, reward * times)
        names.append(("F" if is_final(job) else "C") + str(arm) + (f"×{times}" if times > 1 else ""))
    return " ".join(names)


def test_a_run_that_can_be_checked_by_hand():
    live = Chasing(1_000)
    # There is no noise yet: every arm is new, but for the repeat of the leader that is due at 4 results.
    assert told(live, 0.0, 4.0, 2.0, 1.0, 4.0) == "C0 C1 C2 C3 F1"
    assert live.recommend() == 1
    assert live.fact(SIGMA) == 0.0
    # The second one is due at 8 and says 1.
    assert told(live, 1.0, 1.0, 0.0, 1.0) == "C4 C5 C6 F1"
    assert live.fact(SIGMA) == 0.0  # computed at 8 results, and next at 16
    assert live.fact(CENTRE) == (0 + 4 + 2 + 1 + 1 + 1 + 0) / 7
    assert told(live, *[0.0] * 7) == "C7 C8 C9 C10 C11 C12 C13"
    assert live.fact(SIGMA) == pytest.approx(math.sqrt((1 + 1 + 4) / 2))  # 4, 4, 1: the mean is 3
    # The third repeat is due at 16; then arms are new again, and two of them earn the final more than a pull.
    assert told(live, 0.0) == "F1"
    assert live.at(CREDIT) == 1
    assert told(live, 0.0, 2.0, 0.0, 3.0) == "C14 F1 C15 C16"
    # The final, which has earned 4 of 3 by now, pulls arm 16. With 3 and 3 its mean is more than 0.3 σ/√2 = 0.37 above
    # that of arm 1, which is 2.2, so that it keeps up and gets half as many pulls as it has had. It leads after four.
    assert told(live, 3.0, 3.0) == "F16 C16"
    assert live.recommend() == 1
    assert told(live, 3.0) == "F16"
    assert live.recommend() == 16
    assert told(live, 0.0, 0.0) == "C17 C18"  # arm 1 does not keep up with it


def test_fits_come_whenever_results_have_doubled():
    live = Chasing(1_000)
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
    live = Chasing(n_arms)
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
    n = live.state.arms.pulls[:seen][live.state.arms.pulls[:seen] > 0]
    away = live.state.arms.total[:seen][live.state.arms.pulls[:seen] > 0] / n - live.fact(CENTRE)
    ratios = np.geomspace(live.fact(RATIO) / 4, live.fact(RATIO) * 4, 801)[:, None]
    variance = live.fact(SIGMA) ** 2 * (1 / ratios**2 + 1 / n)
    likelihood = -0.5 * (np.log(variance) + away**2 / variance).sum(axis=1) - 0.5 * np.log(ratios[:, 0] / 5) ** 2
    likeliest = max(2.0, float(ratios[likelihood.argmax(), 0]))  # it goes no further
    off = abs(math.log(likeliest / live.fact(RATIO), 1.25))
    assert off <= (0.51 if likeliest > 2.0 else 1.0)  # it moves in steps of 1.25, and stops beyond the end


@pytest.mark.parametrize("rewards", ["only noise", "arms differ", "hardly any noise", "coins", "no noise"])
@pytest.mark.parametrize("workers", [1, 8])
def test_the_final_has_no_more_than_its_share_while_arms_are_unseen(rewards, workers):
    live, rng = Chasing(100_000, capacity=64), random.Random(3)
    spent, out = Counter(), []
    for _ in range(1_500):
        while len(out) < workers:
            job, arm, times = live.ask()
            out.append((job, arm, times))
            spent["final" if is_final(job) else "chase"] += times
            repeats = max(0, math.floor(math.log2(max(1, live.at(TOLD)))) - 1)
            assert spent["final"] <= 2 / 3 * spent["chase"] + repeats
        job, arm, times = out.pop(rng.randrange(workers))
        live.take(job, [REWARDS[rewards](rng, arm) for _ in range(times)])
    if rewards not in {"hardly any noise", "no noise"}:  # there it is clear who leads, and the chase goes on
        assert spent["final"] >= 0.5 * spent["chase"]


def without_noise(means, pulls, seed):
    """Pull arms that always give the same; return the pulls of each and the answer."""
    session = Session(len(means), Chase(), seed=seed)
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
    assert session._core.rule.live.arrays.facts[SIGMA] == 0.0
    assert len(counts) == 1_000 - 8


def test_without_noise_the_answer_is_still_the_best_when_all_have_been_tried():
    means = [GRID * random.Random(arm).randrange(1024) for arm in range(60)]
    counts, session = without_noise(means, 300, seed=2)
    assert len(counts) == 60
    assert session.recommend().mean == max(means)


class Crowd:
    """A session whose rewards are functions of the arm and the number of its pull, told in a fixed jumble."""

    def __init__(self, reward, workers, direction="maximize", n_arms=150):
        self.session = Session(n_arms, "chase", seed=4, direction=direction)
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
    story = Crowd(reward, workers, direction).run(700)  # arms are all tried on the way
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


def test_nothing_is_recommended_before_the_first_result_and_the_rule_waits():
    live = Chasing(3)
    assert [live.ask()[1] for _ in range(3)] == [0, 1, 2]
    assert live.ask() is None  # nobody has a result
    assert live.recommend() is None
    live.tell(2, 1, -5.0)
    assert live.recommend() == 1
    assert live.ask() == (3, 1, 1)


def noisy(live, jobs, rng):
    """Ask and tell some jobs, and return them."""
    asked = []
    for _ in range(jobs):
        job, arm, times = live.ask()
        live.take(job, [GRID * (100 * arm + rng.randrange(-600, 601)) for _ in range(times)])
        asked.append(job)
    return asked


def test_the_chase_ends_when_all_arms_have_been_tried_and_opens_again_for_new_ones():
    live, rng = Chasing(6, capacity=2), random.Random(6)
    noisy(live, 40, rng)
    assert live.at(ALL_MET) == 1
    assert len(in_order(live.state.tree)) == 6  # every arm is in the final
    assert all(map(is_final, noisy(live, 60, rng)))
    live.add(30)
    jobs = noisy(live, 120, rng)
    assert {2 * arm for arm in range(6, 36)} <= set(jobs)
    noisy(live, 1_500, rng)
    assert live.at(ALL_MET) == 1
    assert len(in_order(live.state.tree)) == 36
    assert live.recommend() >= 30


def test_the_leader_can_be_withdrawn_again_and_again():
    live, rng = Chasing(12), random.Random(7)
    noisy(live, 60, rng)
    gone = []
    while (leader := live.recommend()) is not None:
        assert live.ranking()[0] == leader
        live.drop(leader)
        gone.append(leader)
        assert not set(gone) & {*in_order(live.state.tree), *live.ranking()}
        assert live.recommend() not in gone
    assert sorted(gone) == list(range(12))
    assert live.ask() is None
    live.add()
    assert live.ask() == (24, 12, live.state.jobs.due[12])


def test_pulls_of_the_final_in_flight_go_with_their_arm():
    live, rng = Chasing(12), random.Random(8)
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


def test_an_arm_in_the_chase_is_not_asked_for_twice_and_keeps_its_results_apart():
    live = Chasing(1_000, capacity=1)
    rng = random.Random(1)
    times = 1
    while times < 3:  # until a job of the chase has several pulls
        job, arm, times = live.ask()
        if times < 3:
            live.take(job, [REWARDS["arms differ"](rng, arm) for _ in range(times)])
    answer = live.recommend()
    chased = [live.ask() for _ in range(40)]
    assert job not in [other for other, _, _ in chased]
    for _ in range(times - 1):
        live.take(job, [1e3])
        assert live.recommend() == answer  # it counts when the last one is in
    live.take(job, [1e3])
    assert live.recommend() == arm


def test_an_arm_that_gets_more_pulls_in_the_chase_is_one_that_keeps_up():
    live, rng, chased, quiet = Chasing(400, seed=1), random.Random(1), 0, 0
    for _ in range(1_000):
        keeps_up, had = live.policy.keeps_up(live.state), live.state.arms.pulls.copy()
        assert not keeps_up[had == 0].any()
        best = live.recommend()
        assert best is None or not keeps_up[best]
        job, arm, times = live.ask()
        if job % 2 == 0 and arm < len(had) and had[arm] > 0:
            assert keeps_up[arm]
            chased += 1
        elif job % 2 == 0:  # a new arm
            assert not keeps_up.any()
            quiet += 1
        live.take(job, [arm / 400 + rng.gauss(0, 0.3) for _ in range(times)])
        if live.at(SEEN) == 399:
            live.drop(live.recommend())
            assert not live.policy.keeps_up(live.state)[live.state.arms.place != 0].any()
            break
    assert chased > 50
    assert quiet > 50


def test_two_good_arms_do_not_keep_new_ones_away_where_others_are_far_below():
    rng = random.Random(1)
    means = [-16.26, -3.03, -1.07, -2.12, -0.99, -3.01, -593.98]
    live = Chasing(1_000, capacity=1_000)
    pulls = 0
    while pulls < 2_000:
        job, arm, times = live.ask()
        live.take(job, [rng.gauss(means[arm] if arm < len(means) else -1.0, 0.3) for _ in range(times)])
        pulls += times
    assert live.at(SEEN) > 100


def test_room_changes_no_decision_and_reset_starts_the_same_run_again():
    runs = [Chasing(60, capacity=capacity) for capacity in (1, 60)]
    ties = runs[0].state.ties.copy()
    first, second = (story(live, 300, seed=1) for live in runs)
    assert first == second
    for live in runs:
        live.begin(ties)
        assert live.recommend() is None
        assert story(live, 300, seed=1) == first


@pytest.mark.parametrize("n_arms", [0, -1, 2.5, None])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        Chase().new(n_arms, 0, 8)


def test_noise_is_learned_far_from_zero():
    # One by one, as in a session: their squares are too large to be exact there.
    near, far = Chasing(5_000), Chasing(5_000)
    rng = random.Random(7)
    while near.at(TOLD) < 1_024:
        job, arm, times = near.ask()
        assert far.ask() == (job, arm, times)
        for reward in [GRID * rng.randrange(-4096, 4097) for _ in range(times)]:
            near.take(job, [reward])
            far.take(job, [2.0**33 + reward])
        assert far.fact(SIGMA) == near.fact(SIGMA)


class TestChaseKeepsTheContract(PolicyContract):
    policy = Chase()
