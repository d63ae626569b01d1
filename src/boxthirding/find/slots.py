"""Numbered names for the runs of a study: each is that of one run while it lives, and then anybody's."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
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
        if name in self or not is_run(name) or not self._take(name):
            return False
        self.inherited.add(name)
        return True

    def keep(self, renamed: Callable[[str], None]) -> None:
        """Make sure that our names are still ours: while a database is away, others may take us for dead.

        A run whose name nobody could take over has a numbered one as soon as there is one, and stays both.
        """
        if not is_run(self.own):
            name = self._first_free()
            if is_run(name):
                self.inherited.add(self.own)
                self._rename(name, renamed)
        elif not self._take(self.own):
            self._rename(self._first_free(), renamed)
        self.inherited = {name for name in self.inherited if not is_run(name) or self._take(name)}

    def release(self) -> None:
        """Give all names back."""
        self._names.release()

    def _rename(self, name: str, renamed: Callable[[str], None]) -> None:
        self.own = name
        renamed(name)

    def _first_free(self) -> str:
        """Take the first name that is free, and return it; where none can be had, one that nobody takes over."""
        with suppress(OSError):
            for name in (f"{PREFIX}{number}" for number in range(_MOST)):
                if self._names.take(name):
                    return name
        return f"{PREFIX}alone-{os.urandom(8).hex()}"

    def _take(self, name: str) -> bool:
        with suppress(OSError):  # none can be had any more
            return self._names.take(name)
        return False


def is_run(name: str) -> bool:
    """Tell whether a name is that of a run: as long as it cannot be taken, it lives. People choose other names."""
    return _NUMBERED.fullmatch(name) is not None
