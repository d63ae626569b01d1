"""A rule that needs more room is asked again in one place live, and in one place compiled."""

import re
from pathlib import Path

import pytest

import boxthirding
from boxthirding.lab.paper import exact_facts
from boxthirding.lab.theory import candidate_sets
from boxthirding.lab.theory.candidate_sets import candidates_at, finished_runs
from boxthirding.policies import BoxThirding, BracketingSequentialHalving, Uniform

PACKAGE = Path(boxthirding.__file__).parent

# Live, with compiled drivers, which pass it on, and in the contract, which tests just that.
LOOPS = {"policies/rule_runner.py", "lab/chunks.py", "lab/driver.py"}
LOOPS |= {"testing/rules.py"}
# Rules that pass on what a part of them says, and ask no one again.
PASSED_ON = {"policies/rivals/ash.py", "policies/rivals/ebtc.py"}


def test_a_rule_is_asked_again_where_it_is_driven_and_nowhere_else():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"[!=]= GROW\b", path.read_text(encoding="utf-8"))
    }
    assert found == LOOPS | PASSED_ON


@pytest.mark.parametrize("policy", [BoxThirding(), Uniform(), BracketingSequentialHalving()], ids=lambda one: one.name)
def test_room_changes_no_candidate_set(monkeypatch, policy):
    roomy = candidates_at(policy, 900, range(0, 2_000, 37))
    monkeypatch.setattr(candidate_sets, "_CAPACITY", 1)
    assert candidates_at(policy, 900, range(0, 2_000, 37)) == roomy


def test_room_changes_neither_finished_brackets_nor_levels(monkeypatch):
    roomy = finished_runs(900, 3_000), exact_facts.levels(900, 3_000)
    monkeypatch.setattr(candidate_sets, "_CAPACITY", 1)
    monkeypatch.setattr(exact_facts, "_CAPACITY", 1)
    assert (finished_runs(900, 3_000), exact_facts.levels(900, 3_000)) == roomy
