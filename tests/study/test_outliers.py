"""Outliers follow from the journal: a study that is opened again has them."""

import csv
import io
import random

import pytest
from keeping import Place, filled

from boxthirding.service import exports
from boxthirding.service.studies import About
from boxthirding.session import Outlier
from boxthirding.study import Study, transactions


def mean(label):
    return 37 * label % 200 / 200


@pytest.fixture
def place():
    return Place()


def play(study, pulls, seed=4):
    """Tell rewards of which one in a hundred is an outlier."""
    rng = random.Random(seed)
    for _ in range(pulls):
        (ticket,) = study.ask()
        study.tell(ticket, mean(ticket.label) + rng.gauss(0.0, 0.3) + 100.0 * (rng.random() < 0.01))


def test_a_study_that_is_opened_again_has_the_same_outliers(place):
    study = place.open("me", arms=200, seed=1)
    play(study, 500)
    outliers = study.outliers()
    assert len(outliers) > 2
    assert isinstance(outliers[0], Outlier)
    again = place.open("other")
    assert (again.outliers(), again.view().n_outliers) == (outliers, len(outliers))
    assert again.state() == study.state()
    for label in {row.label for row in outliers}:
        kept = [row.ticket for row in study.results(label, count=500) if not row.counts]
        assert sorted(kept) == [row.ticket for row in outliers if row.label == label]


def test_a_snapshot_has_them(place, monkeypatch):
    monkeypatch.setattr(transactions, "LEAST", 10)
    study = place.open("me", arms=200, seed=1)
    play(study, 400)
    assert study.outliers()
    assert place.shelf.journal("study").snapshots()
    without = Study("study", filled(place.texts()))
    assert place.open("other").outliers() == without.outliers() == study.outliers()
    play(study, 50, seed=5)
    assert place.open("other").outliers() == study.outliers()


def test_a_study_that_was_taken_over_is_the_same_for_those_who_saw_it_and_those_who_did_not(place):
    study = place.open("me", arms=200, seed=1)
    play(study, 400, seed=9)
    before = study.outliers()
    study.correct(before[0].ticket, 0.5)
    study.use("b3")
    assert (study.outliers(), study.view().n_outliers) == ([], 0)
    study.use("chase")
    assert 0 < len(study.outliers()) < len(before)
    assert {row.ticket for row in study.outliers()} <= {row.ticket for row in before[1:]}
    play(study, 50, seed=5)
    fresh = Study("study", filled(place.texts()))
    assert fresh.outliers() == study.outliers()
    assert fresh.top(10) == study.top(10)
    assert fresh.state() == study.state()


def test_the_exported_results_say_that_they_do_not_count(place):
    study = place.open("me", arms=200, seed=1)
    play(study, 400)
    text = b"".join(exports.results(study, About())).decode()
    rows = [*csv.DictReader(io.StringIO(text))]
    assert [int(row["ticket"]) for row in rows if row["counts"] == "False"] == [row.ticket for row in study.outliers()]
