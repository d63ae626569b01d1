"""What the tests of sessions share."""

import pytest

from boxthirding.errors import InvalidInput
from boxthirding.study.snapshot import pack


def all_of(session):
    """Return everything that a refusal must leave as it is."""
    return pack(session._core.save())


def refused(session, call, words, kind=InvalidInput):
    """See that a call is refused by these words, and that nothing has changed."""
    before = all_of(session)
    with pytest.raises(kind, match=words) as refusal:
        call()
    assert all_of(session) == before
    assert len(str(refusal.value)) < 1_000


def pull(session, times, reward=lambda _ticket: 0.5):
    """Ask and tell one ticket at a time."""
    for _ in range(times):
        (ticket,) = session.ask()
        session.tell(ticket, reward(ticket))


def drawn(session):
    """Return the labels of all arms in the order in which they are tried, each pulled once."""
    labels = []
    while tickets := session.ask():
        labels += [ticket.label for ticket in tickets]
        for ticket in tickets:
            session.tell(ticket, 0.0)
            session.withdraw(ticket.label)
    return labels
