"""Every public function names the statement it implements, and stands in the table of statements."""

import inspect
import re
from pathlib import Path

import pytest
from theory_functions import FUNCTIONS

STATEMENT = re.compile(r"(theorem|proposition|corollary|lemma|remark|definition|section|figure|table|Audibert)")
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "theory.md"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_names_its_statement(name):
    first = inspect.getdoc(FUNCTIONS[name]).partition("\n")[0]
    assert STATEMENT.search(first)
    assert first.endswith(".")
    page = PAGE.read_text(encoding="utf-8")
    assert f"`{name}`" in page
    assert f".. autofunction:: {FUNCTIONS[name].__module__}.{name}\n" in page


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("combined_order", "it must be the *min*"),
        ("comparison_bound", "hence the factor 4"),
        ("round_bound", "lacks the ε²"),
        ("candidate_share", "without ceilings"),
        ("candidate_bounds", "should not contain n₀"),
        ("level_shares", "ζ in the numerator"),
        ("halving_effort", "must read (1, 2)"),
        ("growth_objective", "lacks the square"),
        ("regret_bound", "√(T/N) should be √(N/T)"),
        ("complexity_h2", "column is wrong"),
    ],
)
def test_a_slip_of_the_paper_is_said_where_it_matters(name, words):
    assert words in " ".join(inspect.getdoc(FUNCTIONS[name]).split())
