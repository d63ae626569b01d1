"""`confirm`: fresh pulls, and means that no selection has flattered."""

import asyncio
import math

import numpy as np
import pytest

from boxthirding.errors import EvaluationFailed, InvalidInput
from boxthirding.find import find_best, find_best_async

QUIET = {"progress": False}


def test_intervals_cover_and_fresh_means_are_not_flattered():
    # 400 searches for the best of 30 with unit noise. The fresh interval covers with probability 0.957 (measured in
    # 40,000), so the count of covers is Binomial(400, 0.957): outside 366 … 397 with probability 2e-4. The fresh mean
    # has standard error 1/√(10 · 400); four of them leave 6e-5 on either side.
    covered, fresh_error, search_error = 0, [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        means = rng.normal(0, 1, 30)
        found = find_best(
            30, lambda arm, rng=rng, means=means: means[arm] + rng.normal(), budget=60, seed=seed, **QUIET
        )
        best = found.confirm(3, 10).arms[0]
        assert (best.label, best.pulls, best.difference) == (found.label, 10, None)
        covered += best.low <= means[found.best] <= best.high
        fresh_error.append(best.mean - means[found.best])
        search_error.append(found.recommendation.mean - means[found.best])
    assert 366 <= covered <= 397
    assert abs(np.mean(fresh_error)) < 4 / math.sqrt(10 * 400)
    assert np.mean(search_error) > 0.1  # the winner's curse, which the fresh means are free of


def test_only_fresh_pulls_count_and_nobody_is_told():
    found = find_best(5, float, budget=60, **QUIET)
    before = found.session.pulls
    confirmation = found.confirm(3, 4)
    assert [(arm.label, arm.mean, arm.low, arm.high, arm.pulls) for arm in confirmation.arms] == [
        (arm.label, arm.label, None, None, 4) for arm in found.top(3)
    ]
    assert (found.session.pulls, confirmation.failures, confirmation.seen) == (before, 0, 0)


def test_more_arms_than_there_are_is_all_of_them():
    assert len(find_best(3, float, budget=60, **QUIET).confirm(10, 2).arms) == 3


def test_with_examples_every_arm_meets_the_same_ones_and_none_it_has_met():
    seen = {}

    def evaluate(arm, example):
        seen.setdefault(arm, []).append(example)
        return arm + example

    found = find_best(20, evaluate, budget=100, examples=range(100), **QUIET)
    before = {arm: set(examples) for arm, examples in seen.items()}
    seen.clear()
    confirmation = found.confirm(3, 25)
    one, two, three = (seen[arm.label] for arm in confirmation.arms)
    assert one == two == three
    assert len(set(one)) == 25
    assert all(before[arm.label].isdisjoint(one) for arm in confirmation.arms)
    for arm in confirmation.arms[1:]:
        # Example by example the difference never differs, though each mean has much noise.
        assert arm.difference.mean == pytest.approx(arm.label - found.best)
        assert arm.difference.low is None or arm.difference.high - arm.difference.low < 1e-9  # scores are rounded
        assert arm.high - arm.low > 10
    assert confirmation.seen == 0


def test_examples_that_were_seen_in_the_search_are_counted():
    found = find_best(1, lambda _, example: example, budget=30, examples=range(50), **QUIET)
    assert found.confirm(1, 20).seen == 0
    confirmation = found.confirm(1, 25)
    assert confirmation.seen == 5
    assert "5 pulls of each arm may be on examples of the search" in repr(confirmation)


def test_a_failure_is_left_out_or_ends_it():
    broken = []

    def evaluate(arm, example):
        return None if broken and arm == 4 and example == broken[0] else arm + example

    for on_error in ("raise", "withdraw"):
        broken.clear()
        found = find_best(5, evaluate, budget=60, examples=range(200), on_error=on_error, policy="b3", **QUIET)
        broken.append(found._engine.evaluation.examples[found.recommendation.pulls])  # the first fresh one
        if on_error == "raise":
            with pytest.raises(EvaluationFailed, match="arm 4: evaluate returned None") as caught:
                found.confirm(2, 10)
            assert caught.value.found is found
        else:
            confirmation = found.confirm(2, 10)
            assert confirmation.failures == 1
            assert [arm.pulls for arm in confirmation.arms] == [9, 10]
            assert confirmation.arms[1].difference.mean == pytest.approx(-1)
            assert "1 evaluation failed and is left out" in repr(confirmation)


def test_nothing_but_failures_is_no_result():
    good = [True]
    found = find_best(2, lambda arm: arm if good[0] else None, budget=9, on_error="withdraw", **QUIET)
    good[0] = False
    confirmation = found.confirm(1, 5)
    assert (confirmation.arms[0].mean, confirmation.arms[0].pulls, confirmation.failures) == (None, 0, 5)
    assert "no result, 0 pulls" in repr(confirmation)


@pytest.mark.parametrize("workers", [1, 4])
def test_workers_and_coroutines_confirm_too(workers):
    async def evaluate(arm):
        await asyncio.sleep(0)
        return arm

    found = find_best(5, evaluate, budget=60, workers=workers, **QUIET)
    assert [arm.mean for arm in found.confirm(2, 3).arms] == [4, 3]
    assert [arm.mean for arm in find_best(5, float, budget=60, workers=workers, **QUIET).confirm(2, 3).arms] == [4, 3]


@pytest.mark.parametrize("plain", [True, False])
def test_in_a_running_loop_the_async_form_confirms(plain):
    async def evaluate(arm):
        return arm

    async def main():
        found = await find_best_async(5, float if plain else evaluate, budget=60, **QUIET)
        if not plain:
            with pytest.raises(InvalidInput, match=r"await found.confirm_async\("):
                found.confirm(2, 3)
        return await found.confirm_async(2, 3)

    assert [arm.mean for arm in asyncio.run(main()).arms] == [4, 3]


def test_the_repr_is_a_table():
    found = find_best(
        ["a", "bb", "ccc"], lambda arm, example: len(arm) + example, budget=60, examples=[0, 1] * 40, **QUIET
    )
    first, best, second, third = repr(found.confirm(3, 8)).splitlines()
    assert first == "Confirmed with fresh pulls, 95 % intervals, in the order of the search:"
    assert best.startswith("  'ccc'  3.")
    assert best.endswith("), 8 pulls")
    assert second.startswith("  'bb'   2.")
    # Scores are 1 to 4, so a difference can be -3 to 3, and eight that agree do not say that all do.
    assert second.endswith("), 8 pulls; less the first -1 (-1.599 to 0.2397)")
    assert third.endswith("less the first -2 (-2.297 to -0.3811)")


def test_arms_are_shown_as_themselves_and_shortened_as_in_the_result():
    arms = [{"rate": rate, "note": "n" * 80} for rate in (0.1, 0.3)]
    found = find_best(arms, lambda arm: arm["rate"], budget=9, **QUIET)
    confirmation = found.confirm(2, 2)
    _, best, second = repr(confirmation).splitlines()
    note = f"note='{'n' * 19}…{'n' * 18}'"
    assert best == f"  rate=0.3, {note} (arm 1)  0.3, 2 pulls"
    assert second.startswith(f"  rate=0.1, {note} (arm 0)  0.1")
    assert [arm.arm for arm in confirmation.arms] == [arms[1], arms[0]]
    assert best.split("  ")[1] in repr(found)
    pairs = find_best([(1, "a"), (2, "b")], lambda arm: arm[0], budget=9, **QUIET)
    assert repr(pairs.confirm(1, 2)).splitlines()[1] == "  (2, 'b') (arm 1)  2, 2 pulls"


@pytest.mark.parametrize(
    ("k", "pulls", "message"),
    [(0, 5, "k is 0, but must be at least 1"), (1, 1, "pulls is 1, but must be at least 2"), (1.5, 5, "k is 1.5")],
)
def test_bad_input_is_refused(k, pulls, message):
    with pytest.raises(InvalidInput, match=message):
        find_best(3, float, budget=9, **QUIET).confirm(k, pulls)


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_what_was_pulled_before_a_failure_is_in_the_error(kind):
    failing = []

    def plain(arm):
        if failing and failing.pop() == 0:
            raise OSError("out of credit")
        return float(arm)

    async def coroutine(arm):
        return plain(arm)

    found = find_best(3, plain if kind == "plain" else coroutine, budget=30, **QUIET)
    failing.extend(range(8))  # the eighth from here fails
    with pytest.raises(EvaluationFailed, match=r"out of credit; error\.confirmation has 7 fresh pulls$") as caught:
        found.confirm(2, 10)
    confirmation = caught.value.confirmation
    assert [(arm.label, arm.pulls, arm.mean) for arm in confirmation.arms] == [(2, 4, 2.0), (1, 3, 1.0)]
    assert (confirmation.failures, caught.value.found) == (1, found)
    assert "1 evaluation failed and is left out" in repr(confirmation)


@pytest.mark.parametrize("progress", [True, False])
def test_it_says_what_it_will_cost_before_it_starts(progress, capsys):
    said = []

    def evaluate(arm):
        said.append(capsys.readouterr().err)
        return float(arm)

    found = find_best(5, evaluate, budget=30, policy="chase", progress=progress)
    capsys.readouterr()
    said.clear()
    found.confirm(3, 4)
    assert said == ["Measuring 3 arms again, 4 pulls each: 12 evaluations.\n" if progress else "", *[""] * 11]


def test_a_confirmation_is_a_table_for_pandas():
    arms = {"a": {"rate": 0.25, "mean": 7}, "b": {"rate": 0.5, "mean": 8}}
    found = find_best(arms, lambda arm: arm["rate"], budget=30, policy="chase", **QUIET)
    confirmation = found.confirm(2, 3)
    table = confirmation.to_dataframe()
    assert [*table.columns] == ["label", "rate", "arm_mean", "mean", "low", "high", "pulls"]
    assert table["label"].tolist() == ["b", "a"]
    assert table["arm_mean"].tolist() == [8, 7]
    assert table[["mean", "low", "high", "pulls"]].values.tolist() == [[0.5, None, None, 3], [0.25, None, None, 3]]
    paired = find_best(2, lambda arm, example: arm + example, budget=40, examples=range(50), policy="chase", **QUIET)
    table = paired.confirm(2, 6).to_dataframe()
    assert [*table.columns][-3:] == ["difference", "difference_low", "difference_high"]
    assert table["difference"].isna().tolist() == [True, False]
    assert table["difference"][1] == -1
