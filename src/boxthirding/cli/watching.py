"""How a sweep is watched: a bar with the time left on a terminal, elsewhere a line now and then if it takes long."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from boxthirding._progress import Line, is_compiling, left_in_words
from boxthirding.lab import Run, Setting, Watcher
from boxthirding.types import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

Complete = Callable[[Setting, Run], None]


class View(Watcher):
    """Shows how far a sweep is, as its `progress`, and passes on what is complete, as its `watcher`."""

    def __init__(self, show: Callable[[Progress], None], complete: Complete) -> None:
        self._show, self._complete = show, complete

    def __call__(self, progress: Progress) -> None:
        """Show it."""
        self._show(progress)

    def complete(self, setting: Setting, run: Run) -> None:
        """Pass it on."""
        self._complete(setting, run)


@contextmanager
def watched(complete: Complete = lambda *_: None) -> Iterator[View]:
    """Yield what a sweep is to be watched by; `complete` is called with each setting that is complete."""
    if not sys.stderr.isatty():
        yield View(Line(), complete)
        return

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[share]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    with bar:
        yield _OnTerminal(bar, complete)


class _OnTerminal(View):
    """Moves a bar."""

    def __init__(self, bar: "Bar", complete: Complete) -> None:
        super().__init__(self._move, complete)
        self._bar = bar
        self._task = bar.add_task("", total=None, share="", left="")

    def _move(self, progress: Progress) -> None:
        left = "" if progress.seconds_left is None else left_in_words(progress.seconds_left)
        share = None if is_compiling(progress) else progress.share
        self._bar.tasks[0].total = None if share is None else 1.0  # without a total, the bar shows no share
        shown = "" if share is None else f"{100 * share:3.0f} %"
        self._bar.update(self._task, completed=share, share=shown, left=left, description=progress.note)

    def complete(self, setting: Setting, run: Run) -> None:
        """Take the bar away while something is printed."""
        self._bar.stop()
        super().complete(setting, run)
        self._bar.start()
