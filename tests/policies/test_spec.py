"""Policies written as text: what parses, and what is refused with the names that exist."""

import importlib
import importlib.metadata
import sys

import pytest

from boxthirding.errors import InvalidInput
from boxthirding.policies import (
    EBTC,
    KLUCB,
    POLICIES,
    UCBE,
    AnytimeSequentialHalving,
    Asha,
    BoxThirding,
    BracketingSequentialHalving,
    BracketingUCB,
    DoublingSequentialHalving,
    LilUCB,
    Prose,
    SequentialHalving,
    SuccessiveRejects,
    Uniform,
    parse_policy,
)
from boxthirding.policies.spec import as_policy, format_spec, needs_import


@pytest.mark.parametrize(
    ("spec", "policy"),
    [
        ("b3", BoxThirding()),
        ("b3:", BoxThirding()),
        ("b3:reuse=topup,effort=0.3,growth=2", BoxThirding(reuse="topup", effort=0.3, growth=2.0)),
        ("b3:schedule=linear", BoxThirding(schedule="linear")),
        ("b3:schedule=1/4/9.5", BoxThirding(schedule=(1.0, 4.0, 9.5))),
        ("b3:schedule=3", BoxThirding(schedule=(3.0,))),
        ("b3:reuse=pool", BoxThirding(reuse="pool")),
        ("us", Uniform()),
        ("sh", SequentialHalving(budget=500)),
        ("sh:growth=1.7,mode=paper", SequentialHalving(budget=500, growth=1.7, mode="paper")),
        ("sh:growth=2,mode=fit", SequentialHalving(budget=500, growth=2.0, mode="fit")),
        ("sh:budget=64", SequentialHalving(budget=64)),
        ("bsh", BracketingSequentialHalving()),
        ("bucb", BracketingUCB(sigma=0.25)),
        ("bucb:delta=0.05,sigma=2", BracketingUCB(sigma=2.0, delta=0.05)),
        ("prose", Prose(sigma=0.25)),
        ("prose:sigma=0.5,beta=2", Prose(sigma=0.5, beta=2.0)),
        ("asha", Asha()),
        ("asha:growth=2", Asha(growth=2.0)),
        ("sr", SuccessiveRejects(budget=500)),
        ("sr:budget=64", SuccessiveRejects(budget=64)),
        ("dsh", DoublingSequentialHalving()),
        ("klucb", KLUCB()),
        ("klucb:low=1,high=3,subset=doubling", KLUCB(low=1.0, high=3.0, subset="doubling")),
        ("lilucb", LilUCB(sigma=0.25)),
        ("lilucb:sigma=1,delta=0.1,batch=1", LilUCB(sigma=1.0, delta=0.1, batch=1)),
        ("ebtc", EBTC()),
        ("ebtc:epsilon=0.05,beta=0.4", EBTC(epsilon=0.05, beta=0.4)),
        ("ash:subset=doubling", AnytimeSequentialHalving(subset="doubling")),
        ("ucbe", UCBE(budget=500)),
        ("ucbe:exploration=adaptive", UCBE(budget=500)),
        ("ucbe:exploration=2", UCBE(budget=500, exploration=2.0)),
        ("ucbe:exploration=0,budget=64", UCBE(budget=64, exploration=0.0)),
        ("ucbe:exploration=oracle", UCBE(budget=500, exploration="oracle", hardness=40.0)),
        ("ucbe:exploration=oracle,hardness=9", UCBE(budget=500, exploration="oracle", hardness=9.0)),
    ],
)
def test_a_spec_parses(spec, policy):
    assert parse_policy(spec, budget=500, sigma=0.25, hardness=40.0) == policy


def test_every_policy_parses_by_its_name():
    for name, policy in POLICIES.items():
        assert isinstance(parse_policy(name, budget=10, sigma=1.0), policy)
        assert policy.name == name


def test_a_whole_number_is_an_integer():
    assert type(parse_policy("sh:budget=64").budget) is int


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("", ["''", "b3", "sh", "us"]),
        ("nosuch", ["'nosuch'", "b3", "sh", "us"]),
        ("nosuch:growth=2", ["'nosuch'", "b3"]),
        ("B3", ["'B3'", "b3"]),
        (" b3", ["' b3'", "b3"]),
        ("b3:speed=2", ["'speed'", "growth", "effort", "schedule", "reuse"]),
        ("b3: effort=2", ["' effort'", "effort"]),
        ("us:growth=2", ["'growth'", "it has none"]),
        ("b3:name=x", ["'name'"]),
        ("b3:growth", ["'growth'", "key=value"]),
        ("b3:growth=2,growth=2", ["growth twice"]),
        ("b3:growth=fast", ["growth=fast", "number"]),
        ("b3:growth=", ["growth=", "number"]),
        ("b3:growth=1", ["growth is 1", "(1, 2]"]),
        ("b3:growth=nan", ["growth is nan", "(1, 2]"]),
        ("b3:effort=-1", ["effort is -1", "above 0"]),
        ("b3:effort=inf", ["effort is inf", "above 0"]),
        ("b3:effort=1=2", ["effort=1=2", "number"]),
        ("b3:schedule=cubic", ["'cubic'", "geometric, linear"]),
        ("b3:schedule=", ["''", "geometric, linear"]),
        ("b3:schedule=1/x", ["schedule=x", "number"]),
        ("b3:schedule=1/0", ["0.0", "level 1"]),
        ("b3:schedule=1//4", ["number"]),
        ("b3:reuse=all", ["'all'", "none, pool, topup"]),
        ("sh:mode=half", ["'half'", "karnin, paper, fit"]),
        ("sh:growth=1.7", ["karnin", "mode=paper"]),
        ("sh:budget=0", ["budget is 0", "at least 1"]),
        ("sh:budget=1.5", ["1.5", "whole number"]),
        ("sh:budget=many", ["budget=many", "number"]),
        ("sh:budget=nan", ["nan"]),
        ("sh:budget=inf", ["inf"]),
        ("sh:budget=1e400", ["budget"]),
        ("sr:budget=0", ["budget is 0", "at least 1"]),
        ("sr:growth=2", ["'growth'", "its keys are budget"]),
        ("dsh:budget=9", ["'budget'", "it has none"]),
        ("ucbe:exploration=bold", ["'bold'", "adaptive, oracle or a number"]),
        ("ucbe:exploration=", ["''", "adaptive, oracle or a number"]),
        ("ucbe:exploration=-1", ["-1", "at least 0"]),
        ("ucbe:exploration=nan", ["nan", "finite"]),
        ("ucbe:exploration=oracle", ["hardness is None", "H₁"]),
        ("ucbe:exploration=oracle,hardness=0", ["hardness is 0", "H₁"]),
        ("ucbe:hardness=9", ["hardness is 9", "exploration=oracle"]),
        ("klucb:batch=2.5", ["batch is 2.5", "whole number"]),
        ("ash:subset=half", ["subset is 'half'", "all, doubling"]),
        ("bsh:delta=0.1", ["'delta'", "it has none"]),
        ("bucb:sigma=1,delta=0.5", ["delta is 0.5", "(0, 1/e)"]),
        ("bucb:sigma=-1", ["sigma is -1", "at least 0"]),
        ("prose:sigma=1,beta=0", ["beta is 0", "above 0"]),
        ("prose:sigma=loud", ["sigma is 'loud'", "number", "estimated"]),
        ("prose:gamma=1", ["'gamma'", "sigma, beta"]),
        ("asha:growth=3", ["growth is 3", "(1, 2]"]),
    ],
)
def test_a_wrong_spec_is_refused_with_what_exists(spec, words):
    with pytest.raises(InvalidInput) as refused:
        parse_policy(spec, budget=500)
    message = str(refused.value)
    assert [word for word in words if word not in message] == []


def test_a_policy_that_must_be_told_the_budget_says_so():
    with pytest.raises(InvalidInput, match="sh must be told budget"):
        parse_policy("sh")


@pytest.mark.parametrize("name", ["prose", "bucb", "lilucb"])
def test_a_policy_that_must_be_told_the_noise_says_how(name):
    with pytest.raises(InvalidInput, match=f"{name} must be told sigma: write {name}:sigma=…"):
        parse_policy(name, budget=500)


THIRD_PARTY = """
from dataclasses import dataclass
from boxthirding import Uniform

@dataclass(frozen=True)
class Mine(Uniform):
    depth: int = 3
    rate: float = 0.5
    name = "mine"

class NoDataclass:
    rule = Uniform.rule

def function():
    pass

def outer():
    @dataclass(frozen=True)
    class Local(Uniform):
        pass
    return Local()
"""


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    (tmp_path / "their_policies.py").write_text(THIRD_PARTY, encoding="utf-8")
    (tmp_path / "needs_more.py").write_text("import a_package_that_nobody_has\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "their_policies", raising=False)
    importlib.invalidate_caches()
    return importlib.import_module("their_policies")


def test_a_policy_of_a_third_party_has_a_spec(third_party):
    assert parse_policy("their_policies:Mine") == third_party.Mine()
    assert parse_policy("their_policies:Mine:depth=5,rate=0.25") == third_party.Mine(depth=5, rate=0.25)
    assert format_spec(third_party.Mine()) == "their_policies:Mine"
    assert format_spec(third_party.Mine(rate=2.0)) == "their_policies:Mine:rate=2.0"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("no_such_module:Mine", "no module no_such_module.*PYTHONPATH"),
        ("their_policies:Yours", "has no Yours: write module:Class"),
        ("their_policies:function", "is no policy"),
        ("their_policies:NoDataclass", "is no policy.*dataclass"),
        ("needs_more:Mine", "needs the module a_package_that_nobody_has.*install it"),
        ("their_policies:Mine:breadth=3", "no key 'breadth': its keys are depth, rate"),
        ("their_policies", "must be one of ash.*module:Class"),
        (".relative:Mine", "no name of a module"),
    ],
)
@pytest.mark.usefixtures("third_party")
def test_a_spec_that_names_no_policy_says_what_is_wrong(spec, words):
    with pytest.raises(InvalidInput, match=words):
        parse_policy(spec)


def test_an_entry_point_gives_a_policy_a_name(third_party, monkeypatch):
    entry = importlib.metadata.EntryPoint("theirs", "their_policies:Mine", "boxthirding.policies")
    broken = importlib.metadata.EntryPoint("broken", "their_policies:Missing", "boxthirding.policies")
    entries = importlib.metadata.EntryPoints([entry, broken])
    monkeypatch.setattr(importlib.metadata, "entry_points", entries.select)
    assert parse_policy("theirs:depth=4") == third_party.Mine(depth=4)
    specs = ("theirs:depth=4", "their_policies:Mine:depth=4", "other:Mine", "us")
    assert [spec for spec in specs if needs_import(spec)] == ["other:Mine"]
    with pytest.raises(InvalidInput, match=r"policy broken is their_policies:Missing.*cannot be imported"):
        parse_policy("broken")


def test_a_policy_that_cannot_be_found_again_has_no_spec(third_party):
    with pytest.raises(InvalidInput, match="cannot be imported by another process"):
        format_spec(third_party.outer())
    with pytest.raises(InvalidInput, match="only a frozen dataclass"):
        format_spec(type("Plain", (), {"name": "plain", "rule": Uniform.rule})())


def test_a_rule_whose_functions_are_no_kernels_is_refused():
    policy = type("Mine", (Uniform,), {"name": "mine", "rule": Uniform.rule._replace(drop=lambda _state, _arm: None)})()
    with pytest.raises(InvalidInput, match=r"mine has the function drop, .* mark it @kernel \(from boxthirding import"):
        as_policy(policy)
