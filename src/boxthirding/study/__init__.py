"""Durable studies: a session whose every step is in a journal, shared by threads and processes."""

from boxthirding.study.events import Damaged, Entry, Event
from boxthirding.study.journal import Journal, WorkerLocks, read_journal
from boxthirding.study.settings import Settings
from boxthirding.study.state import Exchange
from boxthirding.study.study import Study

__all__ = ["Damaged", "Entry", "Event", "Exchange", "Journal", "Settings", "Study", "WorkerLocks", "read_journal"]
