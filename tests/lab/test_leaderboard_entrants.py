"""Who takes part: what a policy is told, and how often and where it runs."""

import pytest

from boxthirding.errors import InvalidInput
from boxthirding.lab.leaderboard.entrants import DEFAULT, Entrant, entrants_of, plan
from boxthirding.lab.leaderboard.suites import Arms, Group, Part, Suite, problems_of
from boxthirding.policies import POLICIES

BUDGETS = (20, 60, 90)
TINY = Suite("tiny", "forty arms", (Part(Group.NOISY, Arms("captions", 40), ("gaussian:0.3", "none"), BUDGETS),))


def planned(*specs):
    return plan([Entrant.of(spec) for spec in specs], problems_of(TINY), replicates=3, seed=1)


@pytest.mark.parametrize(
    ("spec", "marks"),
    [
        ("chase", ""),
        ("b3", ""),
        ("us", ""),
        ("asha", ""),
        ("bsh", ""),
        ("dsh", ""),
        ("bucb", "σ"),
        ("prose", "σ"),
        ("sh", "T"),
        ("sr", "T"),
        ("ucbe", "T"),
        ("ucbe:exploration=oracle", "T H"),
        ("klucb", "R"),
        ("lilucb", "σ"),
        ("ebtc", ""),
        ("ash:subset=doubling", ""),
    ],
)
def test_what_a_policy_is_told_is_marked(spec, marks):
    assert Entrant.of(spec).marks == marks


def test_a_policy_that_is_not_told_the_budget_runs_once_a_problem():
    for spec in ("b3", "prose"):
        runs = planned(spec)
        assert [one.setting.rewards.spec for one in runs] == ["gaussian:0.3", "none"]
        assert {(one.setting.budget, one.setting.checkpoints) for one in runs} == {(90, BUDGETS)}
        assert [cell.budget for cell in runs[0].cells] == list(BUDGETS)


def test_a_policy_that_is_told_the_budget_runs_once_a_budget():
    runs = planned("sh")
    assert [(one.setting.budget, one.setting.checkpoints) for one in runs] == 2 * [(t, (t,)) for t in BUDGETS]
    assert all([cell.budget for cell in one.cells] == [one.setting.budget] for one in runs)


@pytest.mark.parametrize("spec", ["sr", "ucbe"])  # sr refuses; ucbe would be us
def test_where_a_policy_cannot_run_it_is_left_out(spec):
    assert [one.setting.budget for one in planned(spec)] == [60, 90, 60, 90]


@pytest.mark.parametrize("name", ["klucb", "lilucb", "ebtc", "ash"])
def test_a_rule_that_would_pull_every_arm_first_runs_where_it_can_on_all_and_everywhere_on_a_subset(name):
    assert [one.setting.checkpoints for one in planned(name)] == [(60, 90)] * 2
    assert [one.setting.checkpoints for one in planned(f"{name}:subset=doubling")] == [BUDGETS] * 2


def test_a_policy_that_is_told_a_range_runs_where_means_lie_in_it():
    problems = problems_of(Suite("deep", "0 to -3", (Part(Group.BOUNDED, Arms("equal", 9), ("gaussian:1",), (20,)),)))
    with pytest.raises(InvalidInput, match=r"klucb, which can run on no problem of the suite$"):
        plan([Entrant.of("klucb")], problems, 3, 1)
    assert plan([Entrant.of("klucb:low=-3,high=0")], problems, 3, 1)


def test_a_policy_that_can_run_nowhere_is_refused():
    few = Suite("few", "few pulls", (Part(Group.NOISY, Arms("captions", 40), ("gaussian:0.3",), (20,)),))
    with pytest.raises(InvalidInput, match="sr, which can run on no problem of the suite: budget is 20"):
        plan([Entrant.of("sr")], problems_of(few), 3, 1)
    with pytest.raises(InvalidInput, match=r"ucbe, which can run on no problem of the suite$"):
        plan([Entrant.of("ucbe")], problems_of(few), 3, 1)


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (["b3", "us", "b3"], "b3 is given 2 times"),
        (["b3"], "give at least two"),
        (["b3", "typo"], "policy is 'typo', but must be one of"),
        (["b3", "us:key=1"], "no key 'key'"),
    ],
)
def test_bad_policies_are_refused(specs, message):
    with pytest.raises(InvalidInput, match=message):
        entrants_of(specs)


def test_all_that_take_part_unless_others_are_named_are_policies():
    assert [entrant.spec for entrant in entrants_of(DEFAULT)] == list(DEFAULT)


def test_every_policy_takes_part_unless_others_are_named():
    assert {*POLICIES} <= {spec.partition(":")[0] for spec in DEFAULT}
