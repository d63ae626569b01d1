"""Durable studies: a session whose every step is in a journal, shared by threads and processes."""

from boxthirding.study.events import (
    ArmsAdded,
    ArmWithdrawn,
    Asked,
    Corrected,
    Created,
    Damaged,
    Entry,
    Event,
    Excluded,
    Failed,
    Finished,
    Given,
    Included,
    Observed,
    Paused,
    Redefined,
    Released,
    Resumed,
    TakenOver,
    Told,
)
from boxthirding.study.exchange import Turn
from boxthirding.study.journal import Journal, Names
from boxthirding.study.reading import read_journal
from boxthirding.study.settings import Settings
from boxthirding.study.study import Study

__all__ = [
    "ArmWithdrawn",
    "ArmsAdded",
    "Asked",
    "Corrected",
    "Created",
    "Damaged",
    "Entry",
    "Event",
    "Excluded",
    "Failed",
    "Finished",
    "Given",
    "Included",
    "Journal",
    "Names",
    "Observed",
    "Paused",
    "Redefined",
    "Released",
    "Resumed",
    "Settings",
    "Study",
    "TakenOver",
    "Told",
    "Turn",
    "read_journal",
]
