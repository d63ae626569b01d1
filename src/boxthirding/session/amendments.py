"""Known results, corrections and exclusions: changes to the ledger that the rule is told of."""

import json
import reprlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from boxthirding._checks import as_reward, whole
from boxthirding.errors import CannotAmend, InvalidInput, StudyDiffers
from boxthirding.session.core import Core
from boxthirding.session.tickets import shortened
from boxthirding.session.values import Known, KnownResult, Ticket
from boxthirding.types import NONE, Label

LONGEST_DETAILS: Final = 10_000
"""Characters of the details of a result, as JSON."""

_PAIR = 2


def plain(label: Label) -> Label:
    """Return a label without the type of an array that it may come from."""
    known: Label = label.item() if isinstance(label, np.generic) else label
    return known


def listed(known: Known | Any) -> list[KnownResult]:
    """Return known results one by one, with plain labels and floats; they may be listed already.

    >>> listed({"ann": 0.5, "bob": [1, 2]})[1]
    KnownResult(label='bob', reward=1.0, pull=None)
    """
    if isinstance(known, Mapping):
        return [row for label, rewards in known.items() for row in _results_of(plain(label), rewards)]
    if isinstance(known, list) and all(isinstance(row, KnownResult) for row in known):
        return [KnownResult(plain(label), as_reward(reward), pull) for label, reward, pull in known]
    return [KnownResult(plain(label), as_reward(reward), None) for label, reward in pairs_of(known)]


def pairs_of(known: Known | Any) -> Iterator[tuple[Any, Any]]:
    """Return known results as pairs of a label and what is known of it."""
    if isinstance(known, Mapping):
        yield from known.items()
        return
    if isinstance(known, str | bytes) or not isinstance(known, Iterable):
        raise InvalidInput(f"known results are {known!r}, but must be a mapping of labels to rewards, or pairs of them")
    for pair in known:
        if not (isinstance(pair, tuple | list) and len(pair) == _PAIR):
            raise InvalidInput(f"a known result is {pair!r}, but must be a pair of a label and a reward")
        yield pair[0], pair[1]


def _results_of(label: Label, rewards: Any) -> list[KnownResult]:
    if isinstance(rewards, Mapping):
        return [KnownResult(label, as_reward(reward), pull) for pull, reward in rewards.items()]
    if isinstance(rewards, Iterable) and not isinstance(rewards, str | bytes) and getattr(rewards, "ndim", 1) != 0:
        return [KnownResult(label, as_reward(reward), None) for reward in rewards]
    return [KnownResult(label, as_reward(rewards), None)]


def check_details(details: object) -> dict[str, Any]:
    """Return the details of a result as a plain JSON object; raise for anything else."""
    rule = "must be a small JSON object, such as {'answer': 'funny', 'seconds': 2.5}"
    if not (isinstance(details, Mapping) and all(isinstance(key, str) for key in details)):
        raise InvalidInput(f"details is {reprlib.repr(details)}, but {rule}")
    try:
        text = json.dumps(dict(details), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"details is {reprlib.repr(details)}, but {rule} ({error})") from None
    if len(text) > LONGEST_DETAILS:
        raise InvalidInput(f"details has {len(text):,} characters, but {rule}, of at most {LONGEST_DETAILS:,}")
    plain_details: dict[str, Any] = json.loads(text)
    return plain_details


def observe_all(core: Core, rows: Iterable[KnownResult]) -> None:
    """Take known results, all or none of them; raise if one cannot be taken, or if a pull is there twice."""
    rows = list(rows)
    there: set[tuple[Label, int]] = set()
    for label, _, pull in rows:
        check_can_amend(core, "take known results")
        if core.labels.is_withdrawn(label):
            raise InvalidInput(f"label {label!r} is withdrawn, so no result of it can be taken")
        _check_pull(core, label, pull)
        if pull is not None:
            if (label, pull) in there:
                raise InvalidInput(f"pull {pull} of {label!r} stands in the known results twice, but counts once")
            there.add((label, pull))
    for label, reward, pull in rows:
        if core.labels.find(label) is None:
            core.is_in_random_order = False
        arm = core.claim(label)
        if pull is not None and core.examples.draws is not None:
            core.examples.draws.take(arm, pull)
        core.add_known(arm, reward, "", core.pulls.take_next(arm) if pull is None else pull)
    core.rule.end_amendments()
    if core.effects.is_due:
        core.rule.refit()


def _check_pull(core: Core, label: Label, pull: int | None) -> None:
    examples, draws = core.examples.count, core.examples.draws
    if examples is None or draws is None:
        if pull is not None:
            raise InvalidInput(f"pull is {pull!r}, but there are no examples, so leave it out")
        return
    if pull is None:
        raise InvalidInput(
            f"the result of {label!r} names no example, but must: give its pull, 0 to {examples - 1}, which is "
            "the place of its example in the order of the examples"
        )
    if not whole("pull", pull, least=0) < examples:
        raise InvalidInput(f"pull is {pull}, but there are {examples} examples: give 0 to {examples - 1}")
    arm = core.labels.find(label)
    if arm is not None and draws.has(arm, pull):
        raise InvalidInput(f"pull {pull} of {label!r} is told or handed out already, and counts once")


def missing_results(core: Core, rows: Iterable[KnownResult]) -> list[KnownResult]:
    """Return the known results that are not in the ledger; raise if it has others instead of them.

    A pull that was told through a ticket is there, whatever its reward.
    """
    there, draws = core.ledger.known_by_arm(), core.examples.draws
    left = defaultdict(Counter[float], {arm: Counter(rewards.values()) for arm, rewards in there.items()})
    missing = []
    for row in rows:
        arm = core.labels.find(row.label)
        if arm is not None and row.pull is not None and draws is not None and draws.has(arm, row.pull):
            if there.get(arm, {}).get(row.pull, row.reward) != row.reward:
                raise _other_known(row, there[arm][row.pull])
        elif arm is not None and row.pull is None and left[arm][row.reward] > 0:
            left[arm][row.reward] -= 1
        else:
            missing.append(row)
    for row in missing:
        arm = core.labels.find(row.label)
        if arm is not None and row.pull is None and left[arm].total() > 0:
            raise _other_known(row, next(left[arm].elements()))
    return missing


def _other_known(row: KnownResult, there: float) -> StudyDiffers:
    return StudyDiffers(
        f"the study has {there!r} as a known result of {row.label!r}, where {row.reward!r} is given",
        advice="give what was known before, alone or with more, or leave it out: observe() takes further results",
    )


def correct(core: Core, ticket: int | Ticket, reward: float) -> None:
    """Replace the reward of a ticket that was told."""
    check_can_amend(core, "take corrections")
    row = core.tickets.told_row(ticket)
    before = core.ledger.result(row)
    was_outlier = row in core.ledger.outliers
    change = core.ledger.correct(row, reward)
    value = reward - before.effect
    if was_outlier and before.holder not in core.ledger.excluded:
        core.rule.amend(row, (1, change, value * value), job_id=NONE)
    elif change:
        squares = value * value - (before.reward - before.effect) ** 2
        core.rule.amend(row, (0, change, squares), job_id=before.job, taken_out=before.reward)
    _settle(core)


def exclude(core: Core, holder: str) -> int:
    """Exclude the results of a holder, past and future; return how many were told."""
    check_can_amend(core, "leave results out")
    told = [name for name in core.ledger.holders if name]
    if holder not in told:
        raise InvalidInput(
            f"holder {shortened(holder)} has told no result, so there is nothing to exclude: holders who have are "
            f"{', '.join(map(repr, told[:5])) or 'none'}"
        )
    if holder in core.ledger.excluded:
        raise InvalidInput(f"holder {holder!r} is excluded already: include it to let its results count again")
    return _count_all(core, holder, times=-1)


def include(core: Core, holder: object) -> int:
    """Include the results of an excluded holder again; return how many there are."""
    if not (isinstance(holder, str) and holder in core.ledger.excluded):
        excluded = ", ".join(map(repr, sorted(core.ledger.excluded))) or "none"
        raise InvalidInput(f"holder {shortened(holder)} is not excluded: excluded holders are {excluded}")
    return _count_all(core, holder, times=1)


def check_can_amend(core: Core, what: str) -> None:
    """Raise if the policy cannot take amendments."""
    if core.rule.live is not None and not core.rule.amends:
        raise CannotAmend(
            f"policy {core.rule.policy.name} cannot {what}, as it only knows the results of its own jobs",
            advice="choose a policy that can, such as chase: use('chase') continues with it",
        )


def _count_all(core: Core, holder: str, *, times: int) -> int:
    """Include all results of a holder if `times` is 1, exclude them if it is -1; return how many there are."""
    rows = core.ledger.count_holder(holder, counts=times > 0)
    for row in rows.tolist():
        if row not in core.ledger.outliers:
            result = core.ledger.result(row)
            value = core.sign * (result.reward - result.effect)
            change = (times, times * value, times * value * value)
            core.rule.amend(row, change, job_id=result.job, taken_out=0.0 if times > 0 else value)
    _settle(core)
    return len(rows)


def _settle(core: Core) -> None:
    """End a correction or exclusion: effects are what they would be without what was taken out."""
    if core.effects.fit is None:
        core.rule.end_amendments()
    else:
        core.rule.refit(from_scratch=True)
