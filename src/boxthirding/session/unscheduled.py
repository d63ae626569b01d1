"""Tickets that no job asked for; their results are amended, as known ones are.

A rater sees an arm once, so late in a small contest a rule may want only arms that the rater has seen. Its time is not
lost: it is handed the best arm that it has not seen. And where examples run out, a rule may want only arms that are
complete, while another may be as good.
"""

from itertools import chain
from typing import Final, NamedTuple

from boxthirding.session import examples
from boxthirding.session.core import Core
from boxthirding.session.values import Ticket
from boxthirding.types import NONE, Label

MOST_WAITING: Final = 1_024
"""Jobs that wait for other holders, after which the rule is not asked for one more holder who may have none of them."""


class HandedOut(NamedTuple):
    """What came of a question for tickets, beside the tickets."""

    short: bool
    """Whether the rule was asked, and had no more to give."""
    extra: int
    """How many of the tickets, the last ones, no job asked for."""


def hand_out(core: Core, n: int, holder: str, at: float, tickets: list[Ticket], *, unseen: bool) -> HandedOut:
    """Add up to n new tickets for a holder to a list: of jobs, and then such that no job asked for.

    Should an iterator of arms raise, the tickets before are in the list.
    """
    end, short = len(tickets) + n, False
    if unseen and core.amends:
        while len(tickets) < end and not short and not _enough_waits(core, holder):
            short = core.cut(1, holder, at, tickets, unseen=True)
    else:
        short = core.cut(n, holder, at, tickets, unseen=unseen)
    jobs = len(tickets)
    while len(tickets) < end and (arm := _next_extra(core, holder, unseen=unseen)) != NONE:
        tickets.append(core.cut_extra(arm, holder, at))
    return HandedOut(short, len(tickets) - jobs)


def again(core: Core, label: Label, holder: str, at: float) -> Ticket:
    """Cut a ticket that a journal says was cut without a job."""
    arm = core.labels.find(label)
    return core.cut_extra(_next_in_pool(core) if arm is None else arm, holder, at)


def _enough_waits(core: Core, holder: str) -> bool:
    """Tell whether so many jobs wait for other holders that the rule is not asked for more of them."""
    if core.wanted.jobs < MOST_WAITING or core.labels.open_ended:
        return False
    return core.wanted.first_but(core.seen.by(holder)) is None


def _next_extra(core: Core, holder: str, *, unseen: bool) -> int:
    """Return the arm of a ticket that no job asked for; NONE, if there is none, or its result could not be amended."""
    if not core.amends:
        return NONE
    if unseen:
        return _best_unseen(core, holder)
    return examples.rival(core) if core.is_known else NONE


def _best_unseen(core: Core, holder: str) -> int:
    """Return the best arm that a holder was never handed: by rank, then those without a result, then a new one."""
    if examples.is_over(core):
        return NONE
    seen = core.seen.by(holder)
    for arm in chain(core.running.ranking(len(seen) + 1), range(core.labels.numbered)):
        if arm not in seen and arm not in core.withdrawn and examples.is_any_left(core, arm):
            return arm
    return _next_in_pool(core)


def _next_in_pool(core: Core) -> int:
    """Give the next number to an arm drawn from those that have none; NONE, if there is none."""
    if core.labels.numbered >= core.labels.in_sight:
        return NONE
    return core.number_next()
