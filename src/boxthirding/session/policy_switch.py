"""What a policy starts from: the results that count, of those before it or of an older version of its rule."""

from typing import TYPE_CHECKING, Final

from boxthirding.errors import CannotAmend, InvalidInput
from boxthirding.policies.rule_runner import LiveState
from boxthirding.session.ledger import Sums
from boxthirding.types import NONE, Policy

if TYPE_CHECKING:
    from boxthirding.session.core import Core

ROOM: Final = 64
"""For arms to begin with; a state grows."""


def check(core: "Core", policy: Policy) -> None:
    """Refuse a policy that cannot start from the results that are there."""
    if core.labels.open_ended and not policy.open_ended:
        raise InvalidInput(f"policy {policy.name} must know how many arms there are: give a sequence or a number")
    policy.new(max(1, core.labels.in_sight), core.seed, 1)
    if policy.rule.amend is None and (core.ledger.rows or core.tickets.open or core.withdrawn):
        raise CannotAmend(
            f"policy {policy.name} cannot start from results and open tickets that are there, as it only knows "
            "results of its own jobs",
            advice="use one that can, such as chase",
        )


def prepared(core: "Core", policy: Policy) -> LiveState:
    """Return the state that a policy starts from: every result that counts, arms in their old order.

    Results that were set aside are among them: each rule judges for itself.
    """
    check(core, policy)
    n_arms = core.labels.available()
    if core.labels.count == 0:
        raise InvalidInput("the iterator gave no arm, but at least one is needed")
    live = LiveState(policy, max(1, n_arms), core.seed, capacity=max(ROOM, core.labels.numbered))
    live.n_arms = n_arms  # 0, if all were withdrawn before one had a number
    if policy.rule.amend is not None:
        _amend_all(live, core.labels.numbered, core.ledger.sums(core.ledger.counting(aside=True)), core.withdrawn)
    return live


def _amend_all(live: LiveState, numbered: int, sums: Sums, withdrawn: set[int]) -> None:
    """Let a fresh state know all that is known of every arm; arms with a number have a record, and can be dropped."""
    if numbered > 0:
        live.amend(numbered - 1, 0, 0.0, 0.0)
    rows = zip(*(column.tolist() for column in sums), strict=True)
    for arm, times, total, squares in rows:
        if arm not in withdrawn:
            live.amend(arm, times, total, squares)
    for arm in sorted(withdrawn):
        live.drop(arm)
    live.amend(NONE, 0, 0.0, 0.0)
