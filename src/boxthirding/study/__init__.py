"""Durable studies: a session whose every step is in a journal, shared by threads and processes."""

from boxthirding.study.desk import Lent
from boxthirding.study.events import (
    ArmsAdded,
    ArmWithdrawn,
    Asked,
    Closed,
    Created,
    Entry,
    Event,
    Failed,
    Paused,
    Reissued,
    Released,
    Resumed,
    Told,
)
from boxthirding.study.journal import Journal, Names
from boxthirding.study.settings import Settings
from boxthirding.study.study import Study

__all__ = [
    "ArmWithdrawn",
    "ArmsAdded",
    "Asked",
    "Closed",
    "Created",
    "Entry",
    "Event",
    "Failed",
    "Journal",
    "Lent",
    "Names",
    "Paused",
    "Reissued",
    "Released",
    "Resumed",
    "Settings",
    "Study",
    "Told",
]
