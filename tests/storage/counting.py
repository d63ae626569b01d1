"""What the attacks of a soak test came to, added up over all tests of a session."""

from collections import Counter

HARM = ("lost", "doubled", "false alarms", "tracebacks")
"""What must stay 0."""

COUNTS = Counter()
"""How many attacks of each kind there were, and how much harm was done."""


def summary():
    """Return the counts in one line; nothing, if there was no attack."""
    attacks = ", ".join(f"{count:,} {what}" for what, count in COUNTS.items() if what not in HARM)
    harm = ", ".join(f"{COUNTS[what]:,} {what}" for what in HARM)
    return attacks and f"{attacks}: {harm}"
