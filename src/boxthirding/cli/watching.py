"""How a sweep is watched: a bar with the time left on a terminal, elsewhere a line now and then if it takes long."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from boxthirding.sim import Forecast, Run, Setting

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

EVERY: Final = 30.0
"""Seconds between two lines where there is no terminal; nothing is said before the first of them."""

_MINUTE = 60
_HOUR = 3600

Complete = Callable[[Setting, Run], None]


@contextmanager
def watched(settings: Sequence[Setting], complete: Complete) -> Iterator[Forecast]:
    """Yield what a sweep of these settings is to be watched by; `complete` is called with each that is complete."""
    if not sys.stderr.isatty():
        yield _Lines(settings, complete)
        return

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[left]}", markup=False),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    with bar:
        yield _OnTerminal(settings, complete, bar)


class _Watcher(Forecast):
    """Knows how a setting is called and when to pass it on."""

    def __init__(self, settings: Sequence[Setting], complete: Complete) -> None:
        super().__init__(settings)
        self._complete = complete
        many = len(settings)
        self._labels = {one: f"{one.policy} ({k} of {many})" for k, one in enumerate(settings, start=1)}

    def complete(self, setting: Setting, run: Run) -> None:
        """Pass it on."""
        self._complete(setting, run)

    def _left_in_words(self) -> str:
        left = self.seconds_left()
        return "" if left is None else f"about {in_words(left)} left"


class _OnTerminal(_Watcher):
    """Moves a bar."""

    def __init__(self, settings: Sequence[Setting], complete: Complete, bar: "Bar") -> None:
        super().__init__(settings, complete)
        self._bar = bar
        self._task = bar.add_task("", total=1.0, left="")

    def began(self, setting: Setting) -> None:
        """Say that this may take a moment."""
        super().began(setting)
        self._show(description=f"{self._labels[setting]}: compiling (first run only)")

    def ended(self, setting: Setting, replicates: int, seconds: float) -> None:
        """Move the bar."""
        super().ended(setting, replicates, seconds)
        self._show(description=self._labels[setting])

    def complete(self, setting: Setting, run: Run) -> None:
        """Take the bar away while something is printed."""
        self._bar.stop()
        super().complete(setting, run)
        self._bar.start()

    def _show(self, **changed: Any) -> None:
        self._bar.update(self._task, completed=self.share, left=self._left_in_words(), **changed)


class _Lines(_Watcher):
    """Prints a line on stderr now and then."""

    def __init__(self, settings: Sequence[Setting], complete: Complete) -> None:
        super().__init__(settings, complete)
        self._next = time.monotonic() + EVERY

    def ended(self, setting: Setting, replicates: int, seconds: float) -> None:
        """Say how far it is, if it is time."""
        super().ended(setting, replicates, seconds)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY
            click.echo(f"{self._labels[setting]}: {self.share:.0%} of all done, {self._left_in_words()}", err=True)


def in_words(seconds: float) -> str:
    """Return a time to wait as a person would say it."""
    if seconds < _MINUTE:
        return f"{max(1, round(seconds))} s"
    if seconds < _HOUR:
        return f"{round(seconds / _MINUTE)} min"
    return f"{seconds / _HOUR:.1f} h"
