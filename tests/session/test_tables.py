"""A DataFrame given as arms is its rows, as dictionaries."""

import pandas as pd
import polars as pl
import pytest

import boxthirding as b3
from boxthirding.errors import InvalidInput

ROWS = [{"rate": 0.1, "depth": 2}, {"rate": 0.9, "depth": 3}, {"rate": 0.5, "depth": 4}]


@pytest.mark.parametrize("table", [pd.DataFrame(ROWS), pl.DataFrame(ROWS)], ids=["pandas", "polars"])
def test_its_rows_are_the_arms(table):
    found = b3.find_best(table, lambda arm: arm["rate"], budget=20, progress=False)
    assert (found.label, found.best) == (1, ROWS[1])
    assert type(found.best["depth"]) is int


@pytest.mark.parametrize("table", [pd.DataFrame(ROWS), pl.DataFrame(ROWS)], ids=["pandas", "polars"])
def test_rows_can_be_added(table, tmp_path):
    with b3.open_study(tmp_path / "study.db", arms=table) as study:
        session = b3.Session(table)
        for each in (session, study):
            each.add(table)
            assert (each.view().arms, each.payload(4)) == (6, ROWS[1])


def test_a_study_keeps_them(tmp_path):
    with b3.open_study(tmp_path / "study.db", arms=pd.DataFrame(ROWS)):
        pass
    with b3.open_study(tmp_path / "study.db") as study:
        assert study.payload(2) == ROWS[2]


@pytest.mark.parametrize("index", [["a", "b", "c"], [10, 20, 30]])
def test_an_index_that_was_set_gives_the_labels(index):
    table = pd.DataFrame(ROWS, index=index)
    found = b3.find_best(table, lambda arm: arm["rate"], budget=20, progress=False)
    assert found.label == index[1]
    assert table.loc[found.label].to_dict() == ROWS[1]


def test_an_index_of_something_else_does_not():
    table = pd.DataFrame(ROWS, index=pd.date_range("2026-01-01", periods=3))
    assert b3.Session(table).payload(0) == ROWS[0]


def test_an_index_with_a_label_twice_is_refused():
    with pytest.raises(InvalidInput, match=r"has 'a' twice, but labels must be unique: arms\.reset_index\(\)"):
        b3.Session(pd.DataFrame(ROWS, index=["a", "b", "a"]))


def test_a_table_without_rows_has_no_arms():
    with pytest.raises(InvalidInput, match="there are no arms"):
        b3.Session(pd.DataFrame({"rate": []}))
