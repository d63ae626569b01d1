"""The pages on integrations are true, and the examples in the docstrings run."""

import doctest
import importlib
import re

import pytest
from pages import BESIDE, ROOT, blocks, name_of, run_page

MODULES = ("race", "optuna", "sklearn", "inspect_ai")

# Warnings of other packages about each other, in what a page shows.
pytestmark = [
    pytest.mark.usefixtures("tidy"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("page", [page for page in BESIDE if blocks(page)], ids=name_of)
def test_what_a_page_shows_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    run_page(page, tmp_path, monkeypatch)


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module):
    failed, _ = doctest.testmod(importlib.import_module(f"boxthirding.integrations.{module}"))
    assert failed == 0


def test_the_reference_names_every_public_name_and_no_other():
    text = (ROOT / "docs" / "integrations" / "reference.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\.\. auto\w+:: boxthirding\.integrations\.(\S+)$", text, re.MULTILINE))
    public = {
        f"{module}.{name}"
        for module in MODULES
        for name, thing in vars(importlib.import_module(f"boxthirding.integrations.{module}")).items()
        if callable(thing)
        and not name.startswith("_")
        and getattr(thing, "__module__", "") == f"boxthirding.integrations.{module}"
    }
    public.add("inspect_ai.best_arms")  # made by its decorator, elsewhere
    assert {name if "." in name else f"race.{name}" for name in named} == public
