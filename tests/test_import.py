"""`import boxthirding` is light: what is optional, or slow to load, is loaded where it is used."""

import subprocess
import sys

import pytest

HEAVY = ["numba", "llvmlite", "matplotlib", "rich", "click", "hypothesis", "pytest", "fastapi"]


def loaded_after(statement):
    code = f"import sys; {statement}; print(*sorted(name.partition('.')[0] for name in sys.modules))"
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


def test_the_test_would_notice():
    assert "hypothesis" in loaded_after("import boxthirding, hypothesis")


def test_every_public_name_is_there():
    import boxthirding

    assert len(set(boxthirding.__all__)) == len(boxthirding.__all__)
    assert all(getattr(boxthirding, name) is not None for name in boxthirding.__all__)
