"""What a rule knows of each arm, held against the ledger."""

import pytest

from boxthirding.policies import chase_final


def sums_in_state(core):
    """Return what the rule knows of each arm: results and their sum, those of open lifts and pending changes too."""
    state, sums = core.rule.live.arrays, {}
    origin = state.facts[chase_final.ORIGIN] if hasattr(state, "facts") else 0.0
    for arm in range(min(len(core.labels.numbered), len(state.arms.pulls))):
        pulls, total = int(state.arms.pulls[arm]), float(state.arms.total[arm])
        if hasattr(state, "jobs") and state.jobs.due[arm] > 0:
            pulls, total = pulls + int(state.jobs.pulls[arm]), total + float(state.jobs.total[arm])
        sums[arm] = (pulls, total + origin * pulls)
    for job in core.jobs.open.values():
        for times, change, _ in job.changes or ():
            pulls, total = sums[job.arm]
            sums[job.arm] = (pulls + times, total + change)
    return sums


def check_sums(core):
    """Hold the state against the ledger, where the policy does not forget."""
    if core.rule.policy.forgets or core.rule.policy.rule.amend is None:
        return
    for arm, (pulls, total) in sums_in_state(core).items():
        if arm not in core.labels.withdrawn:
            assert pulls == core.ledger.counts[arm]
            assert total == pytest.approx(core.ledger.totals[arm], abs=1e-6)
