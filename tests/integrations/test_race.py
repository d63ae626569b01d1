"""`race`: a final for candidates from a list, a table or a file, whose scores are known or not."""

import random

import pandas as pd
import pytest

from boxthirding.errors import InvalidInput, UnreadableData
from boxthirding.integrations import Candidates, from_table, race

QUIET = {"progress": False}


# Lists, with a metric and a validation set


def test_prompts_are_raced_by_a_metric_on_a_validation_set():
    right = {"brief": 0.5, "long": 0.9, "odd": 0.1}
    draw = random.Random(1)
    answers = {(prompt, case): draw.random() < share for prompt, share in right.items() for case in range(40)}
    seen = []

    def metric(prompt, case):
        seen.append((prompt, case))
        return answers[prompt, case]

    found = race(list(right), metric, examples=range(40), budget=90, **QUIET)
    assert found.best == "long"
    assert len(set(seen)) == len(seen)  # a pair of prompt and case is evaluated once
    assert len(found.confirm(2, pulls=5).arms) == 2


def test_programs_are_raced_as_they_are():
    found = race([abs, float, bool], lambda program: program(-3), budget=12, **QUIET)
    assert found.best is abs


# Tables


def test_rows_with_the_same_parameters_are_one_candidate():
    rows = [{"rate": 0.1, "depth": 3, "score": 1.0}, {"rate": 0.2, "depth": 3, "score": 2.0}]
    candidates = from_table([*rows, {"rate": 0.1, "depth": 3, "score": 3.0}, {"rate": 0.3, "depth": 1, "score": None}])
    assert candidates.arms == {
        0: {"rate": 0.1, "depth": 3},
        1: {"rate": 0.2, "depth": 3},
        3: {"rate": 0.3, "depth": 1},
    }
    assert candidates.known == {0: [1.0, 3.0], 1: [2.0]}


def test_a_file_gives_numbers_and_texts_and_empty_scores_are_unknown(tmp_path):
    path = tmp_path / "tried.csv"
    path.write_text("model,rate,accuracy\nsmall,0.1,0.5\nsmall,0.1,0.7\nlarge,2,\n", encoding="utf-8")
    candidates = from_table(path, score="accuracy")
    assert candidates.arms == {0: {"model": "small", "rate": 0.1}, 2: {"model": "large", "rate": 2}}
    assert candidates.known == {0: [0.5, 0.7]}
    assert len(candidates) == 2


def test_a_score_of_nan_in_a_file_is_unknown(tmp_path):
    path = tmp_path / "tried.csv"
    path.write_text("x,score\n1,0.5\n2,nan\n3, NaN\n", encoding="utf-8")
    candidates = from_table(path)
    assert list(candidates.arms) == [1, 2, 3]
    assert candidates.known == {1: [0.5]}


def test_numbers_with_zeros_before_them_are_texts(tmp_path):
    path = tmp_path / "tried.csv"
    path.write_text("agent,rate,score\n007,0.10,00.5\n7,0.1,0.7\n", encoding="utf-8")
    candidates = from_table(path)
    assert list(candidates.arms.values()) == [{"agent": "007", "rate": 0.1}, {"agent": "7", "rate": 0.1}]
    assert candidates.known == {0: [0.5], 1: [0.7]}


def test_one_column_beside_the_score_is_the_candidate_itself(tmp_path):
    path = tmp_path / "prompts.csv"
    path.write_text("prompt,score\nBe brief.,0.5\nThink.,0.7\n", encoding="utf-8")
    assert from_table(path) == Candidates(
        {"Be brief.": "Be brief.", "Think.": "Think."}, {"Be brief.": [0.5], "Think.": [0.7]}
    )
    assert list(from_table([{"x": 1, "score": 0}, {"x": 0.5, "score": 0}]).arms.items()) == [(0, 1), (1, 0.5)]


def test_a_data_frame_is_a_table():
    frame = pd.DataFrame(
        {"x": [1, 2, 2], "y": ["a", "b", "b"], "score": [0.5, float("nan"), 0.25]}, index=["p", "q", "r"]
    )
    candidates = from_table(frame, direction="minimize")
    assert candidates.arms == {0: {"x": 1, "y": "a"}, 1: {"x": 2, "y": "b"}}
    assert candidates.known == {0: [0.5], 1: [0.25]}
    assert race(candidates, lambda arm: arm["x"], budget=9, **QUIET).best == {"x": 1, "y": "a"}


def test_known_scores_count_and_a_lucky_one_wears_off():
    draw = random.Random(5)
    candidates = from_table([{"true": k / 20, "score": 5.0 if k == 2 else k / 20} for k in range(20)])
    found = race(candidates, lambda true: true + draw.gauss(0, 1), budget=600, seed=1, **QUIET)
    assert found.session.view().pulls == 620
    assert found.best >= 0.75


def test_a_race_resumes_from_a_study_without_taking_known_scores_twice(tmp_path):
    candidates = from_table([{"x": k, "score": float(k)} for k in range(5)])
    for budget in (10, 25):
        found = race(candidates, float, budget=budget, study=tmp_path / "race.db", **QUIET)
        assert found.session.view().pulls == budget + 5


# Bad input


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([], "no rows"),
        ([{"x": 1}], "row 0 of the table has the columns x, but must have 'score': name the one"),
        ([{"score": 1}], "no column but 'score'"),
        ([{"x": 1, "score": "high"}], "row 0 of the table: score is 'high', but must be a finite number"),
        ([{"x": 1, "score": float("inf")}], "score is inf, but must be a finite number"),
        (3, "the table is of type int, but must be a path, a DataFrame or a list of dictionaries"),
        ([1, 2], "the table is of type list, but must be a path, a DataFrame or a list of dictionaries"),
    ],
)
def test_a_table_that_is_none_is_refused(table, words):
    with pytest.raises(InvalidInput, match=words):
        from_table(table)


def test_a_file_is_refused_by_its_line(tmp_path):
    path = tmp_path / "tried.csv"
    path.write_text("x,score\n1,0.5\n2,good\n", encoding="utf-8")
    with pytest.raises(UnreadableData, match=r"row 2 \(line 3\): score is 'good', but must be a finite number"):
        from_table(path)
    with pytest.raises(UnreadableData, match="must have a column 'loss', or the one that score= names"):
        from_table(path, score="loss")


def test_another_direction_than_the_candidates_come_with_is_refused():
    candidates = Candidates({"a": 1, "b": 2}, {}, "minimize")
    with pytest.raises(InvalidInput, match="direction is 'maximize', but the candidates come with 'minimize'"):
        race(candidates, float, budget=5, direction="maximize", **QUIET)
