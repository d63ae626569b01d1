"""Compiled copies of kernels: the same answers, and never somebody else's or yesterday's code.

Numba is an extra: without it there is nothing to test here.
"""

import importlib
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from boxthirding import _compile
from boxthirding._compile import available, bound, cache_folder, compiled, digest, is_kernel, kernel
from boxthirding.policies import BoxThirding, SequentialHalving, Uniform
from boxthirding.policies.base_policy import arrays_of
from boxthirding.types import WAIT

pytestmark = pytest.mark.skipif(not available(), reason="Numba is not installed")

SRC = str(Path(_compile.__file__).parents[1])


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Compile into a folder of the test's own."""
    monkeypatch.setenv("BOXTHIRDING_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a function that writes a module and imports it afresh."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # else an edit of the same size and time is Python's to miss

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield write
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


@kernel
def inner(x):
    return x * 3


@kernel
def outer(x):
    return inner(x) + step(x)  # noqa: F821  # bound by each test


@kernel
def one_more(x):
    return x + 1


@kernel
def one_less(x):
    return x - 1


@kernel
def rounded_down(x):
    return math.floor(x)


@kernel
def rounded_up(x):
    return math.ceil(x)


def test_a_kernel_is_an_ordinary_function():
    assert inner(2) == 6
    assert is_kernel(inner)
    assert not is_kernel(len)
    assert not is_kernel(lambda x: x)


def test_a_copy_has_its_own_names():
    up, down = bound(outer, step=one_more), bound(outer, step=one_less)
    assert (up(10), down(10)) == (41, 39)
    assert "step" not in globals()


def test_compiled_copies_of_one_driver_do_not_get_each_others_code():
    up, down = compiled(outer, step=one_more), compiled(outer, step=one_less)
    assert (up(10), down(10)) == (41, 39)
    again = compiled(outer, step=one_more)
    assert again(10) == 41
    assert sum(again.stats.cache_hits.values()) == 1


def test_compiled_copies_that_differ_only_in_an_attribute_do_not_get_each_others_code():
    down, up = compiled(outer, step=rounded_down), compiled(outer, step=rounded_up)
    assert (down(0.5), up(0.5)) == (1.5, 2.5)


@pytest.mark.parametrize(
    ("one", "other"), [(one_more, one_less), (rounded_down, rounded_up), (one_more, rounded_up), (inner, one_more)]
)
def test_rules_never_share_a_cache_entry(one, other):
    assert digest(bound(outer, step=one)) != digest(bound(outer, step=other))
    assert digest(bound(outer, step=one)) == digest(bound(outer, step=one))


def test_the_digest_sees_what_a_closure_holds():
    def times(factor):
        @kernel
        def multiplied(x):
            return factor * x

        return multiplied

    assert digest(times(2)) != digest(times(3))
    assert digest(times(2)) == digest(times(2))


def test_the_digest_sees_the_value_of_a_default():
    def plus(step):
        @kernel
        def added(x, by=step):
            return x + by

        return added

    assert digest(plus(2)) != digest(plus(3))


def test_no_two_policies_share_a_cache_entry():
    rules = [policy.rule for policy in (BoxThirding, SequentialHalving, Uniform)]
    names = [digest(bound(play, ask=rule.ask, tell=rule.tell, recommend=rule.recommend)) for rule in rules]
    assert len(set(names)) == 3


def test_names_bound_the_other_way_round_are_another_entry():
    assert digest(bound(swapped, first=one_more, second=one_less)) != digest(
        bound(swapped, first=one_less, second=one_more)
    )


@kernel
def swapped(x):
    return first(x) - 2 * second(x)  # noqa: F821  # bound by the test


CONSTANTS = """
from boxthirding._compile import kernel
{name} = {value}
"""
USER = """
from boxthirding._compile import kernel
from constants_of_test import STEP
from reached_of_test import reached

@kernel
def user(x):
    return reached(x) + {use}
"""
REACHED = """
from boxthirding._compile import kernel

@kernel
def reached(x):
    return x {sign} 1
"""


@pytest.mark.parametrize(("value", "other"), [("1", "2"), ("1.0", "2.0"), ("True", "False"), ("1", "1.0")])
def test_the_digest_sees_a_constant_of_another_module(module, value, other):
    assert user_digest(module, STEP=value) != user_digest(module, STEP=other)
    assert user_digest(module, STEP=value) == user_digest(module, STEP=value)


def test_the_digest_sees_a_constant_tuple_of_another_module(module):
    assert user_digest(module, STEP="(1, 2)", use="STEP[0]") != user_digest(module, STEP="(3, 2)", use="STEP[0]")


def test_the_digest_sees_a_constant_array_of_another_module(module):
    arrays = ["__import__('numpy').array([1, 2])", "__import__('numpy').array([3, 2])"]
    assert user_digest(module, STEP=arrays[0], use="STEP[0]") != user_digest(module, STEP=arrays[1], use="STEP[0]")


def test_the_digest_sees_a_numpy_number_of_another_module(module):
    numbers = ["__import__('numpy').int64(1)", "__import__('numpy').int64(2)"]
    assert user_digest(module, STEP=numbers[0]) != user_digest(module, STEP=numbers[1])


def test_the_digest_sees_a_kernel_of_another_file(module):
    assert user_digest(module, sign="+") != user_digest(module, sign="-")


def test_the_digest_sees_the_kernel_itself(module):
    assert user_digest(module, use="STEP") != user_digest(module, use="STEP * 2")


def user_digest(module, *, STEP="1", sign="+", use="STEP"):  # noqa: N803  # the constant's name
    module("constants_of_test", CONSTANTS.format(name="STEP", value=STEP))
    module("reached_of_test", REACHED.format(sign=sign))
    return digest(module("user_of_test", USER.format(use=use)).user)


@kernel
def play(state, rewards, jobs):
    """Let a rule play; what it asks for and recommends goes into `jobs`, [n, 3]."""
    for i in range(len(jobs)):
        job, arm, times = ask(state)  # noqa: F821  # the rule's
        if job == WAIT:
            return i
        tell(state, job, times, rewards[i] * times, 0.0)  # noqa: F821  # the rule's
        jobs[i, 0] = arm
        jobs[i, 1] = times
        jobs[i, 2] = recommend(state)  # noqa: F821  # the rule's
    return len(jobs)


@pytest.mark.parametrize(
    "policies",
    [
        [BoxThirding(), BoxThirding(reuse="pool", schedule="linear"), BoxThirding(reuse="topup", effort=0.3)],
        [Uniform()],
        [SequentialHalving(budget=400), SequentialHalving(budget=300, mode="fit")],
    ],
    ids=lambda policies: policies[0].name,
)
def test_compiled_rules_decide_as_interpreted_ones(policies):
    rule = policies[0].rule
    names = {"ask": rule.ask, "tell": rule.tell, "recommend": rule.recommend}
    rewards = np.random.default_rng(0).integers(0, 5, 200) / 4.0  # full of ties
    fast, slow = compiled(play, **names), bound(play, **names)
    for policy in policies:
        results = []
        for driver in (fast, slow):
            state = policy.new(50, 1, 64)
            jobs = np.zeros((200, 3), np.int64)
            results.append(
                (driver(state, rewards, jobs), jobs.tolist(), [array.tolist() for array in arrays_of(state).values()])
            )
        assert results[0] == results[1]


@pytest.fixture
def refusing(monkeypatch):
    """Return a list of the options that a Numba was asked for; it takes all but the private one."""
    import numba

    compiling, asked = numba.njit, []

    def njit(**options):
        asked.append(options)
        renamed = {name.replace("_nrt", "an_option_that_nobody_knows"): value for name, value in options.items()}
        return compiling(**renamed)  # Numba itself refuses it: at the first compilation, and in its own way

    monkeypatch.setattr(numba, "njit", njit)
    _compile._accepted_options.cache_clear()
    yield asked
    _compile._accepted_options.cache_clear()


def test_a_numba_that_refuses_the_private_option_compiles_without_it(refusing):
    fast = compiled(outer, step=one_more)
    assert fast(10) == 41
    assert fast.signatures
    first, *others = refusing
    assert "_nrt" in first
    assert others
    assert all("_nrt" not in options and options["nogil"] for options in others)


def test_a_numba_that_takes_the_private_option_is_given_it():
    assert _compile._accepted_options()["_nrt"] is False  # without it, runs are twenty times slower


PROGRAM = """
from boxthirding._compile import compiled
from driver_of_test import driver
import rules_of_test

for name in ("first", "second"):
    function = compiled(driver, rule=getattr(rules_of_test, name))
    result = function(10)
    hits, misses = (sum(counts.values()) for counts in (function.stats.cache_hits, function.stats.cache_misses))
    print(name, result, hits, misses)
"""
FILES = {
    "program_of_test.py": PROGRAM,
    "driver_of_test.py": """
from boxthirding._compile import kernel

@kernel
def driver(n):
    total = 0
    for i in range(n):
        total += rule(i)
    return total
""",
    "rules_of_test.py": """
from boxthirding._compile import kernel
from factor_of_test import FACTOR
from shared_of_test import shared

@kernel
def first(x):
    return shared(x) + 1

@kernel
def second(x):
    return shared(x) * FACTOR
""",
    "shared_of_test.py": """
from boxthirding._compile import kernel

@kernel
def shared(x):
    return x + 5
""",
    "factor_of_test.py": """
FACTOR = 2
""",
}


def test_a_changed_kernel_is_never_served_from_a_stale_cache(tmp_path, cache):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, ns=(10**18, 10**18))
    # Sums over i = 0 … 9 of shared(i) + 1 and of shared(i) · FACTOR, with how often the cache had it and had it not.
    assert run(tmp_path, cache) == {"first": (105, 0, 1), "second": (190, 0, 1)}
    files = sorted(cache.rglob("*.nb*"))
    assert files
    assert run(tmp_path, cache) == {"first": (105, 1, 0), "second": (190, 1, 0)}
    assert sorted(cache.rglob("*.nb*")) == files

    edit(tmp_path / "rules_of_test.py", "shared(x) + 1", "shared(x) + 2")  # the rule itself
    assert results(tmp_path, cache) == {"first": 115, "second": 190}
    edit(tmp_path / "shared_of_test.py", "x + 5", "x + 6")  # a kernel in another file
    assert results(tmp_path, cache) == {"first": 125, "second": 210}
    edit(tmp_path / "factor_of_test.py", "FACTOR = 2", "FACTOR = 3")  # a constant of another file
    assert results(tmp_path, cache) == {"first": 125, "second": 315}
    edit(tmp_path / "driver_of_test.py", "total = 0", "total = 7")  # the driver
    assert results(tmp_path, cache) == {"first": 132, "second": 322}


def edit(path, old, new):
    """Change a file so that neither its size nor its time tells."""
    before = path.stat()
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def run(folder, cache):
    """Run the program in a process of its own; return its result, cache hits and cache misses by rule."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([SRC, str(folder)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "BOXTHIRDING_CACHE": str(cache),
    }
    command = [sys.executable, str(folder / "program_of_test.py")]
    lines = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: tuple(map(int, numbers)) for name, *numbers in map(str.split, lines)}


def results(folder, cache):
    return {name: numbers[0] for name, numbers in run(folder, cache).items()}


def test_the_cache_folder_is_the_one_named(cache):
    assert cache_folder() == cache
    assert cache.is_dir()


def test_a_folder_that_cannot_be_written_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BOXTHIRDING_CACHE", str(tmp_path / "file" / "cache"))
    folder = cache_folder()
    assert tmp_path not in folder.parents


def test_code_unused_for_a_month_is_forgotten_and_code_in_use_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("BOXTHIRDING_CACHE", str(tmp_path))
    stale, recent, foreign = tmp_path / ("0" * 24), tmp_path / ("1" * 24), tmp_path / "notes"
    for folder in (stale, recent, foreign):
        folder.mkdir()
        os.utime(folder, (0, 0))
    os.utime(recent)
    _compile._mark_used(tmp_path / ("2" * 24))
    assert {folder.name for folder in tmp_path.iterdir()} == {"1" * 24, "2" * 24, "notes"}


def test_without_a_writable_cache_the_folder_is_this_process_s_alone(tmp_path, monkeypatch):
    blocked = tmp_path / "a file"
    blocked.write_text("in the way")
    monkeypatch.setenv("BOXTHIRDING_CACHE", str(blocked / "cache"))
    folder = _compile.cache_folder()
    assert folder.stat().st_mode & 0o077 == 0
    assert folder == _compile.cache_folder()
