"""Every policy decides as it did when the golden traces were taken: live, durable, and simulated both ways."""

import json

import pytest
from traces import FILE, LIVE, SPECS, live, simulated

from boxthirding import _compile
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Settings, Study

GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))


def golden(kind, name):
    assert name in GOLDEN[kind], f"{FILE.name} has no trace of {name}: run python tests/golden/take_traces.py"
    return GOLDEN[kind][name]


@pytest.mark.parametrize(("spec", "arms"), LIVE)
def test_a_session_pulls_the_same_arms_and_gives_the_same_answers(spec, arms):
    assert live(spec, arms) == golden("live", f"{spec} {arms}")


@pytest.mark.parametrize(("spec", "arms"), LIVE)
def test_a_study_pulls_the_same_arms_and_gives_the_same_answers(spec, arms):
    def make(arms, policy, seed):
        return Study("golden", MemoryJournal(), Settings(arms, policy, seed))

    assert live(spec, arms, make) == golden("live", f"{spec} {arms}")


@pytest.mark.parametrize("spec", SPECS)
def test_simulated_runs_give_the_same_answers(spec):
    assert simulated(spec) == golden("simulated", spec)


@pytest.mark.skipif(not _compile.available(), reason="numba is not installed")
@pytest.mark.parametrize("spec", SPECS)
def test_compiled_runs_give_the_same_answers(spec):
    assert simulated(spec, compiled=True) == golden("simulated", spec)
