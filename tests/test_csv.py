"""Tables: what is understood, what is refused and by which cause, and that cells stay as they are written."""

import csv
import io
import re

import pytest

from boxthirding import NoHeader, UnreadableData
from boxthirding._csv import csv_lines, read_sheet, sheet_of
from boxthirding.find.input_files import arms_of


def test_a_sheet_may_have_a_hundred_thousand_columns(tmp_path):
    names = [f"c{number}" for number in range(100_000)]
    (tmp_path / "wide.csv").write_text(f"{','.join(names)}\n{',' * 99_999}\n", encoding="utf-8")
    sheet = read_sheet(tmp_path / "wide.csv")
    assert len(sheet.columns) == len(sheet.rows[0]) == 100_000
    assert sheet.listed.endswith("c18, c19, … (100,000 in all)")
    (tmp_path / "twice.csv").write_text(f"{','.join(names)},c5\n{',' * 100_000}\n", encoding="utf-8")
    with pytest.raises(UnreadableData, match=r"twice.csv has more than one column 'c5', but"):
        read_sheet(tmp_path / "twice.csv")


# What is understood


def rows_of(text, name="t.csv", **settings):
    sheet = sheet_of(text if isinstance(text, bytes) else text.encode(), name, **settings)
    return sheet.columns, [sheet.texts(row) for row in range(len(sheet.rows))]


PLAIN = "arm,rate,note\nann,1.5,x\nbob,0.25,\n"

SAME = {
    "a byte-order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "semicolons": PLAIN.replace(",", ";"),
    "tabs": PLAIN.replace(",", "\t"),
    "line ends of Windows": PLAIN.replace("\n", "\r\n"),
    "line ends of old Macs": PLAIN.replace("\n", "\r"),
    "quotation marks": 'arm;rate;note\nann;"1.5";x\n"bob";"0.25";""\n',
    "empty lines": "\narm,rate,note\n\nann,1.5,x\nbob,0.25,\n\n",
}


@pytest.mark.parametrize("case", SAME)
def test_one_table_is_the_same_however_it_is_saved(case):
    columns = ["arm", "rate", "note"]
    assert rows_of(SAME[case]) == (
        columns,
        [{"arm": "ann", "rate": "1.5", "note": "x"}, {"arm": "bob", "rate": "0.25", "note": ""}],
    )


def test_json_lines_are_a_table():
    text = '{"arm": "ann", "rate": 1.5, "on": true}\n\n{"arm": "b\\nob", "note": null, "list": [1, "é"]}\n'
    assert rows_of(text, "t.jsonl") == (
        ["arm", "rate", "on", "note", "list"],
        [
            {"arm": "ann", "rate": "1.5", "on": "true", "note": "", "list": ""},
            {"arm": "b\nob", "rate": "", "on": "", "note": "", "list": '[1, "é"]'},
        ],
    )


NUMBERS = {
    "1,5": (["1,5", "2"], [1.5, 2.0]),
    "a leading zero": (["0,125", "1,234"], [0.125, 1.234]),
    "four digits before the comma": (["1234,567"], [1234.567]),
    "exponents and signs": (["-1,5e3", "+0,5"], [-1500.0, 0.5]),
    "points": (["1.234", "1234"], [1.234, 1234.0]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_with_decimal_commas_are_read(case):
    cells, numbers = NUMBERS[case]
    for separator in ";\t":
        text = f"v{separator}w\n" + "".join(f"{cell}{separator}x\n" for cell in cells)
        sheet = sheet_of(text.encode(), "t.csv")
        assert [sheet.number(row, "v") for row in range(len(cells))] == numbers
        assert [sheet.cell(row, "v") for row in range(len(cells))] == cells


def test_text_with_commas_stays_text():
    columns, rows = rows_of('arm;doses\nann;"1,5"\nbob;"1,5 and 2,5"\n')
    assert (columns, [row["doses"] for row in rows]) == (["arm", "doses"], ["1,5", "1,5 and 2,5"])
    assert rows_of("caption\nno\nyes\n")[1] == [{"caption": "no"}, {"caption": "yes"}]


def test_a_file_without_a_header_has_its_columns_named_by_the_reader():
    sheet = sheet_of(b"ann;0,5;x\nbob;0,75;y\n", "t.csv", header=False)
    assert sheet.columns == ["1", "2", "3"]
    assert sheet.named("arm", more=True).columns == ["arm", "2", "3"]
    assert sheet.named("arm", more=True).number(0, "2") == 0.5


def test_arms_need_no_file():
    arms = arms_of(b"arm;rate\nann;1,5\n", "upload.csv")
    assert arms == [{"arm": "ann", "rate": "1,5"}]
    assert arms_of(b"ann\nbob\n", "upload.txt") == [{"arm": "ann"}, {"arm": "bob"}]


# What is refused, and by which cause


REFUSED = {
    "thousands or decimals": (b"v;w\n1,234;x\n", "v is '1,234', which may be 1.234 or 1234"),
    "a certain comma in another column": (b"v;w\n1,234;0,5\n", "v is '1,234', which may be 1.234 or 1234"),
    "commas between thousands": (b"v;w\n1,234.5;x\n", "v is '1,234.5', but must be a finite number below 1e150"),
    "points between thousands": (b"v;w\n1.234,5;x\n", "v is '1.234,5', but must be a finite number below 1e150"),
    "a comma between commas": (b'v,w\n"1,5",x\n', "v is '1,5', but must have a decimal point: write 1.5"),
    "thousands between commas": (b'v,w\n0.5,x\n"1,234",x\n', "v is '1,234', which may be 1.234 or 1234"),
    "points and commas": (b"v;w\n0,5;x\n1.5;y\n", "with a decimal point, but '0,5' has a decimal comma"),
    "text": (b"v;w\nhigh;x\n", "v is 'high', but must be a finite number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_number_that_may_be_two_is_refused_with_both(case):
    data, message = REFUSED[case]
    sheet = sheet_of(data, "t.csv")
    with pytest.raises(UnreadableData, match=r"t.csv, row \d \(line \d\): ") as caught:
        [sheet.number(row, "v") for row in range(len(sheet.rows))]
    assert message in str(caught.value)


UNREADABLE = {
    "another encoding": (
        b"arm\ncaf\xe9\n",
        "byte 7 is 0xe9): save it as CSV UTF-8, or convert it, for exam",
    ),
    "another encoding after a mark": (b"\xef\xbb\xbfarm\ncaf\xe9\n", "(byte 10 is 0xe9): save it as CSV UTF-8"),
    "UTF-16": (
        PLAIN.encode("utf-16"),
        "(byte 0 is 0xff): save it as CSV UTF-8, or convert it, for",
    ),
    "UTF-16 without a mark": (PLAIN.encode("utf-16-le"), "(byte 1 is 0x00): save it as CSV UTF-8, or convert it"),
    "a line that names the separator": (b"sep=;\narm;rate\nann;2\n", "begins with 'sep=;', which is not CSV: delete"),
    "a compressed file": (b"\x1f\x8b\x08\x00rest\xff", "t.csv is compressed: unpack it, and give the file that was in"),
    "a workbook": (b"PK\x03\x04rest", "is a workbook of a spreadsheet program: save its sheet as CSV UTF-8"),
    "no text": (b"arm\na\x00bcdefgh\n", "is not UTF-8 text (byte 5 is 0x00)"),
    "two separators": (b"arm;a,b\nann;1,x\n", "may be separated by commas or semicolons"),
    "rows of several lengths": (b"arm;a,b\nann;1\nbob,2,3\n", "several lengths, whether separated by commas or semic"),
    "a decimal comma that separates": (b"arm,rate\nann,1,5\n", "has 3 cells, but the header has 2: put cells that"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_file_that_cannot_be_read_in_one_way_is_refused_by_its_cause(case):
    data, message = UNREADABLE[case]
    with pytest.raises(UnreadableData) as caught:
        sheet_of(data, "t.csv")
    assert message in str(caught.value)


@pytest.mark.parametrize(("name", "advice"), [("t.csv", "save it as CSV UTF-8"), ("t.txt", "save it as UTF-8")])
def test_text_in_an_older_encoding_is_to_be_saved_as_what_it_is(name, advice):
    with pytest.raises(UnreadableData, match=rf"\(byte 7 is 0xe9\): {advice}, or convert it"):
        arms_of(b"arm\ncaf\xe9\n", name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]\n", "line 1 is no JSON object: each line must be one"),
        ('{"arm": "a"}\n{"arm": \n', "line 2 is no JSON object (Expecting value"),
        ("\n", "is empty, but must have a JSON object on each line"),
    ],
)
def test_what_is_no_json_lines_is_refused(text, message):
    with pytest.raises(UnreadableData) as caught:
        sheet_of(text.encode(), "t.jsonl")
    assert message in str(caught.value)


def test_a_file_without_a_header_is_not_guessed_at():
    with pytest.raises(NoHeader) as caught:
        raise sheet_of(b"ann,0.5\nbob,0.7\n", "t.csv").without("mean")
    assert caught.value.problem == "t.csv begins with ann, 0.5, but must begin with the names of its columns"
    with pytest.raises(UnreadableData, match=r"begins with 0,5, which may be one number or two"):
        sheet_of(b"0,5\n0,7\n", "t.csv", header=False)
    sheet = sheet_of(b"ann,0,5\nbob,0,7\n", "t.csv", header=False)
    with pytest.raises(UnreadableData, match="has 3 columns and no header, but must have arm, reward in this order"):
        sheet.named("arm", "reward")
    with pytest.raises(UnreadableData, match="is said to have no header, but its first line has 'arm'"):
        sheet_of(b"arm,reward\nann,5\n", "t.csv", header=False).named("arm", "reward")


# What is written


def test_what_is_written_is_read_back_by_every_reader():
    columns = ["a,b", "c\rd"]
    rows = [['say "x"', "one\rtwo"], ["one\ntwo", "one\r\ntwo"], ["", None], ["caf\xe9", 0.1]]
    text = "".join(csv_lines(columns, rows))
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    assert [*csv.reader(io.StringIO(text, newline=""))] == [columns, *texts]
    sheet = sheet_of(text.encode(), "t.csv")
    assert (sheet.columns, sheet.rows) == (columns, texts)


@pytest.mark.parametrize("cell", ["=1", "+x", "-x", "@sum(a)", "\n=1", "\tx", "\rx", "＝1", "-", "-1,234.5", "-inf"])
def test_a_cell_or_header_that_is_a_formula_is_escaped(cell):
    header, row = csv.reader(io.StringIO("".join(csv_lines([cell], [[cell]])), newline=""))
    assert header == row == [f"'{cell}"]


@pytest.mark.parametrize("cell", ["\t=1", "\r=1", "x\r=cmd|'/C calc'!A0", "x\t@sum(a)", "-x\r-y\t+z", "-x\ty\r＝1"])
def test_no_formula_is_left_where_a_reader_splits_cells_at_tabs_and_carriage_returns(cell):
    line = "".join(csv_lines([cell], [[cell]]))
    header, row = csv.reader(io.StringIO(line, newline=""))
    assert header == row
    assert header[0].replace("'", "") == cell.replace("'", "")
    assert not any(part.startswith(tuple("=+-@＝")) for part in re.split(r"[\t\r\n]", "\n".join(header)))


@pytest.mark.parametrize("cell", ["-0.5", "+1e-3", "-1,5", "a=1", "a\n- b", "a\r\n- b", "'x", " -x", -0.5, 7])
def test_numbers_and_other_text_are_not_escaped(cell):
    assert [*csv_lines(["x"], [[cell]])][1].strip('"\n') == str(cell)
