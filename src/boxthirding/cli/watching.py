"""How a sweep is watched: a bar with the time left on a terminal, elsewhere a line now and then if it takes long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from boxthirding._progress import Bar
from boxthirding.lab import Run, Setting, Watcher
from boxthirding.types import Progress

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
    bar = Bar(prints=True)
    try:
        yield View(bar, complete)
    finally:
        bar.close()
