"""The sizes of candidate sets by formula, against the rules' own candidate sets at every number of pulls."""

import math

import pytest

from boxthirding.errors import InvalidInput
from boxthirding.lab.theory.candidate_sets import candidates_at
from boxthirding.lab.theory.sizes import (
    bracket_candidate_bounds,
    candidate_bounds,
    candidate_share,
    finished_bracket,
    level_bounds,
    promoted,
    promotions,
)
from boxthirding.policies import BoxThirding
from boxthirding.policies.rivals.bsh import BracketingSequentialHalving
from boxthirding.schedules import GEOMETRIC_GROWTH

PULLS = range(1, 6_000)


@pytest.fixture(scope="module")
def box_thirding():
    return candidates_at(BoxThirding(), 10**6, PULLS)


@pytest.fixture(scope="module")
def brackets():
    return candidates_at(BracketingSequentialHalving(), 10**5, PULLS)


@pytest.mark.parametrize(("arms", "lifted"), [(0, 0), (2, 0), (3, 1), (8, 2), (9, 4), (26, 10), (27, 13), (100, 48)])
def test_promotions_by_hand(arms, lifted):
    assert promoted(arms) == lifted


def test_promotions_halve_within_the_bounds_of_the_proof():
    for arms in range(3, 2_000):
        assert (arms - 3) / 2 - math.log(arms, 3) - 1e-9 <= promoted(arms) <= (arms - 1) / 2
    assert promotions(1) == [1]
    assert promotions(33) == [33, 15, 6, 2]


def test_the_level_stays_within_its_bounds(box_thirding):
    for found in box_thirding:
        low, high = level_bounds(found.size)
        assert low - 1e-9 <= found.level <= high + 1e-9, found


def test_the_papers_lower_bound_is_an_upper_bound_and_the_other_one_fails(box_thirding):
    bounds = [candidate_bounds(found.pulls) for found in box_thirding]
    assert all(low <= high for low, high in bounds)  # c^U and c^L: the paper has them the other way round
    assert all(found.size <= high for found, (_, high) in zip(box_thirding, bounds, strict=True))
    below = [found.pulls for found, (low, _) in zip(box_thirding, bounds, strict=True) if found.size < low]
    assert 1_313 in below
    assert 0.1 < len(below) / len(bounds) < 0.3


def test_candidate_bounds_from_their_definitions():
    r = GEOMETRIC_GROWTH
    for pulls, effort in ((1, 1), (50, 1), (1_000, 1), (1_000, 5)):
        rest = [((n + 1) ** math.log2(r) - 1) / (r - 1) for n in range(2_000)]
        high = max(n for n in range(2_000) if 2 * n / (2 - r) - 9 * rest[n] <= pulls / effort)
        low = min(n for n in range(2_000) if pulls / effort <= 2 * (n + 1) / (2 - r) - rest[n])
        assert candidate_bounds(pulls, effort=effort) == (low, high)


def test_without_the_slip_the_largest_size_is_above_its_share_of_the_pulls():
    for pulls in (1, 10, 1_000, 10**6):
        for effort in (1.0, 3.0):
            assert candidate_bounds(pulls, effort=effort).high >= math.floor(pulls * candidate_share(effort=effort))


def test_the_share_is_no_constant(box_thirding):
    assert candidate_share() == pytest.approx(0.1359, abs=1e-4)
    assert candidate_share(growth=1.5, effort=2) == 0.125
    shares = [found.size / found.pulls for found in box_thirding if found.pulls >= 2_000]
    assert 0.12 < min(shares) < candidate_share()
    assert candidate_share() < 0.2 < max(shares) < 0.22


def test_more_effort_means_fewer_candidates_in_proportion():
    one, four = (candidates_at(BoxThirding(effort=effort), 10**6, [effort * 2_000])[0] for effort in (1, 4))
    assert four.size == pytest.approx(one.size, rel=0.35)  # T(t₀) = t₀ T(1) but for the ceilings and the swing


@pytest.mark.parametrize(
    ("pulls", "size"), [(1, 0), (2, 2), (17, 2), (18, 4), (79, 4), (80, 8), (6_655, 64), (6_656, 128)]
)
def test_the_papers_largest_finished_bracket(pulls, size):
    assert finished_bracket(pulls) == size


def test_brackets_finish_later_than_the_paper_says(brackets):
    assert all(max(found.sizes) <= max(1, finished_bracket(found.pulls)) for found in brackets)
    assert any(max(found.sizes) < finished_bracket(found.pulls) for found in brackets)


def test_the_bounds_on_brackets_have_the_right_order_and_wrong_constants(brackets):
    sizes = {found.pulls: sum(found.sizes) for found in brackets if found.pulls > 4}
    bounds = {pulls: bracket_candidate_bounds(pulls) for pulls in sizes}
    assert any(sizes[pulls] < bounds[pulls].low for pulls in sizes)
    assert any(sizes[pulls] > bounds[pulls].high for pulls in sizes)
    assert all(bounds[pulls].low / 4 < sizes[pulls] < 2 * bounds[pulls].high + 2 for pulls in sizes if pulls > 100)
    assert bracket_candidate_bounds(65_536).low == pytest.approx(4 * 65_536 / 18**2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: promoted(-1), "arms is -1, but must be at least 0"),
        (lambda: candidate_bounds(100, growth=2), r"growth is 2, but must lie in \(1, 2\)"),
        (lambda: candidate_bounds(100, effort=0), "effort is 0, but must be a finite number above 0"),
        (lambda: candidate_share(growth=1), r"growth is 1, but must lie in \(1, 2\)"),
        (lambda: bracket_candidate_bounds(4), "pulls is 4, but must be above 4"),
        (lambda: level_bounds(0), "candidates is 0, but must be at least 1"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
