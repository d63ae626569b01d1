"""A study with a scale accepts the rewards on it and no others; once there are ratings, its rewards stay."""

import pytest
from keeping import Place

from boxthirding import InvalidInput, find_best, open_study
from boxthirding.errors import EvaluationFailed
from boxthirding.study import Exchange

SCALE = {"unfunny": 0.0, "somewhat funny": 0.5, "funny": 1.0}
SAID = r"the reward is 700, but must be one of the study's scale: 0 \(unfunny\), 0.5 \(somewhat funny\), 1 \(funny\); "


def about(scale=SCALE, **more):
    return {
        "rating": {"question": "How funny?", "scale": [{"label": k, "reward": v} for k, v in scale.items()]},
        **more,
    }


@pytest.fixture
def study():
    return Place().open("me", arms=["a", "b", "c"], details=about())


@pytest.mark.parametrize(
    "verb",
    [
        lambda study, ticket: study.tell(ticket, 700),
        lambda study, ticket: study.tell_all([(ticket, 700)]),
        lambda study, _: study.observe("a", 700),
        lambda study, _: study.observe_all([("a", 1.0), ("b", 700)]),
        lambda study, _: study.add_known([("a", 700)]),
    ],
)
def test_a_reward_that_is_not_on_the_scale_is_refused_with_the_scale(study, verb):
    (ticket,) = study.ask()
    before = study.state()
    with pytest.raises(InvalidInput, match=f"{SAID}give one of these"):
        verb(study, ticket)
    assert study.state() == before
    study.tell(ticket, 0.5)
    with pytest.raises(InvalidInput, match=SAID):
        study.correct(ticket, 700)
    assert (study.pulls, study.recommend().mean) == (1, 0.5)


def test_a_reward_is_written_with_all_its_digits():
    study = Place().open("me", arms=["a"], details=about({"no": 0.0, "a third": 1 / 3}))
    with pytest.raises(InvalidInput, match=r"is 0.33333, but must .*: 0 \(no\), 0.3333333333333333 \(a third\);"):
        study.observe("a", 0.33333)
    study.observe("a", 1 / 3)


def test_a_rating_that_is_not_on_the_scale_is_refused_alone(study):
    first, second = study.ask(2, holder="ann")
    ((_, _, _, problems),) = study.exchange([Exchange("ann", [(first, 700, None), (second, 1.0, None)], 1)])
    assert [problem and "the reward is 700" in str(problem) for problem in problems] == [True, None]
    assert study.pulls == 1


def test_known_results_of_a_new_study_are_held_against_its_scale():
    with pytest.raises(InvalidInput, match=SAID):
        Place().open("me", arms=["a", "b"], details=about(), known=[("a", 700)])


def test_a_search_in_a_study_with_a_scale_says_which_rewards_it_takes():
    with (
        open_study("memory:", arms=5, details=about(), direction="maximize") as study,
        pytest.raises(EvaluationFailed, match=SAID),
    ):
        find_best(None, lambda _: 700, budget=10, study=study)


@pytest.mark.parametrize("details", [{}, {"rating": 3}, {"rating": {"scale": None}}, {"rating": {"scale": ["x"]}}])
def test_without_a_scale_every_reward_is_taken(details):
    study = Place().open("me", arms=["a", "b"], details=details)
    study.observe("a", 700)
    assert study.recommend().mean == 700


@pytest.mark.parametrize(
    ("scale", "part"),
    [
        (
            {"unfunny": 1, "somewhat funny": 2, "funny": 3},
            r"cannot become 1 \(unfunny\), 2 \(somewhat funny\), 3 \(funny\)",
        ),
        ({"unfunny": 0.0, "funny": 1.0}, "cannot become"),
        (SCALE | {"hilarious": 2.0}, "cannot become"),
        ({"unfunny": 1.0, "somewhat funny": 0.5, "funny": 0.0}, "cannot become"),
        ({}, "cannot become none"),
    ],
)
def test_rewards_of_a_scale_cannot_change_once_there_are_ratings(study, scale, part):
    study.describe(about(SCALE | {"hilarious": 2.0}))
    study.describe(about())  # before the first rating everything goes
    study.tell(study.ask()[0], 1.0)
    study.exclude("me")  # a rating that does not count now may count again
    with pytest.raises(InvalidInput, match=f"{part}.* once there are ratings; keep the rewards, with other words"):
        study.describe(about(scale))
    assert study.details == about()


def test_rewards_of_a_scale_cannot_be_forced_once_there_are_ratings():
    place = Place()
    place.open("me", arms=["a"], details=about()).observe("a", 1.0)
    with pytest.raises(InvalidInput, match="cannot become"):
        place.open("me", details=about({"no": 1, "yes": 2}), force=True)


def test_words_and_texts_can_change_at_any_time(study):
    study.tell(study.ask()[0], 1.0)
    other = about({"funny!": 1.0, "dull": 0.0, "so so": 0.5}, more="text")
    study.describe(other)
    assert study.details == other
    with pytest.raises(InvalidInput, match="1 \\(funny!\\)"):
        study.observe("a", 2.0)


def test_a_scale_can_be_added_to_results_that_lie_on_it():
    study = Place().open("me", arms=["a", "b"])
    study.observe("a", 1.0)
    study.observe("b", 0.25)
    with pytest.raises(InvalidInput, match=r"there is a result of 0.25, but every result must be on the new scale: 0 "):
        study.describe(about())
    study.describe(about({"no": 0.0, "a bit": 0.25, "yes": 1.0}))
