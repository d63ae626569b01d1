"""The ablation takes its variants from the policy's own text, and each of them is another policy."""

import importlib
import inspect
from types import SimpleNamespace

import numpy as np
import pytest

import benchmarks.ablation
from boxthirding import _compile
from boxthirding.lab.leaderboard.suites import Arms, Group, Part, Suite, problems_of

TINY = Suite(
    "tiny",
    "few arms, then many",
    (
        Part(Group.RICH, Arms("captions", 40), ("gaussian:0.3",), (120,)),
        Part(Group.NOISY, Arms("captions"), ("gaussian:0.3",), (120,)),
    ),
)
ASKED = SimpleNamespace(replicates=3, seed=3)


@pytest.fixture
def ablation(monkeypatch):
    monkeypatch.setattr(_compile, "available", lambda: False)  # so few pulls are not worth compiling 20 policies
    return benchmarks.ablation


def test_every_variant_is_another_text_that_runs(ablation):
    full, *others = ablation.VARIANTS
    assert (full.name, full.replaced) == ("full", ())
    for variant in others:
        assert all(old != new for old, new in variant.replaced), variant.name
        regrets = ablation.measured(problems_of(TINY), ASKED, ablation.policy_of(variant))
        assert all(len(found) == ASKED.replicates and (found >= 0).all() for found in regrets.values()), variant.name


@pytest.mark.parametrize("name", ["no final", "no rotation", "never clear", "answer by plain mean", "twice the lead"])
def test_a_variant_decides_otherwise(ablation, name):
    variant = next(one for one in ablation.VARIANTS if one.name == name)
    full, changed = (
        ablation.measured(problems_of(TINY), ASKED, ablation.policy_of(one)) for one in (ablation.VARIANTS[0], variant)
    )
    assert any(not np.array_equal(full[cell], changed[cell]) for cell in full)


def test_the_full_variant_is_the_policy_itself(ablation):
    problems = problems_of(TINY)
    ours = ablation.measured(problems, ASKED, ablation.parse_policy("chase"))
    theirs = ablation.measured(problems, ASKED, ablation.policy_of(ablation.VARIANTS[0]))
    assert all(np.array_equal(ours[cell], theirs[cell]) for cell in ours)


def test_every_rule_but_the_first_pull_has_a_variant(ablation):
    assert {int(variant.rule) for variant in ablation.VARIANTS[1:]} == set(range(2, 12))


def test_a_variant_of_the_final_leaves_the_final_as_it_is(ablation):
    variant = next(one for one in ablation.VARIANTS if one.name == "ρ as low as 0.25")
    rule = ablation.policy_of(variant).rule
    assert inspect.unwrap(rule.tell).__globals__["fit"].__globals__["learn_anew"].__globals__["LEAST_RATIO"] == 0.25
    assert importlib.import_module("boxthirding.policies.chase_final").LEAST_RATIO == 2.0


def test_a_text_that_is_no_longer_there_is_an_error(ablation):
    with pytest.raises(ValueError, match="'gone' replaces 'no such line', which the policy's files have 0 times"):
        ablation.policy_of(ablation.Variant("1", "gone", (("no such line", ""),)))


def test_the_table_has_a_row_for_each_variant_that_was_asked_for(ablation, monkeypatch, capsys):
    monkeypatch.setattr(ablation, "suite_named", lambda _: TINY)
    assert ablation.main(["--only", "no final", "--replicates", "4", "--seed", "2"]) is None
    *_, heads, line, row = capsys.readouterr().out.splitlines()
    assert heads == "| rule | variant | captions, top 40, T = 120 | noisy |"
    assert heads.count("|") == line.count("|") == row.count("|")
    assert row.startswith("| 5 | no final | ")


def test_a_word_that_no_variant_contains_is_an_error(ablation):
    assert "no variant is named like typo" in ablation.main(["--only", "typo"])
