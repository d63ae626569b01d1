"""What the answer was over time: kept thin in a session, after every result in a study."""

import json
from itertools import pairwise

import numpy as np
import pytest

from boxthirding import Session, open_study
from boxthirding.session.ledger import History
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Settings, Study

MEANS = np.random.default_rng(5).random(200)


def play(asked, pulls, seed=1):
    """Let noisy results come in one by one; return what was recommended after each."""
    draws = np.random.default_rng(seed)
    answers = []
    for _ in range(pulls):
        (ticket,) = asked.ask()
        asked.tell(ticket, MEANS[ticket.label] + 0.3 * draws.normal())
        answers.append(asked.recommend())
    return answers


@pytest.fixture
def study():
    return in_memory(200)


def in_memory(arms):
    return Study("study", MemoryJournal(), Settings(arms=arms))


class TestSession:
    def test_it_keeps_every_moment_of_a_short_run(self):
        session = Session(200)
        answers = play(session, 40)
        history = session.history()
        assert [moment.results for moment in history] == list(range(1, 41))
        assert [(moment.label, moment.mean) for moment in history] == [(best.label, best.mean) for best in answers]

    def test_what_it_keeps_is_what_the_answer_was(self):
        session = Session(200)
        answers = play(session, 2_000)
        history = session.history()
        for moment in history:
            best = answers[moment.results - 1]
            assert (moment.label, moment.mean) == (best.label, best.mean)
        assert history[-1].results == 2_000
        assert history[-1].tried == session.view().tried

    def test_moments_are_few_and_spread_over_the_run(self):
        session = Session(200)
        play(session, 2_000)
        results = [moment.results for moment in session.history()]
        assert len(results) < 450
        assert all(later - earlier <= 1 + later // 20 for earlier, later in pairwise(results))

    def test_there_is_none_before_the_first_result(self):
        assert Session(3).history() == []

    def test_results_of_a_batch_are_looked_at_too(self):
        session = Session(200)
        session.tell_all([(ticket, MEANS[ticket.label]) for ticket in session.ask(40)])
        assert [moment.results for moment in session.history()] == list(range(1, 41))

    def test_it_has_every_change_of_a_mean_until_it_is_thinned(self):
        session = Session(200)
        answers = play(session, 150)
        history = {moment.results: (moment.label, moment.mean) for moment in session.history()}
        last = None
        for results, best in enumerate(answers, start=1):
            last = history.get(results, last)
            assert last == (best.label, best.mean)

    def test_a_change_that_is_thinned_out_is_made_up_for_soon(self):
        history = History()
        for results in range(1, 2_001):
            mean = float((results > 1_000) + (results > 1_004))
            history.add(results, 0, mean, 1, None)
        by_then = [[row for row in history.moments if row.results <= now][-1].mean for now in range(1, 2_001)]
        assert by_then[:1_000] == [0.0] * 1_000
        assert by_then[1_020:] == [2.0] * 980

    def test_arms_told_smaller_is_better_have_their_own_means(self):
        session = Session(["a", "b"], direction="minimize")
        for _ in range(4):
            for ticket in session.ask():
                session.tell(ticket, {"a": 2.0, "b": 3.0}[ticket.label])
        assert (session.history()[-1].label, session.history()[-1].mean) == ("a", 2.0)


class TestStudy:
    def test_it_is_known_when_the_answer_became_what_it_is(self, study):
        answers = play(study, 600)
        since = study.since()
        labels = [best.label for best in answers]
        last = max((place for place in range(1, 600) if labels[place] != labels[place - 1]), default=0)
        assert (since.results, since.label) == (last + 1, labels[-1])
        assert since.at is not None

    def test_an_exclusion_that_changes_the_answer_is_noted(self):
        study = in_memory(["a", "b", "c"])
        for _ in range(12):
            (ticket,) = study.ask(holder="ann")
            study.tell(ticket, {"a": 0.9, "b": 0.5, "c": 0.1}[ticket.label])
        for _ in range(60):
            (ticket,) = study.ask(holder="bob")
            study.tell(ticket, {"a": 0.0, "b": 0.0, "c": 1.0}[ticket.label])
        assert study.recommend().label == "c"
        study.exclude("bob")
        assert (study.recommend().label, study.since().label, study.since().results) == ("a", "a", 72)

    def test_it_is_the_same_after_a_restart(self, tmp_path):
        place = str(tmp_path / "study.db")
        with open_study(place, arms=200) as study:
            play(study, 300)
            before = study.history(), study.since()
        with open_study(place) as study:
            assert (study.history(), study.since()) == before

    def test_it_is_part_of_a_snapshot(self, study):
        play(study, 300)
        kept = study._transactions.look(lambda state: state.core.history.moments)
        saved = json.loads(study.state().split(b"\n")[1])["facts"]["core"]["history"]
        assert [moment[0] for moment in saved["moments"]] == [moment.results for moment in kept]


def change(asked):
    """Change results and arms in every way that may change the answer."""
    asked.observe_all({3: 0.9, 4: [0.2, 0.3]})
    for _ in range(6):
        (ticket,) = asked.ask(holder="ann")
        asked.tell(ticket, ticket.label / 10, holder="ann")
    asked.correct(ticket, 0.95)
    asked.observe(5, 0.99)
    asked.exclude("ann")
    asked.withdraw(5)
    asked.include("ann")
    for _ in range(3):
        asked.fail(asked.ask()[0])


def test_a_session_and_a_study_have_the_same_history_whatever_changes_the_answer():
    session, study = Session(9, known={1: 0.5}), Study("s", MemoryJournal(), Settings(9, known={1: 0.5}))
    for asked in (session, study):
        change(asked)
    moments = [[moment._replace(at=None) for moment in asked.history()] for asked in (session, study)]
    assert len(moments[0]) > 5
    assert moments[0] == moments[1]
    assert session.since()._replace(at=None) == study.since()._replace(at=None)


class TestThinned:
    def test_an_answer_that_changes_with_every_result_takes_no_more_room(self):
        history = History()
        for results in range(1, 100_001):
            history.add(results, results, 0.5, results, None)
        assert len(history.moments) < 900
        assert history.since.results == 100_000

    def test_what_is_saved_is_loaded(self):
        history = History()
        for results in range(1, 500):
            history.add(results, results % 3, 0.5, results, 1.5)
        again = History()
        again.load(json.loads(json.dumps(history.save())))
        assert vars(again) == vars(history)


class TestPlot:
    def test_the_answer_over_time_is_drawn(self, study):
        play(study, 300)
        axes = study.plot("answer")
        assert "the best arm at that time" in axes.get_legend_handles_labels()[1]
        session = Session(200)
        play(session, 300)
        assert "the best arm at that time" in session.plot("answer").get_legend_handles_labels()[1]


class TestSpread:
    def test_it_is_that_of_the_results_around_their_own_means(self):
        session = Session(["a", "b"], "us")
        told = {"a": [], "b": []}
        for value in (0.1, 0.4, 0.7, 0.2, 0.9, 0.3):
            (ticket,) = session.ask()
            told[ticket.label].append(value)
            session.tell(ticket, value)
        squares = {label: float(np.var(values) * len(values)) for label, values in told.items()}
        spread = session.spread(["a"])
        assert spread.squares == pytest.approx(sum(squares.values()))
        assert spread.freedom == 4
        skewness = np.mean(((told["a"] - np.mean(told["a"])) / np.std(told["a"])) ** 3)
        assert spread.arms == {"a": pytest.approx((len(told["a"]), np.mean(told["a"]), squares["a"], skewness))}

    def test_equal_results_have_none_whatever_they_round_to(self):
        session = Session(["a"], "us")
        for _ in range(7):
            (ticket,) = session.ask()
            session.tell(ticket, 0.1)
        assert session.spread().squares == 0

    def test_what_is_excluded_does_not_count(self):
        session = Session(["a"], "us")
        for holder, value in (("ann", 0.0), ("ann", 1.0), ("bob", 9.0)):
            (ticket,) = session.ask(holder=holder)
            session.tell(ticket, value)
        session.exclude("bob")
        assert (session.spread().squares, session.spread().freedom) == (0.5, 1)
