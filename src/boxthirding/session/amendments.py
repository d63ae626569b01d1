"""What is known without a ticket, and what turns out to be wrong: changes to the ledger that the rule is told of.

They happen to a core, like what is in core.py; what can be read is in answers.py.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from boxthirding._checks import whole
from boxthirding.errors import CannotAmend, InvalidInput, StudyDiffers
from boxthirding.session import examples
from boxthirding.session.core import Core
from boxthirding.session.known_results import KnownResult
from boxthirding.session.recompute import is_in_record, renew
from boxthirding.session.tickets import shortened
from boxthirding.session.values import Ticket
from boxthirding.types import NONE, Label


def observe(core: Core, label: Label, reward: float, pull: int | None = None) -> None:
    """Take a known result of an arm."""
    check_known(core, label, pull)
    is_unseen = core.labels.find(label) is None
    arm = core.claim(label)
    if is_unseen:
        core.is_in_random_order = False
    if pull is None:
        pull = core.pulls.take_next(arm)
    else:
        core.pulls.take(arm, pull)
    core.add_known(arm, reward, "", pull)


def check_known(core: Core, label: Label, pull: int | None = None) -> None:
    """Refuse a known result that cannot be taken."""
    check_can_amend(core, "take known results")
    arm = core.labels.find(label)
    if arm in core.withdrawn or (arm is None and core.labels.is_gone(label)):
        raise InvalidInput(f"label {label!r} is withdrawn, so no result of it can be taken")
    if core.examples is None:
        if pull is not None:
            raise InvalidInput(f"pull is {pull!r}, but there are no examples, so leave it out")
        return
    if pull is None:
        raise InvalidInput(
            f"the result of {label!r} names no example, but must: give its pull, 0 to {core.examples - 1}, which is "
            "the place of its example in the order of the examples"
        )
    if not whole("pull", pull, least=0) < core.examples:
        raise InvalidInput(f"pull is {pull}, but there are {core.examples} examples: give 0 to {core.examples - 1}")
    if has_pull(core, label, pull):
        raise InvalidInput(f"pull {pull} of {label!r} is told or handed out already, and counts once")


def check_all_known(core: Core, rows: Iterable[KnownResult]) -> None:
    """Refuse known results of which one cannot be taken, or that name a pull twice."""
    there: set[tuple[Label, int]] = set()
    for label, _, pull in rows:
        check_known(core, label, pull)
        if pull is not None:
            if (label, pull) in there:
                raise InvalidInput(f"pull {pull} of {label!r} stands in the known results twice, but counts once")
            there.add((label, pull))


def not_there(core: Core, rows: Iterable[KnownResult]) -> list[KnownResult]:
    """Return the known results that are not in the ledger; refuse others instead of those that are.

    A pull that was told through a ticket is there, whatever its reward.
    """
    there = core.ledger.known_by_arm()
    left = defaultdict(Counter[float], {arm: Counter(rewards.values()) for arm, rewards in there.items()})
    missing = []
    for row in rows:
        arm = core.labels.find(row.label)
        if arm is None:
            missing.append(row)
        elif row.pull is not None:
            if not core.pulls.has(arm, row.pull):
                missing.append(row)
            elif there.get(arm, {}).get(row.pull, row.reward) != row.reward:
                raise _other_known(row, there[arm][row.pull])
        elif left[arm][row.reward] > 0:
            left[arm][row.reward] -= 1
        else:
            missing.append(row)
    others = {arm: next(rewards.elements()) for arm, rewards in left.items() if rewards.total() > 0}
    for row in missing if others else ():
        arm = core.labels.find(row.label)
        if row.pull is None and arm in others:
            raise _other_known(row, others[arm])
    return missing


def _other_known(row: KnownResult, there: float) -> StudyDiffers:
    return StudyDiffers(
        f"the study has {there!r} as a known result of {row.label!r}, where {row.reward!r} is given",
        advice="give what was known before, alone or with more, or leave it out: observe() takes further results",
    )


def has_pull(core: Core, label: Label, pull: int) -> bool:
    """Tell whether a pull of an arm is told, known or handed out."""
    arm = core.labels.find(label)
    return arm is not None and core.pulls.has(arm, pull)


def end_batch(core: Core) -> None:
    """What was observed or corrected is complete: let the rule work out anew what it learned from all results."""
    if core.live is not None and core.amends:
        for arm in sorted(core.rounded):
            renew(core, arm)
        core.live.amend(NONE, 0, 0.0, 0.0)
        core.look_for_strays()
    core.passed_over = 0
    examples.consider(core)


def correct(core: Core, ticket: int | Ticket, reward: float) -> None:
    """Replace the reward of a ticket that was told."""
    check_can_amend(core, "take corrections")
    row = core.tickets.told_row(ticket)
    before = core.ledger.result(row)
    was_aside = row in core.ledger.aside
    change = core.ledger.correct(row, reward)
    if was_aside and before.holder not in core.ledger.excluded:
        _amend_result(core, row, NONE, (1, change, reward * reward))
    elif change:
        squares = reward * reward - before.reward * before.reward
        _amend_result(core, row, before.job, (0, change, squares), before.reward)


def exclude(core: Core, holder: str) -> int:
    """Let the results of a holder not count, now and later; return how many were told."""
    check_can_exclude(core, holder)
    return _change_all(core, holder, counts=False)


def include(core: Core, holder: str) -> int:
    """Let the results of an excluded holder count again; return how many there are."""
    check_can_include(core, holder)
    return _change_all(core, holder, counts=True)


def check_can_exclude(core: Core, holder: str) -> None:
    """Refuse to exclude a holder who told nothing, or is excluded."""
    check_can_amend(core, "leave results out")
    if not core.ledger.has_told(holder):
        told = [name for name in core.ledger.holders if name][:5]
        raise InvalidInput(
            f"holder {shortened(holder)} has told no result, so there is nothing to exclude: holders who have are "
            f"{', '.join(map(repr, told)) or 'none'}"
        )
    if holder in core.ledger.excluded:
        raise InvalidInput(f"holder {holder!r} is excluded already: include it to let its results count again")


def check_can_include(core: Core, holder: object) -> None:
    """Refuse to include a holder that is not excluded."""
    if not (isinstance(holder, str) and holder in core.ledger.excluded):
        excluded = ", ".join(map(repr, sorted(core.ledger.excluded))) or "none"
        raise InvalidInput(f"holder {shortened(holder)} is not excluded: excluded holders are {excluded}")


def check_can_amend(core: Core, what: str) -> None:
    """Refuse what the policy cannot take."""
    if core.live is not None and not core.amends:
        raise CannotAmend(
            f"policy {core.policy.name} cannot {what}, as it only knows the results of its own jobs",
            advice="go on with one that can, by use('chase') for example",
        )


def check_can_begin(core: Core, rows: Sequence[KnownResult]) -> None:
    """Refuse to begin with known results that the policy cannot take: there is nothing yet that another could use."""
    if rows and not core.amends:
        raise CannotAmend(
            f"policy {core.policy.name} cannot take known results, as it only knows the results of its own jobs: "
            "choose another policy, such as chase"
        )


def _change_all(core: Core, holder: str, *, counts: bool) -> int:
    """Let all results of a holder count, or not."""
    rows = core.ledger.rows_of(holder)
    (core.ledger.include if counts else core.ledger.exclude)(holder)
    times = 1 if counts else -1
    if core.live is not None:
        for row in rows.tolist():
            if row in core.ledger.aside:
                continue
            result = core.ledger.result(row)
            value = core.sign * result.reward
            change = (times, times * value, times * value * value)
            _amend_result(core, row, result.job, change, 0.0 if counts else value)
    end_batch(core)
    return len(rows)


def _amend_result(core: Core, row: int, job_id: int, change: tuple[int, float, float], taken_out: float = 0.0) -> None:
    """Let the rule know that a result has changed, if it is part of what the rule knows."""
    arm = core.ledger.result(row).arm
    if core.live is None or arm in core.withdrawn:
        return
    job = core.jobs.get(job_id)
    if job is not None:  # the rule keeps the results of an open job apart
        job.changes = [*(job.changes or ()), change]
    elif is_in_record(core, arm, job_id, row):
        core.live.amend(arm, *change)
    else:
        return
    if core.ledger.dwarfs(arm, taken_out):
        core.rounded.add(arm)
