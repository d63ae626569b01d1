import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from synthetic import as_printed, evidence

from boxthirding.figures.style import rendered
from boxthirding.lab.paper.figures.regret import COLUMNS, table_figure, table_rows
from boxthirding.lab.paper.figures.screening import split_figure
from boxthirding.lab.paper.page import sections
from boxthirding.lab.paper.printed import TABLES

PICTURES = {one.key: one for part in sections(evidence()).values() for one in part}


def test_every_figure_and_table_that_was_promised_is_there():
    captions = ("gaussian-0.5", "gaussian-0.2", "none", "bernoulli", "kumaraswamy")
    expected = {"instances", "remedian", "arrange", "levels", "candidates", "table-128", "table-1024"}
    expected |= {f"regret-captions-{rewards}" for rewards in captions} | {f"boxes-captions-{r}" for r in captions}
    expected |= {f"regret-{gaps}" for gaps in ("poly", "equal", "square")}
    expected |= {f"split-captions-gaussian-{s}-eps-{eps}" for s in ("0.5", "0.2") for eps in ("0.1", "0.2")}
    assert set(PICTURES) == expected


@pytest.mark.parametrize("key", ["remedian", "arrange", "levels", "candidates", "table-128", "boxes-captions-none"])
def test_a_figure_is_drawn_the_same_each_time(key):
    one, other = (rendered(PICTURES[key].draw(), "svg") for _ in range(2))
    assert one == other
    ET.fromstring(one)  # noqa: S314  # our own file: is it well-formed?
    assert rendered(PICTURES[key].draw(), "png").startswith(b"\x89PNG")


@pytest.mark.parametrize("key", PICTURES)
def test_a_figure_has_a_caption_and_data_of_one_shape(key):
    picture = PICTURES[key]
    assert picture.title
    assert picture.caption.endswith((".", ")"))
    assert picture.rows
    assert {len(row) for row in picture.rows} == {len(picture.columns)}


def test_a_regret_figure_names_the_policies_and_ranks_them_in_its_caption():
    svg = rendered(PICTURES["regret-poly"].draw(), "svg").decode()
    for name in ("B3", "US", "BUCB", "BSH"):
        assert f"<!-- {name} -->" in svg
    assert "from best to worst, B3 0.0427, " in PICTURES["regret-poly"].caption


def test_the_remedian_is_computed():
    assert [row[-1] for row in PICTURES["remedian"].rows] == [2.8, 5.3, 4.8]
    assert "median of these is 4.8" in PICTURES["remedian"].caption


def test_a_table_has_ours_the_paper_s_and_the_difference_in_standard_errors():
    row = dict(zip(COLUMNS, table_rows(evidence(), TABLES[0])[0], strict=True))
    assert (row["policy"], row["knows_budget"], row["paper_mean"], row["paper_q25"]) == ("b3", "no", 0.049, 0.029)
    assert row["regret_mean"] == pytest.approx(0.049)
    assert abs(row["difference_in_se"]) < 1
    assert table_rows(evidence(), TABLES[0])[-1][6:] == ["", "", "", ""]


def test_a_table_s_caption_says_which_rows_come_out_as_printed():
    def worse(case, policy, pulls):
        changes = {"bsh": 0.2, "bucb:delta=0.1": 0.01}
        return changes.get(policy, as_printed(case, policy, pulls)) if case == "table-128" else 0.1

    caption = table_figure(evidence(worse), TABLES[0]).caption
    assert "BUCB come out clearly better than printed" in caption
    assert "BSH come out clearly worse than printed" in caption
    assert "B3, SH, r₀ = 1.7, SH, r₀ = 2 and UCB-E come out as printed" in caption


def test_of_too_few_replicates_a_caption_does_not_judge_the_rows():
    world = evidence()
    few = replace(world, cases={key: replace(case, replicates=2) for key, case in world.cases.items()})
    caption = table_figure(few, TABLES[0]).caption
    assert "2 replicates are too few to say which rows come out as printed." in caption
    assert "clearly" not in caption


def test_the_split_of_errors_stands_in_its_data():
    picture = split_figure(evidence(), "captions-gaussian-0.5", 0.1)
    assert picture.rows[0] == ["b3", 10_000, 0.3, 0.3, 0.1]
