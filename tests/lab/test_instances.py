"""Instances: the paper's formulas, the embedded captions, and files good and bad."""

from pathlib import Path

import numpy as np
import pytest

from boxthirding.errors import InvalidInput, UnreadableData
from boxthirding.lab import Instance, Kumaraswamy, Votes, captions, draw, equal, from_csv, named, poly, square
from boxthirding.rng import REWARDS, spawn

CONTESTS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "nyccc"
SUMMARY = "caption,mean,votes,not_funny,somewhat_funny,funny\n"


def contest(number):
    path = CONTESTS / f"{number}.csv"
    if not path.is_file():
        pytest.skip(f"the caption-contest data set is not here: no {path.name}")
    return path


def written(folder, content):
    path = folder / "means.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(("build", "exponent"), [(poly, 0.5), (equal, 1), (square, 2)])
def test_the_papers_formulas_give_their_gaps(build, exponent):
    instance = build()
    assert instance.n_arms == 5513
    assert instance.means[0] == instance.means.max() == 0
    gaps = [3 * (i / 5513) ** exponent for i in range(5513)]
    assert instance.means[0] - instance.means == pytest.approx(gaps, rel=1e-15)
    assert (np.diff(instance.means) < 0).all()
    assert build(4).means[0] - build(4).means == pytest.approx([3 * (i / 4) ** exponent for i in range(4)], rel=1e-15)
    assert build(1).means.tolist() == [0.0]
    assert not np.signbit(instance.means[0])


def test_the_embedded_captions_are_those_of_contest_893():
    instance = captions()
    assert (instance.name, instance.n_arms, instance.source) == ("captions", 5513, "embedded")
    assert instance.means[0] == instance.means.max() == 0.5605
    assert instance.means[-1] == instance.means.min() == 0.0316
    assert np.ptp(instance.means) == pytest.approx(0.5289, abs=1e-12)
    assert (np.diff(instance.means) <= 0).all()
    assert instance.means[:4].tolist() == [0.5605, 0.5382, 0.5323, 0.5314]


def test_fewer_captions_are_the_best_ranks():
    assert (captions(128).means == captions().means[:128]).all()
    assert captions(1).means.tolist() == [0.5605]
    assert captions(5513).n_arms == 5513


@pytest.mark.parametrize("name", ["captions", "poly", "equal", "square"])
def test_instances_are_found_by_name(name):
    assert (named(name).name, named(name).n_arms) == (name, 5513)
    assert named(name, arms=7).n_arms == 7
    for arms in (0, -1, 2.5, "7"):
        with pytest.raises(InvalidInput, match=rf"arms is {arms!r}, but must be"):
            named(name, arms=arms)


def test_more_captions_than_there_are_and_unknown_names_are_refused():
    with pytest.raises(InvalidInput, match="arms is 5514, but the instance captions has 5513: give at most that many"):
        named("captions", arms=5514)
    with pytest.raises(InvalidInput, match="instance is 'cartoons', but must be one of captions, poly, equal, square"):
        named("cartoons")


def test_the_embedded_captions_are_close_to_the_contest():
    instance = from_csv(contest(893))
    assert instance.n_arms == 5513
    assert np.ptp(instance.means) == pytest.approx(0.5289, abs=5e-5)
    assert instance.means.max() == pytest.approx(0.5605, abs=5e-5)
    assert instance.labels[0] == "The seller isn't willing to come down."
    apart = np.abs(captions().means - np.sort(instance.means)[::-1])
    assert (apart[:7] < 5e-5).all()  # given rank by rank, to four digits
    assert (apart[:5024] < 0.005).all()
    assert (apart < 0.012).all()  # the worst captions bend most between the last ranks given
    assert apart.mean() < 0.001


def test_the_first_rows_of_a_contest_are_those_of_its_file():
    instance = from_csv(contest(893), top=128)
    assert instance.n_arms == len(instance.labels) == len(instance.counts) == 128
    assert instance.counts[0].tolist() == [2624, 1955, 1391]
    assert instance.means[0] == (1955 + 1391) / 5970
    assert (instance.means == from_csv(contest(893)).means[:128]).all()
    average = Votes().source(instance).means
    assert average[0] == (0.5 * 1955 + 1391) / 5970


@pytest.mark.parametrize(("number", "arms", "zeros"), [(872, 6912, 6), (830, 4930, 1)])
def test_contests_with_means_of_zero_fit_kumaraswamy_rewards(number, arms, zeros):
    instance = from_csv(contest(number))
    never = np.flatnonzero(instance.means == 0)
    assert (instance.n_arms, len(never)) == (arms, zeros)
    source = Kumaraswamy().source(instance)
    assert draw(source, int(never[0]), 10, True, spawn(0, 0, 1)[0, REWARDS]) == (0.0, 0.0)


def test_a_contest_summary_is_read_as_shares_of_votes(tmp_path):
    path = written(tmp_path, SUMMARY + '"a, b",1.5,10,5,3,2\nc,1.1,4,4,0,0\n')
    instance = from_csv(path)
    assert instance.means.tolist() == [0.5, 0.0]
    assert instance.counts.tolist() == [[5, 3, 2], [4, 0, 0]]
    assert instance.labels == ("a, b", "c")
    assert (instance.name, instance.source) == ("means", str(path))


@pytest.mark.parametrize(
    "content",
    [
        "mean\n0.5\n-3\n1e3\n",
        "\ufeffmean\r\n0.5\r\n-3\r\n1e3\r\n",
        "mean\r0.5\r-3\r1e3\r",
        "arm, mean ,\n1,0.5,\n2, -3 ,\n3,1e3,\n\n\n",
        'label,mean\n"two\nlines",0.5\ny,-3\nz,1e3',
        "votes,funny,mean\n1,1,0.5\n1,1,-3\n1,1,1e3\n",
    ],
    ids=["plain", "windows", "old-mac", "spaces", "line-in-quotes", "not-all-of-a-summary"],
)
def test_a_column_of_means_is_read_as_it_stands(tmp_path, content):
    instance = from_csv(written(tmp_path, content))
    assert instance.means.tolist() == [0.5, -3.0, 1000.0]
    assert instance.counts is None


def test_the_top_is_counted_in_rows(tmp_path):
    path = written(tmp_path, "label,mean\na,1\nb,2\nc,broken\n")
    instance = from_csv(path, top=2)
    assert (instance.means.tolist(), instance.labels) == ([1.0, 2.0], ("a", "b"))
    with pytest.raises(InvalidInput, match=r"top is 4, but .*means.csv has 3 rows: give at most that many"):
        from_csv(path, top=4)
    for top in (0, -2, 1.5):
        with pytest.raises(InvalidInput, match=f"top is {top}, but must be"):
            from_csv(path, top=top)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty, but must have a header"),
        ("\n\n", "is empty"),
        ("\ufeff", "is empty"),
        ("mean\n", "has a header and no rows, but must have one at least"),
        ("rank,average\n1,2\n", "has the columns rank, average, but must have votes, somewhat_funny, funny .* or mean"),
        ("rank;average\n1;2\n", "has the columns rank, average, but must have"),
        ("rank;mean\n1;1,234\n", "mean is '1,234', which may be 1.234 or 1234"),
        ("votes,funny\n1,1\n", "has the columns votes, funny, but must have"),
        ("mean,mean\n1,2\n", "more than one column 'mean'"),
        ("mean\n0.1\nhigh\n", r"row 2 \(line 3\): mean is 'high', but must be a finite number"),
        ("mean,x\n0.1,\n,1\n", r"row 2 \(line 3\): mean is '', but must be a finite number"),
        ("mean\n0.1\n\nnan\n", r"row 2 \(line 4\): mean is 'nan', but must be a finite number"),
        ("mean\n-inf\n", "mean is '-inf', but must be a finite number"),
        ("mean\n1e999\n", "mean is '1e999', but must be a finite number"),
        ("mean,x\n0.1\n", r"row 1 \(line 2\) has 1 cell, but the header has 2: add what is missing"),
        (
            "label,mean\na, b,0.5\n",
            "has 3 cells, but the header has 2: put cells that contain commas in quotation marks",
        ),
        ('label,mean\n"a,0.5\nb,0.6\n', "is not CSV .*: check its quotation marks"),
        (SUMMARY + "a,1,0,0,0,0\n", r"row 1 \(line 2\): votes is '0', but must be a whole number from 1"),
        (SUMMARY + "a,1,5,0,3,3\n", r"row 1 \(line 2\): votes is 5, but must be at least somewhat_funny \+ funny = 6"),
        (SUMMARY + "a,1,5,5,-1,1\n", "somewhat_funny is '-1', but must be a whole number from 0"),
        (SUMMARY + "a,1,5,4,0.5,0.5\n", "somewhat_funny is '0.5', but must be a whole number"),
        (SUMMARY + "a,1,5,4,many,1\n", "somewhat_funny is 'many', but must be a finite number"),
        (b"label,mean\nna\xefve,0.5\n", r"is not UTF-8 text \(byte 13 is 0xef\): save it as CSV UTF-8"),
    ],
)
def test_a_file_that_holds_no_means_is_refused(tmp_path, content, message):
    path = written(tmp_path, content)
    with pytest.raises(UnreadableData, match=message) as caught:
        from_csv(path)
    assert str(path) in str(caught.value)


def test_a_path_that_is_no_file_is_refused(tmp_path):
    with pytest.raises(UnreadableData, match=r"none.csv cannot be read \(No such file or directory\): give a CSV file"):
        from_csv(tmp_path / "none.csv")
    with pytest.raises(UnreadableData, match=r"cannot be read \(Is a directory\)"):
        from_csv(tmp_path)
    with pytest.raises(UnreadableData, match="cannot be read"):
        from_csv("a\0b.csv")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"means": []}, "must be one sequence with a mean for at least one arm"),
        ({"means": [[0.5]]}, r"means has the shape \(1, 1\)"),
        ({"means": 0.5}, r"means has the shape \(\)"),
        ({"means": ["a"]}, "but must be a sequence of numbers"),
        ({"means": [0.5, np.nan]}, "arm 2 has mean nan, but means must be finite"),
        ({"means": [0.5, -1e150]}, r"arm 2 has mean -1e\+150, but means must be below 1e\+150 in size: scale them"),
        ({"means": [np.inf]}, "arm 1 has mean inf"),
        ({"means": [0.5], "counts": [[1, 2]]}, r"counts has the shape \(1, 2\)"),
        ({"means": [0.5], "counts": [[0.5, 1.0, 2.0]]}, "but must be whole numbers"),
        (
            {"means": [0.5], "counts": [[0, 0, 0]]},
            r"arm 1 has counts \[0, 0, 0\], but they must be at least 0 and not all 0",
        ),
        ({"means": [0.5], "counts": [[3, -1, 0]]}, r"arm 1 has counts \[3, -1, 0\]"),
        ({"means": [0.5], "labels": ["a", "b"]}, "there are 2 labels, but must be as many as arms: 1"),
    ],
)
def test_an_instance_that_contradicts_itself_is_refused(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Instance("odd", **fields)


def test_an_instance_is_frozen_and_keeps_its_own_figures():
    means = np.array([0.5, 0.2])
    instance = Instance("own", means)
    means[0] = 9
    assert instance.means.tolist() == [0.5, 0.2]
    with pytest.raises(ValueError, match="read-only"):
        instance.means[0] = 1
