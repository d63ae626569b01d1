"""After any mix of verbs, the sums in the rule's state are the ledger's, and a saved session is the same one."""

from functools import partial

import numpy as np
import pytest
from every_policy import EVERY
from sums import check_sums

from boxthirding import parse_policy
from boxthirding.session import Session
from boxthirding.session.core import Core
from boxthirding.testing.scenarios import for_scenarios
from boxthirding.testing.session_contract import check_session

VARIANTS = ("b3:reuse=pool", "b3:reuse=topup", "ash:subset=doubling")


def plain(value):
    """Return what was saved, to be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return {name: plain(part) for name, part in value.items()} if isinstance(value, dict) else repr(value)


def check_saved(core, arms, seed):
    """See that another core goes on from what was saved, and that it has the same to save."""
    other = Core(arms, seed=seed, patience=core.patience, origin=core.tickets.origin)
    other.load(core.save(), core.rule.policy)
    assert plain(other.save()) == plain(core.save())
    assert (other.ledger.pulls, other.ledger.spent, other.ledger.tried, other.ledger.counts) == (
        *(core.ledger.pulls, core.ledger.spent, core.ledger.tried, core.ledger.counts),
    )
    holders = {*core.ledger.holders, *core.tickets.by_holder} - {""}
    for holder in holders:
        assert (
            other.tickets.seen_by(holder) - core.labels.withdrawn
            == core.tickets.seen_by(holder) - core.labels.withdrawn
        )
    for job in core.jobs.open.values():
        assert 0 <= job.left <= job.untold <= job.times


def check(policy, scenario):
    def make(arms, policy, **settings):
        session = Session(arms, policy, **settings)
        made.append((session._core, None if session._core.labels.open_ended else arms))
        return session, partial(seen, session._core)

    made = []
    check_session(policy, scenario, make)
    for core, arms in made:
        check_sums(core)
        if arms is not None:
            check_saved(core, arms, scenario.seed)


def seen(core):
    """Return all there is to see of a core, which must be right at any moment."""
    check_sums(core)
    return repr(plain(core.save())).encode()


@pytest.mark.parametrize("spec", [*EVERY, *VARIANTS])
@pytest.mark.parametrize("examples", [5, pytest.param(25, marks=pytest.mark.soak)])
def test_the_state_has_the_sums_of_the_ledger_and_can_be_saved(spec, examples):
    for_scenarios(parse_policy(spec), check, examples)
