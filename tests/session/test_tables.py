"""A DataFrame given as arms is its rows, as dictionaries."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import boxthirding as b3
from boxthirding.errors import InvalidInput

ROWS = [{"rate": 0.1, "depth": 2}, {"rate": 0.9, "depth": 3}, {"rate": 0.5, "depth": 4}]


class Extended(pd.DataFrame):
    """A table as other packages make them, such as a GeoDataFrame."""

    @property
    def _constructor(self):
        return Extended


TABLES = {
    "pandas": pd.DataFrame(ROWS),
    "a class made from pandas": Extended(ROWS),
    "polars": pl.DataFrame(ROWS),
    "pyarrow": pa.Table.from_pylist(ROWS),
    "a batch of pyarrow": pa.RecordBatch.from_pylist(ROWS),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_its_rows_are_the_arms(table):
    found = b3.find_best(table, lambda arm: arm["rate"], budget=20, progress=False)
    assert (found.label, found.best) == (1, ROWS[1])
    assert type(found.best["depth"]) is int


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
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


@pytest.mark.parametrize(
    "table",
    [pd.DataFrame([[1, 2]], columns=["a", "a"]), pa.table([[1], [2]], names=["a", "a"])],
    ids=["pandas", "arrow"],
)
def test_two_columns_of_a_name_are_refused_by_it(table):
    with pytest.raises(InvalidInput, match="the table has more than one column 'a', but each must have a name of its"):
        b3.Session(table)


def test_a_table_that_is_not_computed_yet_is_refused_with_the_way_out():
    with pytest.raises(
        InvalidInput, match=r"arms is a polars LazyFrame, which has no rows yet: give arms\.collect\(\)"
    ):
        b3.Session(pl.DataFrame(ROWS).lazy())


def test_a_table_without_rows_has_no_arms():
    with pytest.raises(InvalidInput, match="there are no arms"):
        b3.Session(pd.DataFrame({"rate": []}))
