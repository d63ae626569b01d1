"""The folders of the tests: helpers are imported by their bare names, so each name is there once."""

import sys
import tomllib
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent
OPTIONS = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
HELPERS = [path for path in TESTS.rglob("*.py") if not path.name.startswith(("test_", "conftest"))]


def test_a_folder_with_helpers_is_one_that_pytest_imports_from():
    assert HELPERS
    folders = {path.parent.relative_to(TESTS.parent).as_posix() for path in HELPERS}
    assert folders | {"."} == set(OPTIONS["pythonpath"])
    assert "--import-mode=importlib" in OPTIONS["addopts"]


def test_no_helper_hides_another_module():
    counts = Counter(path.stem for path in HELPERS)
    assert [name for name, times in counts.items() if times > 1] == []
    assert sys.stdlib_module_names.isdisjoint(counts)


def test_no_folder_is_a_package():
    assert not list(TESTS.rglob("__init__.py"))  # a package here would get another name than in a spawned process
