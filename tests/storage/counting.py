"""What the attacks of a soak test came to, added up over all tests of a session."""

from collections import Counter

COUNTS = Counter()
"""How many attacks of each kind there were; and of what must stay 0: lost, doubled, tracebacks."""


def summary():
    """Return the counts in one line; nothing, if there was no attack."""
    attacks = (
        "kills",
        "faults",
        "flips",
        "folder readers",
        "deleted sidecars",
        "cut commits",
        "forks",
        "unfinished requests",
    )
    if not any(COUNTS[attack] for attack in attacks):
        return ""
    done = ", ".join(f"{COUNTS[attack]:,} {attack}" for attack in attacks)
    harm = ", ".join(f"{COUNTS[what]:,} {what}" for what in ("lost", "doubled", "tracebacks"))
    return f"{done}: {harm}"
