"""What the tests of `find_best` share."""

import time
from functools import partial
from importlib import import_module

import pytest

from boxthirding.find.budget import BudgetTracker


class Clock:
    """The clock of a run: it stands still until a test lets it go, so that a deadline comes after what is tested."""

    def __init__(self):
        self._since = None

    def go(self):
        """Go from now on."""
        self._since = self._since or time.monotonic()

    def __call__(self):
        return 0.0 if self._since is None else time.monotonic() - self._since


@pytest.fixture
def clock(monkeypatch):
    """Give every run of the test one clock, which the test lets go."""
    one = Clock()
    monkeypatch.setattr(import_module("boxthirding.find.find_best"), "BudgetTracker", partial(BudgetTracker, clock=one))
    return one
