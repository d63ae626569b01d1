"""Whether the answer could still change, in words."""

import pytest

from boxthirding import Session
from boxthirding.find.intervals import ScoreNoise, spread_of
from boxthirding.find.summary import certainty


def told(results, arms=None, **settings):
    """Return what is said after results by arm, known without tickets, and the names of the top arms."""
    session = Session(list(results) + list(arms or ()), known=results, **settings)
    view = session.view()
    labels = [arm.label for arm in view.top]
    return certainty(view, ScoreNoise(session.spread(labels)), [str(label) for label in labels])


def test_before_the_first_result():
    assert told({}, ["a"]).words == "There is no answer before the first result."


def test_with_too_few_results():
    said = told({"a": [1.0], "b": [0.0]})
    assert (said.is_clear, said.words) == (
        False,
        "It could change with every result: there are too few yet.",
    )


def test_a_clear_lead():
    said = told({"a": [0.9, 1.0, 1.1] * 10, "b": [0.0, 0.1, 0.2] * 10})
    assert (said.is_clear, said.close) == (True, ())
    assert said.words == "It leads the next arm by more than noise explains."


def test_a_clear_lead_over_those_that_were_tried():
    said = told({"a": [0.9, 1.0, 1.1] * 10, "b": [0.0, 0.1, 0.2] * 10}, ["c", "d"])
    assert said.words.endswith("2 arms were not tried yet, and could be better.")


def test_arms_that_are_withdrawn_are_not_among_those_that_were_not_tried():
    session = Session(list("abcde"), known={"a": [0.9, 1.0, 1.1] * 10, "b": [0.0, 0.1, 0.2] * 10, "c": [0.0, 0.1] * 9})
    session.withdraw("c")
    session.withdraw("d")
    said = certainty(session.view(), ScoreNoise(session.spread("ab")), "ab")
    assert said.words.endswith(" 1 arm was not tried yet, and could be better.")


def test_close_ones_are_named():
    said = told({"a": [0.0, 1.0, 1.0] * 5, "b": [0.0, 1.0, 1.0, 0.0] * 5, "c": [-9.0, -8.0] * 5})
    assert [arm.label for arm in said.close] == ["b"]
    assert said.words == "It could still change: “b” may be as good or better."


def test_many_close_ones_are_counted():
    said = told({name: [0.0, 1.0] * 5 for name in "abcd"})
    assert said.words == "It could still change: each of the next 3 arms may be as good or better."


def test_all_top_arms_are_looked_at_and_the_words_say_where_there_may_be_more():
    said = told({name: [0.0, 1.0] * 5 for name in "abcdefghij"})
    assert len(said.close) == 9
    assert said.words == "It could still change: each of the next 9 arms may be as good or better."
    said = told({name: [0.0, 1.0] * 5 for name in "abcdefghijkl"})
    assert said.words == "It could still change: each of the next 9 arms, and perhaps more, may be as good or better."
    far = {"b": [0.0, 1.0] * 5, **{name: [-9.0, -8.0] * 5 for name in "cdefghijkl"}}
    said = told({"a": [0.0, 1.0, 1.0] * 5, **far, "m": [0.0, 1.0] * 5, "n": [0.0, 1.0] * 5})
    assert said.words == "It could still change: 3 of the next 9 arms may be as good or better."


def test_smaller_may_be_better():
    said = told({"a": [0.9, 1.0, 1.1] * 10, "b": [0.0, 0.1, 0.2] * 10}, direction="minimize")
    assert said.is_clear


def test_without_noise_the_mean_is_exact():
    said = told({"a": [1.0] * 6, "b": [0.5] * 6})
    assert said.words == "Results of the same arm did not differ in 10 repeats: if they never do, its mean is exact."
    assert said.is_clear


def test_without_noise_an_equal_arm_is_as_good():
    said = told({"a": [0.0] * 6, "b": [0.0] * 6})
    assert (said.is_clear, len(said.close)) == (False, 1)


@pytest.mark.parametrize("label", ["a", "b"])
def test_the_noise_of_a_session_is_that_of_its_results(label):
    results = {"a": [1.0, 3.0, 2.0, 2.5], "b": [0.5, 0.6, 0.4, 1.0, 2.0]}
    session = Session(list(results), known=results)
    arm = next(arm for arm in session.top(2) if arm.label == label)
    low, high = ScoreNoise(session.spread(results)).of(arm)
    assert (low, high) == pytest.approx(ScoreNoise(spread_of(results)).of(arm))
    assert low < arm.mean < high
