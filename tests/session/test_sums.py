"""After any mix of verbs, the sums in the rule's state are the ledger's, and a saved session is the same one."""

from functools import partial

import pytest

from boxthirding import parse_policy
from boxthirding.policies import adaptive_box_thirding
from boxthirding.session import Session
from boxthirding.session.core import Core
from boxthirding.session.saved import load, save
from boxthirding.testing.plans import for_plans
from boxthirding.testing.sessions import check_session

REMEMBER = ("b3:reuse=pool", "b3:reuse=topup", "b3auto", "us", "prose:sigma=0.5")
OTHERS = ("b3", "asha", "dsh", "bucb:sigma=0.5")


def sums_in_state(core):
    """Return what the rule knows of each arm: results and their sum, those of open lifts and pending changes too."""
    state, sums = core.live.arrays, {}
    origin = state.facts[adaptive_box_thirding.ORIGIN] if core.policy.name == "b3auto" else 0.0
    for arm in range(min(core.labels.numbered, len(state.pulls))):
        pulls, total = int(state.pulls[arm]), float(state.total[arm])
        if hasattr(state, "new_pulls") and state.due[arm] > 0:
            pulls, total = pulls + int(state.new_pulls[arm]), total + float(state.new_total[arm])
        sums[arm] = (pulls, total + origin * pulls)
    for job in core.jobs.values():
        for times, change, _ in job.changes or ():
            pulls, total = sums[job.arm]
            sums[job.arm] = (pulls + times, total + change)
    return sums


def check_sums(core):
    """Hold the state against the ledger, where the policy does not forget."""
    if core.policy.forgets or core.policy.rule.amend is None:
        return
    for arm, (pulls, total) in sums_in_state(core).items():
        if arm not in core.withdrawn:
            assert pulls == core.ledger.counts[arm]
            assert total == pytest.approx(core.ledger.totals[arm], abs=1e-6)


def plain(saved):
    """Return what was saved, to be compared."""
    facts, arrays = saved
    return repr(facts), {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


def check_saved(core, arms, seed):
    """See that another core goes on from what was saved, and that it has the same to save."""
    other = Core(arms, seed=seed, patience=core.patience, origin=core.tickets.origin)
    load(other, save(core), core.policy)
    assert plain(save(other)) == plain(save(core))
    assert (other.ledger.pulls, other.ledger.spent, other.ledger.tried, other.ledger.counts) == (
        *(core.ledger.pulls, core.ledger.spent, core.ledger.tried, core.ledger.counts),
    )
    holders = {*core.ledger.holders, *core.tickets.by_holder} - {""}
    for holder in holders:
        assert other.seen.by(holder) - core.withdrawn == core.seen.by(holder) - core.withdrawn
    for job in core.jobs.values():
        assert 0 <= job.left <= job.untold <= job.times


def check(policy, plan):
    def make(arms, policy, **settings):
        session = Session(arms, policy, **settings)
        made.append((session._core, None if session._core.labels.open_ended else arms))
        return session, partial(seen, session._core)

    made = []
    check_session(policy, plan, make)
    for core, arms in made:
        check_sums(core)
        if arms is not None:
            check_saved(core, arms, plan.seed)


def seen(core):
    """Return all there is to see of a core, which must be right at any moment."""
    check_sums(core)
    return repr(plain(save(core))).encode()


@pytest.mark.parametrize("spec", [*REMEMBER, *OTHERS])
def test_the_state_has_the_sums_of_the_ledger_and_can_be_saved(spec):
    for_plans(parse_policy(spec), check, examples=12)
