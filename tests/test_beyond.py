"""`benchmarks.beyond` refuses what it cannot measure before it measures anything."""

import pytest

import benchmarks.beyond


@pytest.fixture
def beyond(monkeypatch):
    for part in benchmarks.beyond.PARTS:
        monkeypatch.setitem(benchmarks.beyond.PARTS, part, lambda _: pytest.fail("something was measured"))
    return benchmarks.beyond


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "893.csv cannot be read (No such file or directory): give a folder with"), ("mean\n1\n", "has SHA-256")],
)
def test_a_folder_without_the_contests_is_an_error_of_one_line(beyond, tmp_path, capsys, content, words):
    if content is not None:
        (tmp_path / "893.csv").write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        beyond.main(["--data", str(tmp_path), "--seed", "3"])
    output, errors = capsys.readouterr()
    assert (ended.value.code, output, errors.count("\n")) == (1, "", 1)
    assert words in errors
