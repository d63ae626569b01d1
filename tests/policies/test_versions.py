"""A rule that decides otherwise has another version, so that journals of the older one are taken over."""

import importlib
import linecache
import sys

import pytest

from boxthirding import _code_digest
from boxthirding.policies import POLICIES

VERSIONS = {
    "ash": (1, "a931329925100e7a"),
    "asha": (1, "860541e65ea4759b"),
    "b3": (1, "efe700609fbf36b0"),
    "bsh": (1, "48c2e9d816eaa394"),
    "bucb": (1, "22c5f3c0dfdec909"),
    "chase": (1, "fc4c2a2df99806d9"),
    "dsh": (1, "d57febbee2f0f41a"),
    "ebtc": (1, "c5e36aea77244ecc"),
    "klucb": (1, "e728ef66b807eed8"),
    "lilucb": (1, "026b0fb853fee2b3"),
    "prose": (1, "f00c5d1c3238365c"),
    "sh": (1, "f96e7384f70d0c6e"),
    "sr": (1, "ccdd32906a0cf13e"),
    "ucbe": (1, "bcefb36cf57b2293"),
    "us": (1, "4d82ce632aaa8f10"),
}
"""By name of the policy: its version, and the digests of the code that decides in it.

A version has several digests if its code was changed and the golden traces show that it decides as before.
"""


def digest(policy):
    """Return the digest of a policy's rule, and of how its states are made."""
    rule = [function for function in policy.rule if function is not None]
    return _code_digest.digest([*rule, policy.new, policy.grow], policy)[:16]


def test_the_table_has_no_policy_that_does_not_exist():
    assert {*VERSIONS} <= {*POLICIES}


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_rule_that_has_changed_has_another_version(name):
    found = digest(POLICIES[name])
    assert name in VERSIONS, f'{name} is new: add "{name}": ({POLICIES[name].version}, "{found}") to the table above'
    version, *digests = VERSIONS[name]
    assert found in digests, (
        f"the code of {name} has changed: raise its version and give it the digest {found} in the table above; or, if "
        "`pytest tests/golden` shows that it decides as before, add this digest to those of its version"
    )
    assert version == POLICIES[name].version


MODULE = '''
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple
import numpy as np
from boxthirding.policies import Uniform
from boxthirding._compile import kernel

STEP: Final = 2

class State(NamedTuple):
    scalars: np.ndarray

@kernel
def ask(state):
    """Say something."""
    return stepped(state.scalars[0])

@kernel
def stepped(number: int) -> int:
    # why
    return number + STEP

def _empty(room):
    return State(np.zeros(room))

class Base:
    def new(self, n_arms):
        return _empty(3)

@dataclass(frozen=True)
class Mine(Base):
    name: ClassVar[str] = "mine"
    rule: ClassVar = Uniform.rule._replace(ask=ask)

    def new(self, n_arms, seed, capacity):
        if n_arms < 1:
            raise ValueError(f"{n_arms} arms")
        return self._made(n_arms) if n_arms else super().new(n_arms)

    def grow(self, state):
        return state

    def _made(self, n_arms):
        return _empty(n_arms)

    def ranking(self, state, k=None):
        return []
'''


@pytest.fixture
def digest_of(tmp_path, monkeypatch):
    """Return the digest of the module above with one text replaced by another."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two texts of one second would share it

    def made(old="", new=""):
        assert old in MODULE
        (tmp_path / "a_policy.py").write_text(MODULE.replace(old, new, 1), encoding="utf-8")
        linecache.clearcache()
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, "a_policy", raising=False)
        return digest(importlib.import_module("a_policy").Mine)

    return made


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("STEP: Final = 2", "STEP: Final = 3"),
        ("return number + STEP", "return STEP - number"),
        ("return stepped(state.scalars[0])", "return stepped(state.scalars[1])"),
        ("    scalars: np.ndarray", "    scalars: np.ndarray\n    more: np.ndarray = None"),
        ("self._made(n_arms) if", "self._made(n_arms + 1) if"),
        ("return _empty(n_arms)", "return _empty(2 * n_arms)"),
        ("np.zeros(room)", "np.ones(room)"),
        ("return _empty(3)", "return _empty(4)"),
        ("        return state\n", "        return _empty(9)\n"),
    ],
)
def test_what_decides_is_part_of_the_digest(digest_of, old, new):
    assert digest_of(old, new) != digest_of()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Say something", "Say something else"),
        ("# why", "# because"),
        ("number: int) -> int", "number)"),
        ('{n_arms} arms"', '{n_arms} is too few"'),
        ("        return []", "        return [1]"),
    ],
)
def test_what_decides_nothing_is_not(digest_of, old, new):
    assert digest_of(old, new) == digest_of()
