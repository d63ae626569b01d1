"""Tables of other people: what is understood, what is refused and by which cause, and at what cost."""

import pytest

from boxthirding import NoHeader, UnreadableData
from boxthirding._sheets import first_repeated
from boxthirding._tables import read_sheet, sheet_of
from boxthirding.runs.inputs import arms_of


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


# What is understood


def rows_of(text, name="t.csv", **settings):
    sheet = sheet_of(text if isinstance(text, bytes) else text.encode(), name, **settings)
    return sheet.columns, [sheet.texts(row) for row in range(len(sheet.rows))]


PLAIN = "arm,rate,note\nann,1.5,x\nbob,0.25,\n"

SAME = {
    "a byte-order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "UTF-16, little end first": PLAIN.encode("utf-16"),
    "UTF-16, big end first": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "UTF-16 without a mark": PLAIN.encode("utf-16-le"),
    "UTF-16 without a mark, big end first": PLAIN.encode("utf-16-be"),
    "UTF-32": PLAIN.encode("utf-32"),
    "semicolons": PLAIN.replace(",", ";"),
    "tabs": PLAIN.replace(",", "\t"),
    "tabs in UTF-16, as spreadsheets save Unicode text": PLAIN.replace(",", "\t").encode("utf-16"),
    "line ends of Windows": PLAIN.replace("\n", "\r\n"),
    "line ends of old Macs": PLAIN.replace("\n", "\r"),
    "decimal commas": "arm;rate;note\nann;1,5;x\nbob;0,25;\n",
    "decimal commas in quotation marks": 'arm;rate;note\nann;"1,5";x\nbob;"0,25";\n',
    "a line that names the separator": "sep=;\narm;rate;note\nann;1,5;x\nbob;0,25;\n",
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
    "points between thousands": (["1.234,5", "0,5"], [1234.5, 0.5]),
    "spaces between thousands": (["1 234,5", "1\u00a0234,5"], [1234.5, 1234.5]),
    "exponents and signs": (["-1,5e3", "+0,5"], [-1500.0, 0.5]),
    "points": (["1.234", "1234"], [1.234, 1234.0]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_with_decimal_commas_are_read(case):
    cells, numbers = NUMBERS[case]
    sheet = sheet_of(("v;w\n" + "".join(f"{cell};x\n" for cell in cells)).encode(), "t.csv")
    assert [sheet.number(row, "v") for row in range(len(cells))] == numbers


def test_a_comma_that_must_be_decimal_decides_for_the_whole_file():
    sheet = sheet_of(b"a;b\n1,234;0,5\n", "t.csv")
    assert (sheet.number(0, "a"), sheet.number(0, "b")) == (1.234, 0.5)


def test_text_with_commas_stays_text():
    columns, rows = rows_of('arm;doses\nann;"1,5"\nbob;"1,5 and 2,5"\n')
    assert (columns, [row["doses"] for row in rows]) == (["arm", "doses"], ["1,5", "1,5 and 2,5"])
    assert rows_of("caption\nno\nyes\n")[1] == [{"caption": "no"}, {"caption": "yes"}]


LISTS = {
    "commas separate cells": 'arm,layers\na,"64,32"\nb,"128,64"\n',
    "commas separate cells, one column": 'layers\n"64,32"\n"128,64"\n',
    "decimal points elsewhere": "arm;rate;layers\na;0.5;64,32\nb;2;128,64\n",
    "decimal points elsewhere in JSON": '{"rate": 0.001, "layers": "64,32"}\n{"rate": 0.1, "layers": "128,64"}\n',
}


@pytest.mark.parametrize("case", LISTS)
def test_a_list_of_numbers_stays_text_where_its_comma_need_not_be_decimal(case):
    _, rows = rows_of(LISTS[case], "t.jsonl" if "JSON" in case else "t.csv")
    assert [row["layers"] for row in rows] == ["64,32", "128,64"]


def test_a_number_in_quotation_marks_is_read_where_a_number_must_stand():
    sheet = sheet_of(b'arm,reward\na,"1,5"\nb,"0,25"\n', "t.csv")
    assert [sheet.number(row, "reward") for row in (0, 1)] == [1.5, 0.25]
    with pytest.raises(UnreadableData, match=r"reward is '1,234', which may be 1\.234 or 1234"):
        sheet_of(b'arm,reward\na,"1,234"\n', "t.csv").number(0, "reward")


def test_a_number_that_is_not_known_does_not_make_a_column_text():
    cells = [row["rate"] for row in rows_of("arm;rate\nann;1,5\nbob;n/a\ncid;-\ndoe;\neve;-2,5\n")[1]]
    assert cells == ["1.5", "n/a", "-", "", "-2.5"]


def test_one_column_of_decimal_commas_needs_no_separator():
    assert rows_of("mean\n0,5\n0,75\n")[1] == [{"mean": "0.5"}, {"mean": "0.75"}]


def test_a_file_without_a_header_has_its_columns_named_by_the_reader():
    sheet = sheet_of(b"ann;0,5;x\nbob;0,75;y\n", "t.csv", header=False)
    assert sheet.columns == ["1", "2", "3"]
    assert sheet.named("arm", more=True).columns == ["arm", "2", "3"]
    assert sheet.named("arm", more=True).number(0, "2") == 0.5


def test_arms_need_no_file():
    arms = arms_of("arm;rate\nann;1,5\n".encode("utf-16"), "upload.csv")
    assert arms == [{"arm": "ann", "rate": "1.5"}]
    assert arms_of(b"ann\nbob\n", "upload.txt") == [{"arm": "ann"}, {"arm": "bob"}]


# What is refused, and by which cause


REFUSED = {
    "thousands or decimals": (b"v;w\n1,234;x\n", "v is '1,234', which may be 1.234 or 1234"),
    "commas between thousands": (b"v;w\n1,234.5;x\n", "with commas between thousands: write 1234.5"),
    "millions": (b"v;w\n1,234,567;x\n", "with commas between thousands: write 1234567"),
    "points that may be thousands": (b"v;w\n1.234;0,5\n", "v is '1.234', which may be 1.234 or 1234"),
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
    "another encoding": (b"arm\ncaf\xe9\n", "byte 7 is 0xe9), but probably in an older encoding such as Windows-1252"),
    "half a character of UTF-16": (b"\xff\xfea\x00b", "marked as UTF-16, but byte 4 is not"),
    "a compressed file": (b"\x1f\x8b\x08\x00rest\xff", "t.csv is compressed: unpack it, and give the file that was in"),
    "a workbook": (b"PK\x03\x04rest", "is a workbook of a spreadsheet program: save its sheet as CSV UTF-8"),
    "no text": (b"arm\na\x00bcdefgh\n", "is no text: there is a zero at character 5"),
    "two separators": (b"arm;a,b\nann;1,x\n", "may be separated by commas or semicolons"),
    "rows of several lengths": (b"arm;a,b\nann;1\nbob,2,3\n", "several lengths, whether separated by commas or semic"),
    "a decimal comma that separates": (b"arm,rate\nann,1,5\n", "has 3 cells, but the header has 2: put text that"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_file_that_cannot_be_read_in_one_way_is_refused_by_its_cause(case):
    data, message = UNREADABLE[case]
    with pytest.raises(UnreadableData) as caught:
        sheet_of(data, "t.csv")
    assert message in str(caught.value)


@pytest.mark.parametrize(("name", "advice"), [("t.csv", "save it as CSV UTF-8"), ("t.txt", "save it as UTF-8")])
def test_text_in_an_older_encoding_is_to_be_saved_as_what_it_is(name, advice):
    with pytest.raises(UnreadableData, match=f"Windows-1252: {advice}$"):
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
