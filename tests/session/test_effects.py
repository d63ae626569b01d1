"""Examples differ in how hard they are: that is learned, and subtracted from results when arms are compared."""

import math
import pickle
import random
import statistics
from itertools import pairwise

import numpy as np
import pytest
from sums import sums_in_state

from boxthirding import Session
from boxthirding.session import effects
from boxthirding.session.effects import fit

POLICIES = ["chase", "b3", "b3:reuse=topup", "us", "prose:sigma=0.5"]


def scores_of(seed, arms, examples, *, apart=1.0, hard=2.0, noise=1.0):
    """Return scores by arm and example: arms and examples differ, and add up."""
    rng = np.random.default_rng(seed)
    quality, ease = rng.normal(0, apart, arms), rng.normal(0, hard, examples)
    return quality[:, None] + ease + rng.normal(0, noise, (arms, examples))


def evaluated(session, scores, results):
    """Evaluate tickets one after the other; return what each was of."""
    pairs = []
    while len(pairs) < results and (tickets := session.ask()):
        (ticket,) = tickets
        pairs.append((ticket.label, ticket.pull))
        session.tell(ticket, float(scores[ticket.label, ticket.pull]))
    return pairs


class TestFit:
    def test_effects_and_variances_are_found(self):
        rng = np.random.default_rng(0)
        quality, ease = rng.normal(0, 1, 400), rng.normal(0, 2, 30)
        arms, groups = rng.integers(400, size=6_000), rng.integers(30, size=6_000)
        rewards = 5 + quality[arms] + ease[groups] + rng.normal(0, 0.5, 6_000)
        found = fit(arms, groups, rewards, 400, 30)
        assert found.effects == pytest.approx(ease - ease.mean(), abs=0.35)  # 200 results each
        assert found.noise == pytest.approx(0.25, rel=0.1)
        assert found.between_arms == pytest.approx(1, rel=0.2)
        assert found.between_examples == pytest.approx(ease.var(), rel=0.3)

    def test_it_solves_the_equations_of_the_mixed_model(self):
        """A naive reference: with the variances that were found, one linear system gives arms and effects."""
        rng = np.random.default_rng(1)
        arms, groups = rng.integers(12, size=90), rng.integers(5, size=90)
        rewards = rng.normal(0, 1, 12)[arms] + rng.normal(0, 2, 5)[groups] + rng.normal(0, 1, 90)
        found = None
        for _ in range(40):
            found = fit(arms, groups, rewards, 12, 5, found)
        design = np.zeros((90, 18))
        design[:, 0] = 1
        design[np.arange(90), 1 + arms] = 1
        design[np.arange(90), 13 + groups] = 1
        shrinkage = np.diag([0, *[found.noise / found.between_arms] * 12, *[found.noise / found.between_examples] * 5])
        level, *rest = np.linalg.solve(design.T @ design + shrinkage, design.T @ rewards)
        assert found.effects == pytest.approx(np.array(rest[12:]) - np.mean(rest[12:]), abs=1e-6)
        assert found.arms == pytest.approx(np.array(rest[:12]), abs=1e-6)
        assert found.level == pytest.approx(level + np.mean(rest[12:]), abs=1e-6)

    def test_good_arms_that_saw_more_do_not_make_their_examples_look_easy_or_hard(self):
        """Ten arms that did well on the first example, by luck alone, see the second: it is no harder."""
        biases, raw = [], []
        for seed in range(200):
            rng = np.random.default_rng(seed)
            first = rng.normal(0, 1, 50)
            chosen = np.argsort(-first)[:10]
            second = rng.normal(0, 1, 10)
            arms = np.concatenate([np.arange(50), chosen])
            groups = np.repeat([0, 1], [50, 10])
            found = fit(arms, groups, np.concatenate([first, second]), 50, 2)
            biases.append(found.effects[1] - found.effects[0])
            raw.append(second.mean() - first[chosen].mean())
        assert statistics.fmean(raw) < -1
        assert abs(statistics.fmean(biases)) < 0.25 * abs(statistics.fmean(raw))

    @pytest.mark.parametrize("reward", [0.0, 1.0, -3.5e9])
    def test_constant_scores_have_no_effects(self, reward):
        found = fit(np.array([0, 1, 2]), np.array([0, 0, 1]), np.full(3, reward), 3, 4)
        assert found.effects.tolist() == [0, 0, 0, 0]
        assert found.level == reward


class TestDraws:
    def test_an_arm_sees_each_example_once(self):
        session = Session(3, "us", examples=40, seed=4)
        pairs = evaluated(session, np.zeros((3, 40)), 500)
        assert sorted(pairs) == [(arm, example) for arm in range(3) for example in range(40)]

    def test_arms_see_examples_in_different_orders(self):
        session = Session(30, "us", examples=10, seed=4)
        pairs = evaluated(session, np.zeros((30, 10)), 500)
        orders = {tuple(pull for label, pull in pairs if label == arm) for arm in range(30)}
        assert len(orders) == 30

    def test_the_first_results_are_of_few_examples_and_later_ones_of_more(self):
        session = Session(5_000, "us", examples=1_000, seed=4)
        pulls = [pull for _, pull in evaluated(session, np.zeros((5_000, 1_000)), 2_000)]
        assert {*pulls[:400]} == {*range(20)}
        assert 90 < max(pulls) < 100
        assert len({*pulls[400:]}) > 90

    def test_examples_are_drawn_alike(self):
        session = Session(2_000, "us", examples=20, seed=4)
        counts = np.bincount([pull for _, pull in evaluated(session, np.zeros((2_000, 20)), 2_000)], minlength=20)
        assert ((counts - 100) ** 2 / 100).sum() < 43.8  # exceeded by chance once in a thousand seeds

    def test_a_session_that_is_restored_draws_the_same(self):
        scores = scores_of(0, 50, 30)
        session = Session(50, examples=30, seed=2)
        evaluated(session, scores, 123)
        restored = pickle.loads(pickle.dumps(session))  # noqa: S301  # our own
        assert evaluated(restored, scores, 300) == evaluated(session, scores, 300)
        assert restored.difficulties() == session.difficulties()


@pytest.mark.parametrize("policy", ["chase", "us", "prose:sigma=0.5", "b3:reuse=pool"])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_policy_knows_results_less_their_effects(policy, direction):
    rng = random.Random(7)
    scores = scores_of(1, 60, 12)
    session = Session(60, policy, examples=12, direction=direction)
    told, compared = [], 0
    for _ in range(60):
        tickets = session.ask(rng.choice([1, 3, 8]), holder=rng.choice(["ann", "bob", "cid"]))
        rng.shuffle(tickets)
        for ticket in tickets:
            session.tell(ticket, float(scores[ticket.label, ticket.pull]))
            told.append(ticket)
        chance = rng.random()
        if told and chance < 0.1:
            session.correct(rng.choice(told), rng.gauss(0, 1))
        elif chance < 0.12 and told:
            session.exclude("bob") if "bob" not in session.view().excluded else session.include("bob")
        core = session._core
        for arm, (pulls, total) in sums_in_state(core).items():
            if 0 < pulls == core.ledger.counts[arm]:  # else complete, and answered with its mean
                assert total == pytest.approx(core.ledger.totals[arm], abs=1e-6)
                compared += 1
    assert compared > 1_000
    assert session._core.effects.fit is not None


def test_an_outlier_leaves_results_less_their_effects():
    scores = scores_of(1, 300, 40)
    session = Session(300, examples=40)
    evaluated(session, scores, 100)
    (ticket,) = session.ask()
    session.tell(ticket, 1e6)
    evaluated(session, scores, 20)
    assert [row.reward for row in session.outliers()] == [1e6]
    core = session._core
    pulls, total = sums_in_state(core)[ticket.arm]
    assert pulls == core.ledger.counts[ticket.arm] > 0
    assert total == pytest.approx(core.ledger.totals[ticket.arm], abs=1e-6)


def test_means_are_of_all_examples_as_far_as_they_are_known():
    scores = scores_of(2, 100, 25, noise=0.3)
    session = Session(100, examples=25)
    evaluated(session, scores, 900)
    arms = [arm for arm in session.arms(0, 100) if arm.pulls > 2]
    off = [arm.mean - scores[arm.label].mean() for arm in arms if arm.pulls < 25]
    raw = [
        statistics.fmean(result.reward for result in session.results(arm.label)) - scores[arm.label].mean()
        for arm in arms
        if arm.pulls < 25
    ]
    assert len(off) > 20
    assert statistics.pstdev(off) < 0.5 * statistics.pstdev(raw)


def test_an_arm_that_has_seen_all_examples_has_the_mean_of_its_scores():
    scores = scores_of(3, 40, 10)
    session = Session(40, examples=10)
    evaluated(session, scores, 270)  # some of them before the fit at 256
    complete = [arm for arm in session.arms(0, 40) if arm.pulls == 10]
    assert complete
    for arm in complete:
        assert arm.mean == pytest.approx(scores[arm.label].mean(), abs=1e-12)


def test_scores_stay_as_they_were_told():
    scores = scores_of(4, 40, 10)
    session = Session(40, examples=10)
    evaluated(session, scores, 200)
    for arm in session.arms(0, 40):
        for result in session.results(arm.label):
            assert result.reward == scores[arm.label, result.pull]


def test_an_excluded_holder_leaves_no_trace_in_the_effects():
    """A liar told high scores on one example; without its results, effects are those of the others alone."""
    session, honest = (Session(50, "us", examples=8, seed=5) for _ in range(2))
    scores = scores_of(5, 50, 8)
    for turn in range(240):
        for one, is_honest in ((session, False), (honest, True)):
            holder = "liar" if turn % 6 == 0 else "ann"
            (ticket,) = one.ask(holder=holder)
            lie = 100.0 if ticket.pull == 3 else 0.0
            if holder == "ann" or not is_honest:
                one.tell(ticket, float(scores[ticket.label, ticket.pull]) + (lie if holder == "liar" else 0))
    assert session.difficulties()[3].difficulty < -5
    session.exclude("liar")
    means = {arm.label: arm.mean for arm in session.arms(0, 50)}
    honest._core.rule.refit(from_scratch=True)
    for arm in honest.arms(0, 50):
        assert means[arm.label] == pytest.approx(arm.mean, abs=1e-9)
    assert [row.difficulty for row in session.difficulties()] == [row.difficulty for row in honest.difficulties()]


def test_a_correction_is_as_if_it_had_been_told_at_once():
    scores = scores_of(6, 30, 6)
    session = Session(30, "us", examples=6)
    tickets = [session.ask()[0] for _ in range(100)]
    for place, ticket in enumerate(tickets):
        session.tell(ticket, float(scores[ticket.label, ticket.pull]) + (1_000 if place == 60 else 0))
    session.correct(tickets[60], float(scores[tickets[60].label, tickets[60].pull]))
    other = Session(30, "us", examples=6)
    for ticket in [other.ask()[0] for _ in range(100)]:
        other.tell(ticket, float(scores[ticket.label, ticket.pull]))
    other._core.rule.refit(from_scratch=True)
    means = {arm.label: arm.mean for arm in other.arms(0, 30)}
    assert {arm.label: arm.mean for arm in session.arms(0, 30)} == pytest.approx(means, abs=1e-9)


def test_telling_the_policy_of_small_moves_too_changes_no_answer(monkeypatch):
    answers = []
    for material in (effects.MATERIAL, 0.0):
        monkeypatch.setattr(effects, "MATERIAL", material)
        regrets = []
        for seed in range(40):
            scores = scores_of(seed, 60, 15)
            session = Session(60, examples=15, seed=seed)
            evaluated(session, scores, 400)
            session._core.rule.refit(from_scratch=True)  # all arms are told
            best = session.recommend().label
            regrets.append(scores.mean(1).max() - scores[best].mean())
        answers.append(regrets)
    assert statistics.fmean(answers[0]) <= statistics.fmean(answers[1]) + 2 * statistics.stdev(answers[1]) / math.sqrt(
        40
    )


def test_the_last_telling_of_small_moves_changes_no_answer():
    for seed in range(40):
        scores = scores_of(seed, 60, 15)
        session = Session(60, examples=15, seed=seed)
        evaluated(session, scores, 400)
        before = session.recommend()
        session._core.rule.refit(from_scratch=True)
        assert session.recommend().label == before.label


def test_results_are_not_adjusted_where_the_policy_cannot_be_told():
    session = Session(30, "bsh", examples=20)
    evaluated(session, scores_of(0, 30, 20), 200)
    assert session._core.effects.fit is None
    assert len(session.difficulties()) == 20  # but how hard examples are can be read


def test_learning_lowers_the_regret_where_examples_differ():
    """The additive world of the specification in small."""
    regrets = {True: [], False: []}
    for seed in range(60):
        scores = scores_of(seed, 300, 20)
        for learns, found in regrets.items():
            session = Session(300, examples=20, seed=seed)
            if not learns:
                session._core.effects._next = 10**9
            evaluated(session, scores, 250)
            found.append(scores.mean(1).max() - scores[session.recommend().label].mean())
    less = [raw - learned for learned, raw in zip(*regrets.values(), strict=True)]
    assert statistics.fmean(less) > 3 * statistics.stdev(less) / math.sqrt(60)
    assert statistics.fmean(regrets[True]) < 0.8 * statistics.fmean(regrets[False])


class TestDifficulties:
    def test_an_example_that_everybody_fails_is_the_hardest(self):
        rng = np.random.default_rng(0)
        scores = (rng.random((80, 12)) < rng.uniform(0.5, 0.9, 80)[:, None]).astype(float)
        scores[:, 5] = 0
        session = Session(80, examples=12)
        evaluated(session, scores, 400)
        rows = session.difficulties()
        hardest = max(rows, key=lambda row: row.difficulty)
        assert (hardest.pull, hardest.mean) == (5, 0)
        assert hardest.difficulty > 0.5
        assert hardest.discrimination < min(row.discrimination for row in rows if row.pull != 5) + 0.5
        assert sum(row.difficulty for row in rows) == pytest.approx(0, abs=1e-9)

    def test_where_smaller_is_better_higher_scores_are_harder(self):
        session = Session(50, "us", examples=4, direction="minimize")
        evaluated(session, np.arange(4) * 2.0 + np.random.default_rng(0).normal(0, 0.5, (50, 4)), 200)
        difficulties = [row.difficulty for row in session.difficulties()]
        assert all(a < b for a, b in pairwise(difficulties))

    def test_discrimination_is_how_closely_results_follow_quality(self):
        rng = np.random.default_rng(3)
        quality = rng.normal(0, 1, 120)
        slopes = np.array([0, 0.5, 1, 1, 1, 1.5, 2, 1])
        scores = quality[:, None] * slopes + rng.normal(0, 0.3, (120, 8))
        session = Session(120, "us", examples=8)
        evaluated(session, scores, 960)
        found = np.array([row.discrimination for row in session.difficulties()])
        assert found == pytest.approx(slopes / slopes.mean(), abs=0.25)
        assert [row.arms for row in session.difficulties()] == [120] * 8

    def test_examples_without_a_result_are_left_out(self):
        session = Session(3, examples=9)
        assert session.difficulties() == []
        evaluated(session, np.ones((3, 9)), 2)
        assert 1 <= len(session.difficulties()) <= 2


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("arms", "examples"), [(5, 1), (1, 40), (1, 1), (40, 3), (200, 50)])
@pytest.mark.parametrize("score", [lambda *_: 1.0, lambda arm, _: float(arm), lambda _, example: float(example)])
def test_odd_problems_have_sensible_answers(policy, arms, examples, score):
    """One example or one arm; scores that never differ, or differ between arms or examples alone."""
    session = Session(arms, policy, examples=examples)
    for _ in range(300):
        for ticket in session.ask(2):
            session.tell(ticket, score(ticket.label, ticket.pull))
    best = session.recommend()
    assert math.isfinite(best.mean)
    if (session.view().status, session.view().untried) == ("known", 0) and score(1, 0) != score(0, 0):
        assert best.label == arms - 1
    assert all(math.isfinite(number) for row in session.difficulties() for number in row)
