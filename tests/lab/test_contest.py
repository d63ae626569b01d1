import hashlib

import pytest

from boxthirding.errors import UnreadableData
from boxthirding.lab.instances import CONTESTS
from boxthirding.lab.paper.cases import Captions

FILE = "893.csv"

SMALL = "caption,mean,votes,not_funny,somewhat_funny,funny\na,1,10,2,4,4\nb,1,10,6,3,1\nc,1,10,9,1,0\n"


def test_without_a_folder_the_captions_are_the_embedded_ones():
    found = Captions.found_in(None)
    assert found.instance().source == "embedded"
    assert (found.instance().n_arms, found.instance(128).n_arms) == (5_513, 128)
    assert "embedded stand-in" in found.description


def test_a_file_with_the_right_hash_is_the_contest_in_the_file_s_order(tmp_path, monkeypatch):
    (tmp_path / FILE).write_text(SMALL, encoding="utf-8")
    monkeypatch.setitem(CONTESTS, "893", hashlib.sha256(SMALL.encode()).hexdigest())
    found = Captions.found_in(tmp_path)
    assert found.instance().means.tolist() == [0.8, 0.4, 0.1]
    assert found.instance(2).means.tolist() == [0.8, 0.4]
    assert "real New Yorker caption contest 893" in found.description


def test_another_file_is_refused_with_both_hashes_its_columns_and_what_to_do(tmp_path):
    (tmp_path / FILE).write_text(SMALL, encoding="utf-8")
    with pytest.raises(UnreadableData) as refusal:
        Captions.found_in(tmp_path)
    message = str(refusal.value)
    for text in (CONTESTS["893"], hashlib.sha256(SMALL.encode()).hexdigest(), "caption,mean,votes", "leave --data out"):
        assert text in message


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00binary"])
def test_a_file_that_is_no_contest_at_all_is_refused_in_the_same_way(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(UnreadableData, match="must have SHA-256"):
        Captions.found_in(tmp_path)


def test_a_folder_without_the_file_is_refused(tmp_path):
    with pytest.raises(UnreadableData, match=r"893.csv cannot be read \(No such file.*embedded captions"):
        Captions.found_in(tmp_path)
