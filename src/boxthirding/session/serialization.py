"""A session put down as plain facts and arrays, so that another process can take it up."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boxthirding.policies.rule_runner import LiveState
from boxthirding.session.core import Core
from boxthirding.session.tickets import Job
from boxthirding.types import Policy


class Saved(NamedTuple):
    """Everything a session needs to go on, but for its policy, its first arms and its leases."""

    facts: dict[str, Any]
    """What JSON can hold."""
    arrays: dict[str, NDArray[Any]]

    def part(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays that were saved under a name."""
        start = name + "."
        return {key.removeprefix(start): array for key, array in self.arrays.items() if key.startswith(start)}


def named(**parts: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of several parts in one mapping, each under the name of its part."""
    return {f"{part}.{key}": array for part, arrays in parts.items() for key, array in arrays.items()}


def save(core: Core) -> Saved:
    """Return everything as plain facts and arrays, without payloads."""
    labels, label_arrays = core.labels.save(core.given)
    tickets, ticket_arrays = core.tickets.save()
    ledger, ledger_arrays = core.ledger.save()
    beyond, following = core.pulls.save()
    facts = {
        "labels": labels,
        "tickets": tickets,
        "ledger": ledger,
        "jobs": [
            [job.id, job.name, job.arm, job.times, job.left, job.untold, job.changes] for job in core.jobs.values()
        ],
        "wanted": core.wanted.save(),
        "owed": [[arm, [[job.id, times] for job, times in jobs]] for arm, jobs in core.owed.items()],
        "beyond": beyond,
        "begun": core.jobs_begun,
        "answered": core.answered,
        "passed_over": core.passed_over,
        "known": core.is_known,
        "random": core.is_in_random_order,
        "strays": list(core.strays.items()),
        "rounded": sorted(core.rounded),
        "renewed": [[arm, *since] for arm, since in core.renewed.items()],
        "amends": core.amends,
        "failed": list(core.failed.items()),
        "history": core.history.save(),
        "examples": [*core.example_payloads],
        "state": None,
    }
    own = {
        "next": following,
        "withdrawn": np.array(sorted(core.withdrawn), np.int64),
        "complete": np.array(sorted(core.complete), np.int64),
    }
    parts = named(own=own, labels=label_arrays, tickets=ticket_arrays, ledger=ledger_arrays)
    if core.live is not None:
        state = core.live.arrays
        spent = {name: getattr(state, name).shape for name in core.record.spent}
        facts["state"] = {"spent": spent}
        kept = {name: array.copy() for name, array in state._asdict().items() if name not in spent}
        parts |= named(state=kept, record=core.record.save())
    return Saved(facts, parts)


def load(core: Core, saved: Saved, policy: Policy | None) -> None:
    """Go on from where another core was saved that had the same arms, seed and settings as this one."""
    facts, own = saved.facts, saved.part("own")
    core.labels.load(facts["labels"], saved.part("labels"), core.given)
    core.ledger.load(facts["ledger"], saved.part("ledger"))
    jobs = {}
    for job_id, name, arm, times, left, untold, changes in facts["jobs"]:
        job = jobs[job_id] = Job(job_id, name, arm, times)
        job.left, job.untold = left, untold
        job.changes = None if changes is None else [(count, total, squares) for count, total, squares in changes]
    core.jobs = jobs
    core.tickets.load(facts["tickets"], saved.part("tickets"), jobs, core.labels.arm)
    core.wanted.load(facts["wanted"], jobs)
    core.owed = {arm: [(jobs[job_id], times) for job_id, times in owed] for arm, owed in facts["owed"]}
    core.pulls.load(facts["beyond"], own["next"])
    core.jobs_begun, core.answered, core.passed_over = facts["begun"], facts["answered"], facts["passed_over"]
    core.is_known, core.is_in_random_order = facts["known"], facts["random"]
    core.renewed = {arm: (job_id, rows) for arm, job_id, rows in facts["renewed"]}
    core.strays, core.rounded = dict(facts["strays"]), set(facts["rounded"])
    core.seen.forget()
    core.failed = dict(facts["failed"])
    core.history.load(facts["history"])
    core.example_payloads = facts["examples"]
    core.withdrawn = set(own["withdrawn"].tolist())
    core.complete = set(own["complete"].tolist())
    core.live, core.amends = None, facts["amends"]
    if facts["state"] is not None and policy is not None:
        live = LiveState(policy, 1, core.seed)
        spent = {name: np.zeros(shape, np.int64) for name, shape in facts["state"]["spent"].items()}
        live.hold(type(live.arrays)(**saved.part("state"), **spent))
        core.run(live)
        core.record.load(saved.part("record"))
