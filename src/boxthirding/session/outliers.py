"""Results that a rule sets aside as wildly off: it knows sums only, so they are found here, by arm and reward.

One that is set aside stays in the ledger and does not count; one that a person has corrected is given back to the rule.
"""

from typing import TYPE_CHECKING

from boxthirding.session.recompute import renew
from boxthirding.session.values import SetAside
from boxthirding.types import NONE

if TYPE_CHECKING:
    from boxthirding.session.core import Core


def name_strays(core: "Core") -> None:
    """Find the results that the rule has set aside since the last time, and let it know exactly what is left."""
    live = core.running
    for arm, (times, value) in live.strays().items():
        if times == core.strays.get(arm, 0):
            continue
        core.strays[arm] = times
        row = _stray_row(core, arm, value)
        if row != NONE:
            core.ledger.set_aside(row)
        if arm not in core.withdrawn:
            renew(core, arm, (1, value, value * value) if row == NONE else (0, 0.0, 0.0))


def set_aside(core: "Core", count: int | None = None) -> list[SetAside]:
    """Return the results that are set aside, or the latest `count` of them, earliest first."""
    rows = sorted(core.ledger.aside)
    found = []
    for row in rows if count is None else rows[-count:]:
        result = core.ledger.result(row)
        ticket = None if result.ticket == NONE else result.ticket
        found.append(SetAside(core.labels.label(result.arm), result.pull, result.reward, result.holder, ticket))
    return found


def _stray_row(core: "Core", arm: int, value: float) -> int:
    """Return the result of an arm that is nearest to what its rule found; NONE, if that is another or was corrected."""
    ledger = core.ledger
    row = ledger.nearest(arm, value)
    if row == NONE or row in ledger.corrected:
        return NONE
    away = abs(core.sign * ledger.result(row).reward - value)
    return row if away <= abs(value - ledger.totals[arm] / ledger.counts[arm]) / 2 else NONE
