"""Wishes: how they are written, which are refused, and the smallest budget that grants one."""

from itertools import pairwise

import numpy as np
import pytest

from boxthirding.errors import InvalidInput
from boxthirding.planning.outcomes import Outcomes
from boxthirding.planning.wishes import parse_wish, smallest, steps


@pytest.mark.parametrize(
    ("text", "of_rank", "limit", "share"),
    [
        ("top 1 % in 9 of 10 runs", True, 50, 0.9),
        ("top 1%", True, 50, 0.9),
        ("Top 0.5 % in 80% of runs", True, 25, 0.8),
        ("top 0.001 %", True, 1, 0.9),
        ("top 20 in 1 of 2 runs", True, 20, 0.5),
        ("the best in 75 %", True, 1, 0.75),
        (" regret 0.05  in 19 of 20 runs ", False, 0.05, 0.95),
        ("regret .5", False, 0.5, 0.9),
        ("regret 1e-05", False, 1e-5, 0.9),
        ("regret at most 0.05.", False, 0.05, 0.9),
        ("regret of 2 in 8/10 runs", False, 2, 0.8),
        ("top 1,000 in 9 out of 10 runs", True, 1_000, 0.9),
        ("top1%", True, 50, 0.9),
        ("top-1 percent in 80 per cent of runs.", True, 50, 0.8),
    ],
)
def test_a_wish_is_read(text, of_rank, limit, share):
    wish = parse_wish(text, 5_000)
    assert (wish.text, wish.of_rank, wish.limit) == (text, of_rank, limit)
    assert wish.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("good", "must be one that can be read: write 'top 1 % in 9 of 10 runs'"),
        ("", "must be one that can be read"),
        (3, "must be one that can be read"),
        ("regret -1", "must be one that can be read"),
        ("top -1 %", "must be one that can be read"),
        ("top 1,0 %", "must be one that can be read"),
        ("top " + "9" * 400 + " %", "9…', but has a number beyond all bounds"),
        ("top 0 %", "no arm is better than the best"),
        ("top 0", "no arm is better than the best"),
        ("top 1.5", "no whole number"),
        ("top 100 %", "every one of 5,000 arms is as good as that"),
        ("top 5000", "every one of 5,000 arms is as good as that"),
        ("top 1 % in 10 of 10 runs", "no budget makes them all end alike: wish for more than none and fewer than all"),
        ("top 1 % in 11 of 10 runs", "fewer than all"),
        ("top 1 % in 0 of 10 runs", "more than none"),
        ("top 1 % in 1 of 0 runs", "fewer than all"),
        ("top 1 % in 999 of 1000 runs", "wish for at most 99 of 100 runs"),
    ],
)
def test_a_wish_that_cannot_be_granted_says_what_can(text, words):
    with pytest.raises(InvalidInput, match=words):
        parse_wish(text, 5_000)


@pytest.mark.parametrize(
    ("text", "arms", "is_best"),
    [("top 1 %", 3, True), ("top 1 %", 150, True), ("top 1 %", 200, False), ("best", 3, False)],
)
def test_a_share_that_comes_down_to_the_best_arm_is_recognised(text, arms, is_best):
    assert parse_wish(text, arms).is_best == is_best


def outcomes(chances, draws=20, runs=200):
    """Runs whose rank is 1 with a chance that depends on the budget, and that of each belief, [D, S]."""
    random = np.random.default_rng(5)
    chances = np.broadcast_to(chances, (draws, np.shape(chances)[-1]))
    rank = np.where(random.random((draws, runs, chances.shape[1])) < chances[:, None], 1.0, 9.0)
    budgets = 100 * np.arange(1, chances.shape[1] + 1)
    return Outcomes(budgets, rank - 1, rank, rank, rank)


def test_the_smallest_budget_with_that_chance_is_found():
    found = smallest(parse_wish("best in 3 of 4 runs", 9), outcomes([0.2, 0.5, 0.7, 0.8, 0.9, 0.95]))
    assert found.budget == 400
    assert found.chance == pytest.approx(0.8, abs=0.02)
    assert found.chance_low < 0.8 < found.chance_high
    assert found.budget_low <= 400 <= found.budget_high


def test_a_budget_that_grants_it_by_luck_does_not_count():
    assert smallest(parse_wish("best in 3 of 4 runs", 9), outcomes([0.78, 0.6, 0.9])).budget == 300


def test_a_wish_about_regret_is_about_regret():
    assert smallest(parse_wish("regret 7 in 3 of 4 runs", 99), outcomes([0.2, 0.8])).budget == 200
    assert smallest(parse_wish("regret 8 in 3 of 4 runs", 99), outcomes([0.2, 0.8])).budget == 100


def test_the_band_is_wide_where_beliefs_differ():
    easy, hard = np.array([0.5, 0.9, 0.99, 0.99]), np.array([0.1, 0.3, 0.7, 0.8])
    sure = smallest(parse_wish("best in 7 of 10 runs", 9), outcomes([0.3, 0.6, 0.85, 0.9]))
    open_ = smallest(parse_wish("best in 7 of 10 runs", 9), outcomes(np.array([easy, hard] * 10)))
    assert (sure.budget, open_.budget) == (300, 300)
    assert open_.chance_high - open_.chance_low > 3 * (sure.chance_high - sure.chance_low)
    assert (open_.budget_low, open_.budget_high) == (200, 400)
    assert sure.budget_low == sure.budget_high == 300


def test_a_budget_that_only_the_optimist_finds_has_no_upper_end():
    chances = np.array([[0.5, 0.99], [0.1, 0.7]] * 10)
    assert smallest(parse_wish("best in 8 of 10 runs", 9), outcomes(chances)).budget_high is None


def test_where_no_budget_grants_it_there_is_none():
    assert smallest(parse_wish("best in 99 of 100 runs", 9), outcomes([0.1, 0.2])) is None


def test_few_runs_do_not_make_a_chance_certain():
    found = smallest(parse_wish("best in 9 of 10 runs", 9), outcomes([0.2, 1.0, 1.0], draws=6, runs=2))
    assert found.chance == 1
    assert found.chance_low < 0.97


def test_doubt_is_pooled_over_neighbouring_budgets():
    chances = np.array([[0.4, 0.9, 0.99], [0.2, 0.6, 0.8]] * 4)
    found = [
        smallest(parse_wish("best in 7 of 10 runs", 9), lucky)
        for lucky in (outcomes(chances, 8, 200), levelled(chances))
    ]
    widths = [one.chance_high - one.chance_low for one in found]
    assert [one.budget for one in found] == [200, 200]
    assert widths[1] > 0.5 * widths[0]  # though all beliefs agree at the budget that is found


def levelled(chances):
    """Outcomes in which every belief has, by luck, the same share of runs at the second budget."""
    found = outcomes(chances, 8, 200)
    rank = found.rank.copy()
    rank[:, :, 1] = np.where(np.arange(200) < 150, 1.0, 9.0)
    return Outcomes(found.budgets, rank - 1, rank, rank, rank)


@pytest.mark.parametrize(("least", "most"), [(1, 20), (50, 50_000), (10, 100_000)])
def test_steps_rise_by_about_a_tenth_and_have_two_digits(least, most):
    found = steps(least, most)
    assert (found[0], found[-1]) == (least, most)
    assert all(int(str(budget).rstrip("0") or 0) < 100 for budget in found)
    assert all(after / before < 1.17 for before, after in pairwise(found) if before >= 20)
