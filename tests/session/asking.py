"""What the tests of sessions share."""


def seen_of(session):
    """Return everything that a refusal must leave as it is."""
    state = [array.tobytes() for array in session._state]
    return session.recommend(), session.top(3), session.pulls, session.waiting, state


def pull(session, times, reward=lambda _ticket: 0.5):
    """Ask and tell one ticket at a time."""
    for _ in range(times):
        (ticket,) = session.ask()
        session.tell(ticket, reward(ticket))


def drawn(session):
    """Return the labels of all arms in the order in which they are met, each pulled once."""
    labels = []
    while tickets := session.ask():
        labels += [ticket.label for ticket in tickets]
        for ticket in tickets:
            session.tell(ticket, 0.0)
            session.withdraw(ticket.label)
    return labels
