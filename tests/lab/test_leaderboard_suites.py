"""Suites: what they hold, what a folder of contests adds to them, and what was kept apart."""

import hashlib

import numpy as np
import pytest

from boxthirding.errors import InvalidInput, UnreadableData
from boxthirding.lab.instances import CONTESTS
from boxthirding.lab.leaderboard.suites import SUITES, Group, missing_contests, problems_of, suite_named

TEXT = "\n".join(["votes,somewhat_funny,funny", *(f"100,{k % 40},{k % 7}" for k in range(1_100)), ""])


@pytest.fixture
def contests(tmp_path, monkeypatch):
    """Make a folder with some contests, far smaller than the real ones, and taken for them."""

    def make(*numbers):
        for number in numbers:
            (tmp_path / f"{number}.csv").write_bytes(TEXT.encode())
            monkeypatch.setitem(CONTESTS, number, hashlib.sha256(TEXT.encode()).hexdigest())
        return tmp_path

    return make


def cells(name, data=None):
    return [cell for problem in problems_of(suite_named(name), data) for cell in problem.cells]


def count(found):
    return {group: sum(cell.group is group for cell in found) for group in Group}


def test_the_standard_suite_has_52_cells_and_with_contests_122(contests):
    assert count(cells("standard")) == {Group.NOISY: 25, Group.QUIET: 10, Group.BOUNDED: 15, Group.RICH: 2}
    data = contests(*CONTESTS)
    assert count(cells("standard", data)) == {Group.NOISY: 75, Group.QUIET: 30, Group.BOUNDED: 15, Group.RICH: 2}


@pytest.mark.parametrize("name", list(SUITES))
def test_no_cell_stands_in_a_suite_twice(name, contests):
    found = cells(name, contests(*CONTESTS))
    assert len(set(found)) == len(found)


def test_what_was_held_out_is_not_in_the_selection(contests):
    data = contests(*CONTESTS)
    chosen, held_out = cells("selection", data), cells("heldout", data)
    assert not {(cell.arms, cell.rewards, cell.budget) for cell in chosen} & {
        (cell.arms, cell.rewards, cell.budget) for cell in held_out
    }
    assert {cell.arms for cell in chosen} == {
        "contest 893",
        "contest 893, top 128",
        "contest 893, top 1,024",
        "poly",
        "equal",
    }
    assert "votes" not in {cell.rewards for cell in chosen}
    assert {"contest 872", "contest 830", "square"} <= {cell.arms for cell in held_out}


def test_captions_are_contest_893_where_it_is_at_hand(contests):
    embedded, real = problems_of(suite_named("selection")), problems_of(suite_named("selection"), contests("893"))
    assert len(embedded) == len(real)
    assert (embedded[0].arms.title, embedded[0].instance.n_arms) == ("captions", 5_513)
    assert (real[0].arms.title, real[0].instance.n_arms) == ("contest 893", 1_100)
    assert np.array_equal(real[-1].instance.means, real[0].instance.means[:1_024])


def test_contests_that_are_not_at_hand_are_left_out_and_named(contests):
    suite = suite_named("standard")
    assert missing_contests(suite, problems_of(suite)) == ["872", "830"]
    data = contests("872")
    problems = problems_of(suite, data)
    assert missing_contests(suite, problems) == ["830"]
    assert {"captions", "contest 872"} <= {problem.arms.title for problem in problems}


def test_a_folder_without_a_contest_is_refused(tmp_path):
    with pytest.raises(UnreadableData, match=r"none of 893\.csv, 872\.csv, 830\.csv: give one that has"):
        problems_of(suite_named("standard"), tmp_path)


@pytest.mark.parametrize("number", CONTESTS)
def test_a_file_that_is_not_the_contest_of_its_name_is_refused(tmp_path, number):
    (tmp_path / f"{number}.csv").write_text(TEXT, encoding="utf-8")
    with pytest.raises(UnreadableData, match=rf"{number}\.csv has SHA-256 .* but must have SHA-256 {CONTESTS[number]}"):
        problems_of(suite_named("standard"), tmp_path)


def test_an_unknown_suite_is_refused():
    with pytest.raises(InvalidInput, match="suite is 'mine', but must be one of standard, selection, heldout"):
        suite_named("mine")


def test_every_group_says_what_it_is():
    assert all(group.meaning for group in Group)
