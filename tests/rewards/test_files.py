"""Files of figures: what is read of them, and at what cost."""

import pytest

from boxthirding import UnreadableData
from boxthirding.rewards.files import first_repeated, read_sheet


class Counted(str):
    """A name that counts how often it is compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_the_names_of_columns_are_checked_at_a_cost_that_grows_with_their_number():
    columns = [Counted(f"column {number}") for number in range(10_000)]
    Counted.compared = 0
    assert first_repeated(columns) is None
    assert Counted.compared < len(columns)  # hashes are compared first
    assert first_repeated([*columns, Counted("column 7")]) == "column 7"


def test_a_sheet_may_have_a_hundred_thousand_columns(tmp_path):
    names = [f"c{number}" for number in range(100_000)]
    (tmp_path / "wide.csv").write_text(f"{','.join(names)}\n{',' * 99_999}\n", encoding="utf-8")
    sheet = read_sheet(tmp_path / "wide.csv")
    assert len(sheet.columns) == len(sheet.rows[0]) == 100_000
    assert sheet.listed.endswith("c18, c19, … (100,000 in all)")
    (tmp_path / "twice.csv").write_text(f"{','.join(names)},c5\n{',' * 100_000}\n", encoding="utf-8")
    with pytest.raises(UnreadableData, match=r"twice.csv has more than one column 'c5', but"):
        read_sheet(tmp_path / "twice.csv")
