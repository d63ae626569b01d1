"""Outliers: a session names them and they do not count, but a corrected one does."""

import pickle
import random

import pytest
from sums import check_sums

from boxthirding import find_best
from boxthirding.session import Session
from boxthirding.session.core import Core

ARMS = 300


def mean(label):
    return 37 * label % ARMS / ARMS


class Crew:
    """A session that is told rewards, some of them outliers."""

    def __init__(self, direction="maximize", off=100.0, policy="chase", share=0.003):
        self.session = Session(ARMS, policy, seed=1, direction=direction)
        self.rng, self.off, self.share = random.Random(5), off, share
        self.rewards, self.outliers, self.holders = {}, {}, {}
        self.sign = 1.0 if direction == "maximize" else -1.0

    def pull(self, times, holders=("ann", "bob")):
        for _ in range(times):
            holder = self.rng.choice(holders)
            (ticket,) = self.session.ask(holder=holder)
            self.holders[ticket.id] = holder
            reward = self.sign * mean(ticket.label) + self.rng.gauss(0.0, 0.3)
            if self.rng.random() < self.share:
                reward += self.sign * self.off
                self.outliers[ticket.id] = (ticket.label, ticket.pull, reward)
            self.rewards[ticket.id] = (ticket.label, reward)
            self.session.tell(ticket, reward)
        return self

    @property
    def named(self):
        return {row.ticket: (row.label, row.pull, row.reward) for row in self.session.outliers()}

    def check_means(self):
        """Hold every mean against the results that are no outliers."""
        kept, named, excluded = {}, self.named, self.session.view().excluded
        for ticket, (label, reward) in self.rewards.items():
            if ticket not in named and self.holders[ticket] not in excluded:
                kept.setdefault(label, []).append(reward)
        arms = self.session.arms(count=ARMS)
        assert {arm.label: arm.pulls for arm in arms} == {label: len(rewards) for label, rewards in kept.items()}
        for arm in arms:
            assert arm.mean == pytest.approx(sum(kept[arm.label]) / arm.pulls)
        check_sums(self.session._core)


@pytest.mark.parametrize(("direction", "off"), [("maximize", 100.0), ("minimize", 100.0), ("maximize", 1e30)])
def test_outliers_are_named_and_no_others(direction, off):
    crew = Crew(direction, off).pull(2_000)
    view = crew.session.view()
    assert len(crew.outliers) > 3
    assert crew.named == crew.outliers
    assert (view.n_outliers, view.pulls, view.spent) == (len(crew.outliers), 2_000 - len(crew.outliers), 2_000)
    assert [row.ticket for row in view.outliers] == sorted(crew.outliers)[-10:]
    assert mean(view.recommendation.label) > 0.9
    crew.check_means()


def test_the_view_has_the_latest_ten():
    crew = Crew(share=0.01).pull(2_000)
    view = crew.session.view()
    assert view.n_outliers == len(crew.session.outliers()) > 10
    assert view.outliers == tuple(crew.session.outliers()[-10:])
    assert view.as_dict()["outliers"][0] == view.outliers[0]._asdict()


@pytest.fixture
def crew():
    return Crew().pull(1_500)


def test_a_corrected_value_counts_from_then_on(crew):
    ticket, (label, _, _) = next(iter(crew.outliers.items()))
    before = crew.session.view()
    crew.session.correct(ticket, 0.5)
    crew.rewards[ticket] = (label, 0.5)
    after = crew.session.view()
    assert (after.n_outliers, after.pulls) == (before.n_outliers - 1, before.pulls + 1)
    assert ticket not in crew.named
    crew.check_means()


def test_a_corrected_value_is_never_excluded_however_far_it_is(crew):
    pulls = {arm.label: arm.pulls for arm in crew.session.arms(count=ARMS)}
    ticket = next(key for key, (label, _) in crew.rewards.items() if key not in crew.outliers and 2 < pulls[label] < 9)
    label, _ = crew.rewards[ticket]
    crew.session.correct(ticket, 500.0)
    crew.rewards[ticket] = (label, 500.0)
    crew.share = 0.0
    crew.pull(1_600)  # σ is worked out anew
    for _ in range(2):
        assert ticket not in crew.named
        assert set(crew.named) <= set(crew.outliers)
        crew.check_means()
        crew.session.use("chase")


def test_those_of_an_excluded_holder_stay_out_when_it_is_included_again(crew):
    named, pulls = crew.named, crew.session.view().pulls
    holders = {row.ticket: row.holder for row in crew.session.outliers()}
    assert set(holders.values()) == {"ann", "bob"}
    crew.session.exclude("bob")
    crew.session.include("bob")
    assert (crew.named, crew.session.view().pulls) == (named, pulls)
    crew.check_means()
    crew.session.exclude("bob")
    ticket = next(ticket for ticket, holder in holders.items() if holder == "bob")
    crew.session.correct(ticket, 0.5)
    crew.rewards[ticket] = (crew.rewards[ticket][0], 0.5)
    crew.check_means()  # it is bob's, and does not count yet
    crew.session.include("bob")
    assert crew.named == {key: row for key, row in named.items() if key != ticket}
    crew.check_means()


def test_each_policy_judges_for_itself(crew):
    named = crew.named
    crew.session.use("us")
    assert (crew.named, crew.session.view().pulls) == ({}, 1_500)
    crew.check_means()
    crew.session.use("b3")
    assert (crew.named, crew.session.view().pulls) == ({}, 1_500)
    crew.session.use("chase")
    assert len(named) - 2 <= len(crew.named) <= len(named)  # not those that are alone, or two of one arm
    assert set(crew.named.items()) <= set(named.items())
    crew.check_means()


@pytest.mark.parametrize("policy", ["b3", "us", "prose:sigma=0.3"])
def test_other_policies_exclude_no_outliers(policy):
    assert Crew(policy=policy).pull(600).session.outliers() == []


def test_known_results_are_judged_too():
    session = Session(ARMS, seed=1)
    rng = random.Random(2)
    known = {label: [mean(label) + rng.gauss(0.0, 0.3) for _ in range(3)] for label in range(60)}
    known[7][1] += 100.0
    session.observe_all(known)
    assert [row[:3] for row in session.outliers()] == [(7, 1, known[7][1])]
    assert (session.outliers()[0].holder, session.outliers()[0].ticket) == ("", None)


def test_a_session_that_is_put_down_goes_on_with_them(crew):
    again = pickle.loads(pickle.dumps(crew.session))  # noqa: S301  # our own
    assert again.outliers() == crew.session.outliers()
    saved = crew.session._core.save()
    core = Core(ARMS, seed=1)
    core.load(saved, crew.session.policy)
    assert (core.ledger.outliers, core.ledger.pulls) == (crew.session._core.ledger.outliers, crew.session.view().pulls)
    assert core.rule.outliers.excluded == crew.session._core.rule.outliers.excluded
    assert core.ledger.totals == pytest.approx(crew.session._core.ledger.totals)


def test_what_was_found_names_them():
    rng = random.Random(3)
    calls = iter(range(10_000))

    def score(label):
        return mean(label) + rng.gauss(0.0, 0.3) + 1_000.0 * (next(calls) % 400 == 399)

    found = find_best(range(ARMS), score, budget=1_500, seed=2, progress=False)
    assert len(found.outliers) == 3
    assert all(row.reward > 900 for row in found.outliers)
    last = found.outliers[-1]
    assert "3 outliers excluded: " in repr(found)
    assert f"{last.label} {last.reward:.6g} (ticket {last.ticket})" in repr(found)
    assert "outliers excluded" in found._repr_html_()


def test_none_is_named_for_what_several_have_done_together():
    """The rule, which knows their sum, takes all but one of a job for a single one that none of them is near to."""
    crew = Crew(policy="chase", share=0.0).pull(400)
    wanted = crew.session._core.jobs
    while wanted.at_hand is None or wanted.at_hand.left < 5:
        crew.pull(1)
    *off, last = crew.session.ask(wanted.at_hand.left, holder="ann")
    for ticket, reward in [*((ticket, 1_000.0) for ticket in off), (last, 0.5)]:
        crew.session.tell(ticket, reward)
        crew.rewards[ticket.id], crew.holders[ticket.id] = (ticket.label, reward), "ann"
    assert crew.named == {}
    crew.check_means()
