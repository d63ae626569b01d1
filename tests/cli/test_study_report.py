"""`boxthirding study report`: one file to hand on."""

import pytest
from invoking import done, refused

from boxthirding import open_study
from boxthirding.storage.opening import shelf
from boxthirding.storage.server_records import StoredRecord

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def place(tmp_path):
    """Return a database with a study whose arm has a picture, as a server keeps it."""
    path = tmp_path / "contest.db"
    with open_study(str(path), arms={"a": {"text": "A cat", "picture": "1" * 32}}) as study:
        study.tell(study.ask()[0], 1.0)
    records = shelf(str(path)).records()
    records.put("picture", StoredRecord("1" * 32, 0.0, PNG))
    records.close()
    return path


def test_it_writes_a_page_with_the_picture(place, tmp_path):
    out = tmp_path / "report.html"
    assert done("report", place, "--out", out) == f"Wrote {out}: open it in a browser.\n"
    text = out.read_text()
    assert text.startswith("<!doctype html>")
    assert "A cat" in text
    assert "data:image/png;base64," in text


def test_a_file_that_is_there_is_kept_unless_forced(place, tmp_path):
    out = tmp_path / "report.html"
    out.write_text("mine")
    assert "--force" in refused("report", place, "--out", out)
    assert out.read_text() == "mine"
    done("report", place, "--out", out, "--force")
    assert "A cat" in out.read_text()


def test_another_kind_of_file_is_refused(place, tmp_path):
    assert "must end in .html" in refused("report", place, "--out", tmp_path / "report.pdf")
    assert "must end in .html" in refused("report", place, "--out", place)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".pdf"] == []


def test_a_study_of_a_server_is_refused(tmp_path):
    assert "needs the database" in refused("report", "http://127.0.0.1:9/#x", "--out", tmp_path / "report.html")
