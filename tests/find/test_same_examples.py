"""A study knows its examples: others are refused, and a shuffled list is the same."""

import random
from collections import Counter

import numpy as np
import pytest
from processes import Listening
from stories import QUIET

from boxthirding import Session, StudyDiffers, open_study
from boxthirding.client import RemoteStudy
from boxthirding.find import Examples, find_best

TEXTS = [f"What is {number} + {number}?" for number in range(12)]
OTHERS = [*TEXTS[:7], "What is 6 - 7?", *TEXTS[8:]]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = Listening(tmp_path_factory.mktemp("served") / "studies.db")
    yield one
    one.close()


@pytest.fixture(params=["file", "server", "study", "session"])
def search(request, tmp_path):
    """Return `find_best` with a study that stays the same from call to call."""
    made = {"arms": 5, "policy": "us", "examples": 12}
    if request.param == "file":
        study, options = str(tmp_path / "run.db"), {"policy": "us"}
    elif request.param == "server":
        server = request.getfixturevalue("server")
        study, options = RemoteStudy(server.url(f"study {next(_numbers)}"), server.key, **made), {}
    elif request.param == "study":
        study, options = open_study(tmp_path / "run.db", **made), {}
    else:
        study, options = Session(**made), {}
    yield lambda evaluate, examples, budget: find_best(
        5 if options else None, evaluate, budget=budget, examples=examples, study=study, **options, **QUIET
    )
    if hasattr(study, "close"):
        study.close()


_numbers = iter(range(1000))


def never(*_):
    pytest.fail("evaluated")


class Question:
    """An example that is no JSON."""

    def __init__(self, text):
        self.text = text


KINDS = {"text": str, "object": Question, "array": np.array, "dictionary": lambda text: {"question": text, "level": 1}}


@pytest.mark.parametrize("kind", KINDS)
def test_other_examples_are_refused_and_the_first_of_them_is_named(search, kind):
    of = KINDS[kind]
    search(lambda *_: 0.5, [*map(of, TEXTS)], 20)
    with pytest.raises(StudyDiffers) as refused:
        search(never, [*map(of, OTHERS)], 40)
    said = str(refused.value)
    assert "example 7 is" in said
    assert "is none of those that the study was made with, so results on different examples would be mixed" in said
    assert kind in ("object", "array") or "'What is 6 - 7?'" in said
    search(lambda *_: 0.5, [*map(of, TEXTS)], 25)


def test_results_on_an_example_belong_to_it_after_a_shuffle(search):
    calls = Counter()

    def evaluate(arm, example):
        calls[arm, example] += 1
        return TEXTS.index(example) / 12 + (arm == 3)

    search(evaluate, TEXTS, 20)
    for seed in range(3):
        shuffled = random.Random(seed).sample(TEXTS, 12)
        found = search(evaluate, shuffled, 30 + 10 * seed)
    found = search(evaluate, TEXTS[::-1], 1000)
    assert found.stopped == "known"
    assert max(calls.values()) == 1
    best = found.session.recommend()
    assert (best.label, best.pulls, best.mean) == (3, 12, pytest.approx(1 + 11 / 24))


def test_examples_with_another_seed_of_their_own_are_the_same_ones(search):
    calls = Counter()

    def evaluate(arm, example):
        calls[arm, example] += 1
        return 0.5

    search(evaluate, Examples(TEXTS, seed=1), 20)
    search(evaluate, Examples(TEXTS, seed=2), 1000)
    assert max(calls.values()) == 1


def test_known_results_name_examples_by_their_place_in_the_list_that_is_given(tmp_path):
    study = str(tmp_path / "run.db")
    options = {"study": study, "policy": "us", **QUIET}
    find_best(5, lambda *_: 0.5, budget=10, examples=TEXTS, seed=7, **options)
    calls = Counter()

    def evaluate(arm, example):
        calls[arm, example] += 1
        return 0.5

    known = {0: dict.fromkeys(range(6), 0.5)}
    found = find_best(5, evaluate, budget=1000, examples=TEXTS[::-1], known=known, **options)
    assert found.stopped == "known"
    assert max(calls.values()) == 1
    assert {example for arm, example in calls if arm == 0} <= {*TEXTS[:6]}


def test_examples_that_may_be_repeated_are_the_same_ones_too(tmp_path):
    options = {"study": str(tmp_path / "run.db"), **QUIET}
    find_best(5, lambda *_: 0.5, budget=20, examples=Examples(TEXTS, repeat=True), **options)
    find_best(5, lambda *_: 0.5, budget=25, examples=Examples(TEXTS[::-1], repeat=True), **options)
    with pytest.raises(StudyDiffers, match=r"example 7 is 'What is 6 - 7\?', which is none"):
        find_best(5, never, budget=40, examples=Examples(OTHERS, repeat=True), **options)
    with pytest.raises(
        StudyDiffers, match=r"the study was made with 'What is 11 \+ 11\?', which is none of the 11 exa"
    ):
        find_best(5, never, budget=40, examples=Examples(TEXTS[:-1], repeat=True), **options)
    with pytest.raises(StudyDiffers, match=r"example 12 is 'What is 0 \+ 0\?', but the study was made with it once"):
        find_best(5, never, budget=40, examples=Examples([*TEXTS, TEXTS[0]], repeat=True), **options)
    with pytest.raises(StudyDiffers, match=r"the study was made with 12 examples, but got none"):
        find_best(5, lambda _: never(), budget=40, **options)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (TEXTS[:-1], "the study was made with 'What is 11 + 11?', which is none of the 11 examples given"),
        ([*TEXTS, "What is 12 + 12?"], "example 12 is 'What is 12 + 12?', which is none of those"),
        ([*TEXTS, TEXTS[3]], "example 12 is 'What is 3 + 3?', but the study was made with it once"),
    ],
)
def test_of_another_number_of_examples_the_one_that_is_missing_or_too_many_is_named(search, given, problem):
    search(lambda *_: 0.5, TEXTS, 20)
    with pytest.raises(StudyDiffers) as refused:
        search(never, given, 40)
    said = str(refused.value)
    assert problem in said
    assert "so results on different examples would be mixed; give the same examples, in any order" in said
    assert "arms" not in said
    search(lambda *_: 0.5, TEXTS, 25)


def test_two_examples_that_are_alike_are_two():
    study = open_study("memory:alike", arms=3, examples=4)
    find_best(None, lambda *_: 0.5, budget=5, examples=["a", "b", "a", "c"], study=study, **QUIET)
    find_best(None, lambda *_: 0.5, budget=6, examples=["c", "a", "a", "b"], study=study, **QUIET)
    with pytest.raises(StudyDiffers, match="example 2 is 'b', but the study was made with it once"):
        find_best(None, never, budget=9, examples=["a", "b", "b", "c"], study=study, **QUIET)


def test_what_the_examples_are_survives_a_snapshot(tmp_path, monkeypatch):
    monkeypatch.setattr("boxthirding.study.transactions.LEAST", 30)
    options = {"study": str(tmp_path / "run.db"), **QUIET}
    find_best(5, lambda *_: 0.5, budget=40, examples=TEXTS, **options)
    with open_study(tmp_path / "run.db") as study:
        assert study._transactions.journal.snapshots()
    with pytest.raises(StudyDiffers, match="example 7 is"):
        find_best(5, never, budget=50, examples=OTHERS, **options)
