"""`plan`: what it says, that it keeps its word in simulation, and what it refuses."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import boxthirding
from boxthirding import plan
from boxthirding.errors import InvalidInput
from boxthirding.lab import Gaussian, Instance, simulate
from boxthirding.planning import default_budgets, outcomes
from boxthirding.planning.plan import RATIOS
from boxthirding.planning.shapes import ONE_IN_TEN

CONTRACT = [
    "budget",
    "regret",
    "regret_low",
    "regret_high",
    "rank",
    "percentile",
    "top1_chance",
    "arms_tried",
    "winner_pulls",
]


def normal(arms, noise, seed):
    """Arms that a plan has not seen, with a spread of 1, and a pilot of 100 of them."""
    random = np.random.default_rng(seed)
    means = random.standard_normal(arms) / ONE_IN_TEN
    chosen = random.choice(arms, 100, replace=False)
    scores = means[chosen][:, None] + noise * random.standard_normal((100, 4))
    return Instance("normal", means), dict(zip(chosen.tolist(), scores.tolist(), strict=True))


def test_rows_have_what_the_contract_says():
    rows = plan(200, noise=2.0, spread=1.0, budgets=np.array([50, 500, 50])).as_dicts()
    assert [list(row) for row in rows] == [CONTRACT, CONTRACT]
    assert [row["budget"] for row in rows] == [50, 500]
    for row in rows:
        assert 0 < row["regret_low"] < row["regret"] < row["regret_high"] <= 6.001 * row["regret_low"]
        assert 1 <= row["rank"] <= 200
        assert row["percentile"] == pytest.approx(row["rank"] / 2)
        assert 0 <= row["top1_chance"] <= 1
        assert 1 <= row["arms_tried"] <= min(row["budget"], 200)
        assert 1 <= row["winner_pulls"] <= row["budget"]
    few, many = rows
    assert few["regret"] > many["regret"]
    assert few["rank"] > many["rank"]
    assert few["top1_chance"] < many["top1_chance"]


def test_budgets_run_from_a_tenth_of_the_arms_to_ten_times_as_many():
    assert [row.budget for row in plan(40, noise=1.0, spread=1.0).rows] == [4, 8, 20, 40, 80, 200, 400]
    assert default_budgets(3) == [1, 2, 3, 6, 15, 30]


def test_the_unit_of_scores_is_that_of_regret():
    one, other = (plan(80, noise=2 * unit, spread=unit, budgets=[200]).rows[0] for unit in (1.0, 1000.0))
    assert other.regret == pytest.approx(1000 * one.regret)
    assert (other.rank, other.arms_tried, other.winner_pulls) == (one.rank, one.arms_tried, one.winner_pulls)


def test_the_same_seed_gives_the_same_plan_with_any_number_of_threads():
    one, same, other = (
        plan(80, noise=2.0, spread=1.0, budgets=[200], seed=seed, threads=threads).rows
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    )
    assert one == same != other


def test_guesses_that_are_right_give_bands_that_hold():
    instance, _ = normal(400, 2.0, 1)
    run = simulate(instance, Gaussian(2.0), "chase", budget=2_000, checkpoints=[200], replicates=300)
    rows = plan(400, noise=2.0, spread=1.0, budgets=[200, 2_000]).rows
    for row, true in zip(rows, run.regret.mean(axis=0).tolist(), strict=True):
        assert row.regret_low <= true <= row.regret_high


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_pilots_give_bands_that_hold_for_arms_they_have_not_seen(noise):
    held = close = 0
    for seed in range(6):
        instance, pilot = normal(400, noise, seed)
        true = simulate(instance, Gaussian(noise), "chase", budget=500, replicates=200).regret[:, -1].mean()
        row = plan(400, pilot=pilot, budgets=[500]).rows[0]
        held += row.regret_low <= true <= row.regret_high
        close += true / 2 <= row.regret <= 2 * true
    assert held >= 3  # each holds in about 8 of 10 cases: fails by chance once in 60, and the seeds are fixed
    assert close >= 4


def test_one_budget_needs_no_list():
    assert [row.budget for row in plan(50, noise=1, spread=1, budgets=100).rows] == [100]


def test_a_pilot_of_0_and_1_is_planned_with_0_and_1():
    random = np.random.default_rng(2)
    chances = np.clip(0.3 + 0.1 * random.standard_normal((60, 1)), 0, 1)
    pilot = dict(enumerate((random.random((60, 5)) < chances).astype(int).tolist()))
    up, down = (plan(500, pilot=pilot, direction=way, budgets=[1_000]) for way in ("maximize", "minimize"))
    assert 0 < up.rows[0].regret < 0.5
    assert up.known.noise == pytest.approx(math.sqrt(0.3 * 0.7), abs=0.05)
    assert down.known.noise == pytest.approx(up.known.noise)
    assert " better than an ordinary one (from the pilot)" in str(down)  # neither above nor below


def test_a_pilot_that_shows_no_spread_says_so_and_how_many_pulls_would():
    random = np.random.default_rng(1)
    found = plan(500, pilot=dict(enumerate(random.standard_normal((100, 3)).tolist())), budgets=[500])
    assert not found.known.shows_spread
    assert found.known.pulls_to_show > 300
    assert found.known.spread_high > found.known.spread
    assert "cannot tell its arms apart" in found.notes[0]
    assert f"About {found.known.pulls_to_show:,} more pulls" in found.notes[0]


def test_a_pilot_of_few_arms_is_told_how_many_to_score():
    found = plan(500, pilot={arm: [1.0 + arm / 50, 2.0, 1.5] for arm in range(12)}, budgets=[50])
    each = round((36 + found.known.pulls_to_show) / 50)
    assert found.notes[0].endswith(f"score 50 arms, {each} times each")


def test_the_advice_is_to_score_the_same_arms_again():
    found = plan(500, pilot=dict(enumerate(np.random.default_rng(1).standard_normal((100, 3)).tolist())), budgets=[50])
    assert found.notes[0].endswith("more pulls would show it: score the same arms again")


def test_an_outlier_of_a_pilot_is_named_in_a_note():
    _, pilot = normal(400, 0.5, 3)
    arm = next(iter(pilot))
    found = plan(400, pilot=pilot | {arm: [*pilot[arm], 1e5]}, budgets=[100])
    assert found.notes[0].startswith(f"arm {arm} has the score 100000, which is further from its others than 20 times")


def test_a_pilot_of_0_and_1_whose_arms_never_differ_says_so():
    found = plan(500, pilot={arm: [arm % 2] * 3 for arm in range(60)}, budgets=[50])
    assert found.known.spread < 1
    assert found.known.noise < 0.3
    assert "repeated scores do not differ" in found.notes[0]


def test_a_pilot_of_0_and_1_in_which_nearly_all_succeed_has_a_plan():
    found = plan(500, pilot={arm: [1, 1, 1] for arm in range(50)} | {50: [1, 1, 0]}, budgets=[50])
    assert 0 <= found.known.spread < 0.1


def test_where_spread_is_seen_only_the_upper_tail_is_warned_of():
    _, pilot = normal(400, 0.5, 3)
    found = plan(400, pilot=pilot, budgets=[100])
    assert found.known.shows_spread
    assert found.known.pulls_to_show is None
    assert found.known.noise == pytest.approx(0.5, rel=0.15)
    assert found.known.spread == pytest.approx(1.0, rel=0.4)
    assert [note for note in found.notes if "Numba" not in note] == [
        "a pilot sees ordinary arms and few of the best: how far the best stand out is the least certain part"
    ]


def test_where_nothing_is_known_there_is_a_row_for_each_ratio():
    found = plan(50)
    assert [(row.ratio, row.budget) for row in found.rows] == [(r, t) for r in RATIOS for t in (5, 50, 500)]
    assert [line["ratio"] for line in found.as_dicts()] == [ratio for ratio in RATIOS for _ in range(3)]
    regrets = [row.regret for row in found.rows if row.budget == 50]
    assert regrets == sorted(regrets)  # more noise, more regret


def test_a_wish_finds_the_budget_that_keeps_its_word():
    found = plan(400, noise=2.0, spread=1.0, want="top 2 % in 9 of 10 runs")
    assert found.rows == ()
    (one,) = found.granted
    assert one.row.budget == one.found.budget
    assert one.found.budget_low <= one.found.budget
    assert 0.9 <= one.found.chance <= 1
    instance, _ = normal(400, 2.0, 4)
    run = simulate(instance, Gaussian(2.0), "chase", budget=one.found.budget, replicates=400)
    good = np.sort(instance.means)[-8]
    true = (instance.means[run.recommended[:, -1]] >= good).mean()
    assert one.found.chance_low - 0.03 <= true <= one.found.chance_high + 0.03


def test_another_seed_finds_about_the_same_budget_and_rests_on_many_runs():
    found = [plan(400, noise=2.0, spread=1.0, want="top 5 %", seed=seed).granted[0].found for seed in range(3)]
    budgets = [one.budget for one in found]
    assert max(budgets) <= 2 * min(budgets)
    for one in found:
        assert 0.9 <= one.chance < 0.95  # steps of a tenth, and 300 runs and more: no jumps
        assert one.chance_high == 1
        assert one.chance_low < 0.85


def test_where_nothing_is_known_more_noise_takes_more_pulls():
    budgets = [one.row.budget for one in plan(100, want="top 5 % in 4 of 5 runs").granted]
    assert budgets == sorted(set(budgets))


def test_a_wish_for_a_share_that_is_the_best_arm_says_so():
    wish = "top 1 % in 1 of 2 runs"
    assert f"Note: {wish!r} of 30 arms: that is the best arm." in str(plan(30, noise=1.0, spread=1.0, want=wish))


def test_a_wish_for_more_than_the_runs_without_numba_can_tell_is_refused(monkeypatch):
    monkeypatch.setattr(boxthirding._compile, "available", lambda: False)
    with pytest.raises(
        InvalidInput, match=r"without Numba cannot tell .*: wish for at most 9 of 10 runs, or pip install"
    ):
        plan(20, noise=1.0, spread=1.0, want="best in 95 % of runs")


def test_a_wish_stands_after_the_budgets_that_were_asked_for():
    lines = plan(60, noise=1.0, spread=1.0, budgets=[30], want="top 10 % in 4 of 5 runs").as_dicts()
    assert list(lines[0]) == CONTRACT
    more = ["want", "chance", "chance_low", "chance_high", "budget_low", "budget_high"]
    assert list(lines[1]) == CONTRACT + more
    assert lines[1]["want"] == "top 10 % in 4 of 5 runs"


def test_a_wish_for_little_noise_takes_fewer_pulls():
    budgets = [one.row.budget for one in plan(60, want="top 10 % in 3 of 5 runs").granted]
    assert budgets == sorted(budgets)
    assert len(budgets) == len(RATIOS)
    assert budgets[0] < budgets[-1]


def test_a_wish_that_is_out_of_reach_says_what_is_within():
    with pytest.raises(InvalidInput, match=r"20,000 pulls grant it in \d+ % of runs only: .* wish for that"):
        plan(20, noise=300.0, spread=1.0, want="best in 9 of 10 runs")


def test_cost_and_time_follow_from_the_price_and_the_workers():
    row = plan(50, noise=1.0, spread=1.0, budgets=[101], price=0.5, seconds=10, workers=4).rows[0]
    assert (row.cost, row.seconds) == (50.5, 260)
    assert list(row.as_dict()) == [*CONTRACT, "cost", "seconds"]


def test_without_noise_the_best_of_those_that_are_tried_is_found():
    rows = plan(50, noise=0.0, spread=1.0, budgets=[25, 200]).rows
    assert rows[0].regret > 0
    assert rows[1].regret == rows[1].regret_low == rows[1].regret_high == 0
    assert rows[1].rank == 1


def test_two_arms_are_enough():
    assert plan(2, noise=1.0, spread=1.0).rows[-1].rank < 1.5


def test_it_says_that_it_is_coarser_without_numba(monkeypatch):
    monkeypatch.setattr(boxthirding._compile, "available", lambda: False)
    found = plan(20, budgets=[20])
    assert "without Numba" in found.notes[-1]
    assert [row.ratio for row in found.rows] == [0.5, 2.0, 8.0]
    assert found.rows[0].regret > 0


def test_progress_is_that_of_all_ratios_together():
    heard = []
    plan(40, budgets=[20], progress=heard.append)
    assert [one.done for one in heard] == sorted(one.done for one in heard)
    assert len({one.total for one in heard}) == 1
    assert heard[-1].done == heard[-1].total
    assert heard[0].note == "compiling (first run only)"
    assert heard[-1].note == "simulating"


def test_it_can_be_read_as_a_table():
    found = plan(200, noise=2.0, spread=1.0, budgets=[50, 500], price=0.25, seconds=60)
    text = str(found)
    assert repr(found) == text  # what a notebook shows
    assert text.startswith("200 arms; noise 2, a good arm is 1 better than an ordinary one (guessed)\n")
    assert "With 500 pulls, expect about the" in text
    assert " 12.50" in text
    assert "8.3 h" in text
    assert len({len(line) for line in text.splitlines()[3:6]}) == 1


def test_one_pull_is_singular():
    assert "With 1 pull, expect" in str(plan(50, noise=1.0, spread=1.0, budgets=[1]))


def test_a_wish_can_be_read_as_a_sentence():
    text = str(plan(200, noise=1.0, spread=1.0, want="top 5 % in 4 of 5 runs", price=2.0))
    assert "top 5 % in 4 of 5 runs: " in text
    assert "for what is not known" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"arms": 1}, "one arm needs no search"),
        ({"arms": 0}, "arms is 0, but must be at least 2"),
        ({"arms": 10**7}, "plan for that many of yours"),
        ({"arms": 2.5}, "must be a whole number"),
        ({"noise": 1.0}, "noise is given without spread, but a plan needs both"),
        ({"spread": 1.0}, "spread is given without noise"),
        ({"noise": -1.0, "spread": 1.0}, "noise is -1.0"),
        ({"noise": 1.0, "spread": 0.0}, "if all arms are alike, any one will do"),
        ({"noise": 1.0, "spread": math.inf}, "spread is inf"),
        ({"noise": 1.0, "pilot": {"a": [1, 2], "b": [3]}}, "leave the other out"),
        ({"budgets": []}, "there is no budget"),
        ({"budgets": [0]}, "budget is 0"),
        ({"budgets": [10**9]}, "at most 100,000,000 pulls"),
        ({"price": -1}, "price is -1"),
        ({"seconds": math.nan}, "seconds is nan"),
        ({"workers": 0}, "workers is 0"),
        ({"direction": "up"}, "direction is 'up'"),
        ({"seed": -1}, "seed is -1"),
        ({"threads": 0}, "threads is 0"),
        ({"want": "all"}, "must be one that can be read"),
        ({"progress": 3}, "progress is 3"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(arguments, words, monkeypatch):
    module = sys.modules["boxthirding.planning.plan"]  # the function of the same name hides it
    monkeypatch.setattr(module, "simulated", lambda *_: pytest.fail("something was simulated"))
    with pytest.raises(InvalidInput, match=words):
        plan(**({"arms": 50} | arguments))


def test_the_time_left_does_not_count_the_compilation(monkeypatch):
    clock, calls, told = [0.0], [], []
    play = outcomes._play

    def played(*arguments):
        calls.append(arguments)
        clock[0] += 1_000.0 if len(calls) == 1 else 1.0  # the first call compiles
        return play(*arguments)

    monkeypatch.setattr(outcomes, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(outcomes, "_play", played)
    plan(50, noise=2, spread=1, budgets=[20], threads=1, progress=told.append)
    left = [one.seconds_left for one in told]
    assert left[:2] == [None, None]
    assert [one.note for one in told[1:]] == ["simulating"] * (len(told) - 1)
    assert max(left[2:]) < len(calls) ** 2 < 1_000 * (len(calls) - 2)  # whatever is done when the first is counted
    assert told[-1].seconds > 1_000
