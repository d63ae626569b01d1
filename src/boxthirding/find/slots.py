"""Numbered names for the runs of a study: each is that of one run while it lives, and then anybody's."""

import os
import re
from collections.abc import Callable
from typing import Final

from boxthirding.study import Names

PREFIX: Final = "find_best-"
_NUMBERED = re.compile(rf"{PREFIX}\d+")
_MOST = 1000  # runs of one study at a time


class Slots:
    """The names that a run has: one that it asks under, and those of the dead whose tickets it has taken over."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.own = self._first_free()
        """The name that we ask under."""
        self.inherited: set[str] = set()
        """Those whose tickets are ours as well."""

    def __contains__(self, name: object) -> bool:
        return name == self.own or name in self.inherited

    def inherit(self, name: str) -> bool:
        """Take the name of a run that has died; return whether it was one, and is ours now."""
        if name in self or not is_run(name) or not self._names.take(name):
            return False
        self.inherited.add(name)
        return True

    def keep(self, renamed: Callable[[str], None]) -> None:
        """Make sure that our names are still ours: while a database is away, others may take us for dead."""
        if is_run(self.own) and not self._names.take(self.own):
            self.own = self._first_free()
            renamed(self.own)
        self.inherited = {name for name in self.inherited if self._names.take(name)}

    def release(self) -> None:
        """Give all names back."""
        self._names.release()

    def _first_free(self) -> str:
        """Take the first name that is free, and return it; where none can be had, one that nobody takes over."""
        names = (f"{PREFIX}{number}" for number in range(_MOST))
        return next(filter(self._names.take, names), None) or f"{PREFIX}alone-{os.urandom(8).hex()}"


def is_run(name: str) -> bool:
    """Tell whether a name is that of a run: as long as it cannot be taken, it lives. People choose other names."""
    return _NUMBERED.fullmatch(name) is not None
