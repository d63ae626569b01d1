"""`benchmarks.plan` draws pilots that a plan can be made from, and counts what it says it counts."""

import numpy as np
import pytest

import benchmarks.plan
from boxthirding import plan
from boxthirding.lab import Instance, simulate

ARMS = Instance("sixty", np.random.default_rng(1).random(60))


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.setattr(benchmarks.plan, "BUDGETS", (50, 300))
    return benchmarks.plan


@pytest.mark.parametrize("rewards", ["gaussian:0.1", "bernoulli"])
def test_pilots_are_arms_at_random_with_repeats(benchmark, rewards):
    problem = benchmark.Problem("sixty", ARMS, rewards)
    one, other = (problem.pilot(20, 4, number) for number in (0, 1))
    assert one != other
    arms = [arm for arm, _ in one]
    assert len(arms) == 80
    assert {arms.count(arm) for arm in arms} == {4}
    by_arm = {arm: np.mean([score for one_arm, score in one if one_arm == arm]) for arm in arms}
    assert np.corrcoef([ARMS.means[arm] for arm in by_arm], list(by_arm.values()))[0, 1] > 0.5


def test_a_row_has_the_true_regret_and_counts_plans_that_are_near_and_that_cover_it(benchmark):
    problem = benchmark.Problem("sixty", ARMS, "gaussian:0.3")
    rows = [row.strip("| ").split(" | ") for row in benchmark.regret_rows(problem, 30, 3, 2, 50)]
    assert [len(row) for row in rows] == [len(benchmark.HEADING[0].strip("| ").split(" | "))] * 2
    true = simulate(ARMS, benchmark.parse_rewards("gaussian:0.3"), "chase", budget=300, checkpoints=[50], replicates=50)
    plans = [plan(60, pilot=problem.pilot(30, 3, k), budgets=[50, 300], seed=k).rows for k in range(2)]
    for place, (row, regret) in enumerate(zip(rows, true.regret.mean(axis=0), strict=True)):
        assert row[5] == f"{regret:.4f}"
        assert int(row[7]) == sum(regret / 2 <= one[place].regret <= 2 * regret for one in plans)
        assert int(row[8]) == sum(one[place].regret_low <= regret <= one[place].regret_high for one in plans)


def test_a_wish_is_compared_with_runs(benchmark, monkeypatch):
    monkeypatch.setattr(benchmark, "WISH", "top 10 % in 9 of 10 runs")
    monkeypatch.setattr(benchmark, "TOP", 0.1)
    row = benchmark.wish_row(benchmark.Problem("sixty", ARMS, "gaussian:0.3"), 30, 3, 2, 50).strip("| ").split(" | ")
    assert len(row) == len(benchmark.HEADING_OF_WISHES[0].strip("| ").split(" | "))
    assert row[-1] in ("0 of 2", "1 of 2", "2 of 2")


def test_a_folder_without_the_contests_is_an_error_of_one_line(benchmark, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(benchmark, "regret_rows", lambda *_: pytest.fail("something was measured"))
    with pytest.raises(SystemExit) as ended:
        benchmark.main(["--data", str(tmp_path)])
    output, errors = capsys.readouterr()
    assert (ended.value.code, output, errors.count("\n")) == (1, "", 1)
    assert "872.csv cannot be read" in errors
