"""`import boxthirding` is light: what is optional, or slow to load, is loaded where it is used."""

import subprocess
import sys

import pytest

HEAVY = ["numba", "llvmlite", "matplotlib", "rich", "click", "hypothesis", "pytest", "fastapi"]

LATER = ["asyncio", "multiprocessing", "sqlite3"]
LATER += [f"boxthirding.{name}" for name in ("cli", "lab", "planning", "storage", "study")]


def loaded_after(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import boxthirding",
        "from boxthirding import *",
        "import boxthirding; boxthirding.Session(10).ask(3)",
        "import boxthirding.testing",
    ],
)
def test_nothing_heavy_is_loaded(statement):
    assert loaded_after(statement).isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "statement",
    [
        "import boxthirding; dir(boxthirding)",
        "import boxthirding; boxthirding.find_best(9, float, budget=9, progress=False)",
    ],
)
def test_studies_and_the_simulator_are_loaded_when_they_are_used(statement):
    assert loaded_after(statement).isdisjoint(LATER)


def test_the_tests_would_notice():
    assert "hypothesis" in loaded_after("import boxthirding, hypothesis")
    assert "boxthirding.lab" in loaded_after("import boxthirding; boxthirding.simulate")
    assert "boxthirding.storage" in loaded_after("import boxthirding; boxthirding.open_study")


@pytest.mark.parametrize("name", ["lab"])
def test_a_part_that_is_loaded_later_needs_no_import_of_its_own(name):
    assert f"boxthirding.{name}" in loaded_after(f"import boxthirding; boxthirding.{name}.__all__")


def test_what_is_loaded_later_is_listed_and_comes_with_a_star():
    code = "import boxthirding; assert set(boxthirding.__all__) <= set(dir(boxthirding))"
    loaded_after(f"{code}; from boxthirding import *; assert simulate.__module__ == 'boxthirding.lab.simulate'")


def test_what_the_package_imports_for_itself_is_not_listed():
    code = "import boxthirding; names = {name for name in dir(boxthirding) if not name.startswith('__')}"
    loaded_after(f"{code}; assert names == {{*boxthirding.__all__, 'lab'}}, names")


def test_a_name_that_is_not_there_is_an_attribute_error():
    import boxthirding

    with pytest.raises(AttributeError, match="has no attribute 'typo'"):
        _ = boxthirding.typo


def test_every_public_name_is_there():
    import boxthirding

    assert len(set(boxthirding.__all__)) == len(boxthirding.__all__)
    assert all(getattr(boxthirding, name) is not None for name in boxthirding.__all__)


def test_every_policy_can_be_imported_from_the_package():
    import boxthirding
    from boxthirding import policies

    classes = {kind.__name__ for kind in policies.POLICIES.values()}
    assert classes <= {*policies.__all__}
    assert classes <= {*boxthirding.__all__}
