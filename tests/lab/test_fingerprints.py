"""The fingerprint of code: what it must change with, what it must not, and what is refused because of it."""

import importlib
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import boxthirding
from boxthirding import _code_digest
from boxthirding.errors import ResultsRefused
from boxthirding.lab import Gaussian, Setting, captions, error_split, load, settings, simulate, sweep
from boxthirding.lab.settings import digest_of_code
from boxthirding.policies import POLICIES, BoxThirding, parse_policy
from boxthirding.policies.rivals import uniform

SPECS = (*POLICIES, "ucbe:exploration=oracle")

PROGRAM = f"""
import sys
from boxthirding.policies import parse_policy
from boxthirding.lab.settings import digest_of_code
for spec in {SPECS}:
    policy = parse_policy(spec, budget=1_000, sigma=0.5, hardness=3.0)
    print(digest_of_code(policy, 1), digest_of_code(policy, 2))
"""


def told(spec, budget=1_000, sigma=0.5, hardness=3.0):
    return parse_policy(spec, budget=budget, sigma=sigma, hardness=hardness)


def elsewhere(program, folder, seed):
    """Run a program on the package in another folder, with another seed of Python's own hashes."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()


def test_it_depends_neither_on_numba_nor_on_hashes_nor_on_where_the_package_is(tmp_path):
    package = Path(boxthirding.__file__).parent
    shutil.copytree(package, tmp_path / "boxthirding", ignore=shutil.ignore_patterns("__pycache__"))
    here = [digest_of_code(told(spec), workers) for spec in SPECS for workers in (1, 2)]
    assert elsewhere(PROGRAM, package.parent, "1") == here
    assert elsewhere("import sys; sys.modules['numba'] = None\n" + PROGRAM, tmp_path, "2") == here


def test_every_policy_has_its_own_and_every_parameter_counts():
    policies = [*map(told, SPECS), told("sh:mode=paper"), told("b3:effort=0.3"), BoxThirding(schedule=(1.0, 2.0))]
    digests = [digest_of_code(policy, workers) for policy in policies for workers in (1, 2)]
    assert len(set(digests)) == len(digests)
    assert digest_of_code(told("b3"), 2) == digest_of_code(told("b3"), 64)


def test_what_a_policy_is_told_is_no_code_of_its_own():
    assert digest_of_code(told("sh", budget=7), 1) == digest_of_code(told("sh"), 1)
    assert digest_of_code(told("prose", sigma=2.0), 1) == digest_of_code(told("prose"), 1)


CONSTANTS = "STEP = 2\nOTHER = 3\nTABLE = (1, 2)\n"
RULES = '''
from constants_of_test import OTHER, STEP, TABLE
from boxthirding._compile import kernel


class Costs:
    def cost(self, level):
        return level * STEP


@kernel
def helper(x):
    """Documentation."""
    return x + 1  # a comment


def plain(policy):
    return Costs().cost(TABLE[0])


class Rule:
    def new(self, n_arms):
        return plain(self) + self.inner()

    def inner(self):
        return 5

    def never(self):
        return OTHER


@kernel
def ask(state):
    return helper(STEP) + state.inner
'''

SAME = [
    ("a comment", "# a comment", "# another comment"),
    ("documentation", "Documentation.", "Better documentation."),
    ("line breaks", "return helper(STEP)", "return helper(\n        STEP\n    )"),
    ("a constant that nothing reads", "OTHER = 3", "OTHER = 4"),
    ("a method that nothing calls", "return OTHER", "return OTHER + 1"),
]
OTHER = [
    ("a line of a kernel", "return helper(STEP)", "return 2 * helper(STEP)"),
    ("a kernel that it calls", "return x + 1", "return x + 2"),
    ("a constant", "STEP = 2", "STEP = 4"),
    ("a constant of another type", "STEP = 2", "STEP = 2.0"),
    ("a number in a table", "TABLE = (1, 2)", "TABLE = (1, 3)"),
    ("a plain function", "TABLE[0]", "TABLE[1]"),
    ("a method that is called", "return 5", "return 6"),
    ("a class that is made", "level * STEP", "level + STEP"),
    ("where a line stands", "return x + 1", "if x:\n        return x + 1"),
]


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Return a function that writes two modules and returns the code of the rule in them."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(old="", new=""):
        texts = {"constants_of_test": CONSTANTS, "rules_of_test": RULES}
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text.replace(old, new) if old else text, encoding="utf-8")
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        rules = importlib.import_module("rules_of_test")
        return _code_digest.digest([rules.ask, rules.Rule.new], rules.Rule)

    yield write
    for name in ("constants_of_test", "rules_of_test"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("old", "new"), [pair for _, *pair in SAME], ids=[name for name, *_ in SAME])
def test_what_changes_no_result_does_not_change_it(code, old, new):
    assert old in CONSTANTS + RULES
    assert code(old, new) == code()


@pytest.mark.parametrize(("old", "new"), [pair for _, *pair in OTHER], ids=[name for name, *_ in OTHER])
def test_what_may_change_a_result_changes_it(code, old, new):
    assert old in CONSTANTS + RULES
    assert code(old, new) != code()


def test_code_that_stands_in_no_file_has_one_too():
    made = {}
    for number in (1, 2):
        names = {}
        exec(f"def f(x): return x + {number}", names)  # noqa: S102  # the point is that there is no file
        made[number] = _code_digest.digest([names["f"]])
    assert made[1] != made[2]


# Refused


def asked(**options):
    return [Setting(captions(40), Gaussian(0.5), spec, 60, replicates=12, **options) for spec in ("us", "b3")]


def test_runs_of_other_code_are_refused_and_stay_as_they_are(tmp_path, monkeypatch):
    file = tmp_path / "r.jsonl"
    sweep(asked(), results=file)
    before = file.read_bytes()
    real = settings.digest_of_code
    monkeypatch.setattr(
        settings, "digest_of_code", lambda policy, workers: "0" * 64 if policy.name == "b3" else real(policy, workers)
    )
    with pytest.raises(ResultsRefused, match=r"holds runs of b3 by other code: .* has changed .*: give another file"):
        sweep([replace(one, replicates=20) for one in asked()], results=file)
    assert file.read_bytes() == before
    assert len(load(file)) == 2  # which can be read and drawn all the same
    assert sweep(asked()[:1], results=file)[0].replicates == 12  # us has not changed


def test_no_fingerprint_is_taken_of_what_is_not_saved(monkeypatch, tmp_path):
    def never(policy, workers):
        raise AssertionError(f"the code of {policy} was read, for {workers} workers")

    monkeypatch.setattr(settings, "digest_of_code", never)
    one, other = sweep(asked())
    assert one.replicates == other.replicates == 12
    assert len({*asked(), *asked()}) == 2
    assert error_split(asked()[0], one, eps=0.1).exact.size
    policy = BoxThirding()
    assert simulate(captions(40), Gaussian(0.5), policy, budget=60, replicates=3).replicates == 3
    with pytest.raises(AssertionError, match="was read"):
        sweep(asked(), results=tmp_path / "r.jsonl")


def test_a_constant_of_a_rule_that_has_changed_is_noticed(tmp_path, monkeypatch):
    file = tmp_path / "r.jsonl"
    sweep(asked()[:1], results=file)
    constants = [name for name, value in vars(uniform).items() if name.isupper() and type(value) is int]
    read = next(name for name in constants if name in uniform.ask.__code__.co_names)
    monkeypatch.setattr(uniform, read, getattr(uniform, read) + 1)
    settings._code_of.cache_clear()
    try:
        with pytest.raises(ResultsRefused, match="holds runs of us by other code"):
            sweep(asked()[:1], results=file)
    finally:
        settings._code_of.cache_clear()
