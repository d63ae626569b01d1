"""How far a run is: a bar, a card below the cell of a notebook, a function of the caller, and callbacks."""

import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Final, TypeAlias

from boxthirding._progress import Bar, in_words, listener
from boxthirding._text import counted, written
from boxthirding.errors import InvalidInput
from boxthirding.find.budget import Budget, BudgetTracker
from boxthirding.find.interrupts import say_at_once
from boxthirding.find.summary import measured, named
from boxthirding.session import Glance, Recommendation, Ticket
from boxthirding.types import Label, Policy, Progress

_TICK: Final = 0.5  # seconds after which a display moves without a result
_PULLS_PER_WORKER: Final = 100  # with fewer, too many decisions are taken before results are in
_PAUSE: Final = 0.25  # seconds between two updates of a card


@dataclass(frozen=True)
class NewResult:
    """A result that has just come in, as callbacks of `find_best` get it."""

    ticket: Ticket
    reward: float
    cost: float
    best: Recommendation | None
    """The best arm now, with its mean and pulls."""
    progress: Progress
    """How much of the budget is spent, and how long the rest may take."""
    _stop: Callable[[], None] = field(repr=False, compare=False)

    @property
    def label(self) -> Label:
        """The label of the arm that was evaluated."""
        return self.ticket.label

    @property
    def arm(self) -> Any:
        """The arm that was evaluated, as it was given."""
        return self.ticket.payload

    def stop(self) -> None:
        """End the run: nothing more is started, running evaluations still count, and `found.stopped` is "callback"."""
        self._stop()


Callback: TypeAlias = Callable[[NewResult], object]


def checked(callbacks: Iterable[Callback]) -> tuple[Callback, ...]:
    """Return callbacks; raise `InvalidInput` for what cannot be called with a `NewResult`."""
    if callable(callbacks) or not isinstance(callbacks, Iterable):
        raise InvalidInput(f"callbacks is {callbacks!r}, but must be a list of functions: callbacks=[…]")
    functions = tuple(callbacks)
    for function in functions:
        if not callable(function):
            raise InvalidInput(f"a callback is {function!r}, but must be a function that takes a NewResult")
        if inspect.iscoroutinefunction(function):
            raise InvalidInput(f"the callback {function!r} is a coroutine function, but must be a plain one")
    return functions


def progress_of(tracker: BudgetTracker, latest: Glance) -> Progress:
    """Return how far a run is, in the unit of its budget."""
    budget, seconds = tracker.budget, tracker.seconds
    done = {"pulls": tracker.pulls + tracker.elsewhere, "cost": tracker.cost, "seconds": seconds}[budget.unit]
    here = {"pulls": tracker.pulls, "cost": tracker.cost, "seconds": 0.0}[budget.unit]
    left = None
    if here > 0:  # by the pace until the latest result; from then on it counts down
        left = (budget.limit - done) * tracker.latest / here - (seconds - tracker.latest)
    if budget.seconds is not None:
        rest = max(0.0, budget.seconds - seconds)
        left = rest if left is None else min(left, rest)
    best = latest.recommendation
    note = "" if best is None else f"best so far {named(best.label)}, {measured(written(best.mean), best.pulls)}"
    return Progress(done, budget.limit, budget.unit, seconds, None if left is None else max(0.0, left), note)


def announcement(budget: Budget, n_arms: int | None, workers: int, policy: Policy) -> list[str]:
    """Return what is known of a run before it starts, in a few sentences."""
    arms = "arms from an iterator" if n_arms is None else counted(n_arms, "arm")
    pulls = "" if budget.pulls is None else counted(budget.pulls, "pull")
    cost = "" if budget.cost is None else f"a total cost of {written(budget.cost)}"
    parts = [arms, pulls, cost, f"at most {budget.seconds:g} s" if budget.seconds else ""]
    lines = [", ".join(filter(None, [*parts, counted(workers, "worker")])) + "."]
    planned = getattr(policy, "budget", None)
    if planned is not None and budget.pulls is not None and planned > budget.pulls:
        lines.append(f"The policy plans for {counted(planned, 'pull')}, and will be cut short.")
    most = max(1, (budget.pulls or 0) // _PULLS_PER_WORKER)
    if budget.pulls is not None and workers > most:
        lines.append(
            f"For {counted(budget.pulls, 'pull')} at most {counted(most, 'worker')} would be better: "
            "with more, decisions are taken before results are in."
        )
    return lines


class RunReporter:
    """Shows how far a run is on a display, or calls a function of the caller with it.

    Parameters
    ----------
    progress : bool or callable
        Whether to show anything, or a function to call with a `Progress` after each result.

    """

    def __init__(self, progress: bool | Callable[[Progress], None]) -> None:  # noqa: FBT001  # as in find_best
        self._function = None if isinstance(progress, bool) else listener(progress=progress)
        self._display: Bar | _Card | None = None
        if progress is True and sys.stderr is not None:  # a program without a console has no stderr
            self._display = _Card() if _in_notebook() else Bar(prints=True)
        self._last = ""
        self._from_handler = ""  # to show at the next tick
        self._closed = threading.Event()
        self._ticker: threading.Thread | None = None
        self._lock = threading.Lock()  # the ticker is a thread of its own

    @property
    def is_shown(self) -> bool:
        """Whether anything is shown."""
        return self._display is not None

    def say(self, *lines: str) -> None:
        """Show sentences."""
        with self._lock:
            if self._display is not None:
                self._display.say(*lines)

    def say_once(self, line: str) -> None:
        """Show a sentence, unless it is empty or was the last of these."""
        if line and line != self._last:
            self.say(line)
        self._last = line

    def say_at_once(self, line: str) -> None:
        """Show a sentence from a signal handler, without taking a lock."""
        if self._ticker is not None and self._ticker.is_alive():
            self._from_handler = line
        else:
            say_at_once(line)

    def watch(self, look: Callable[[], Progress]) -> None:
        """Show how far the run is from now on, also while no result comes in."""

        def tick() -> None:
            while True:
                with self._lock:
                    if self._display is not None:
                        self._display(look())
                if self._closed.wait(_TICK):
                    return
                line, self._from_handler = self._from_handler, ""
                if line:
                    self.say(line)

        self._ticker = threading.Thread(target=tick, name="progress", daemon=True)
        self._ticker.start()

    def update(self, tracker: BudgetTracker, latest: Glance) -> None:
        """Report a result."""
        if self._function is not None:
            self._function(progress_of(tracker, latest))
        elif self._display is not None and time.monotonic() >= self._display.next:
            with self._lock:
                self._display(progress_of(tracker, latest))

    def close(self, progress: Progress | None = None, *lines: str) -> None:
        """Show the last state and the last sentences; nothing follows them."""
        self._closed.set()
        if self._ticker is not None:
            self._ticker.join()
            self._ticker = None
        display, self._display = self._display, None
        if isinstance(display, _Card) and progress is not None:
            display(replace(progress, seconds_left=None, note=""))
        if display is not None:
            display.close()
            display.say(*lines)


class _Card:
    """A bar and sentences below the cell of a notebook."""

    def __init__(self) -> None:
        self.next = 0.0  # when it may be drawn again
        self._lines: list[str] = []
        self._progress: Progress | None = None
        self._handle: Any = None

    def __call__(self, progress: Progress) -> None:
        """Move the bar."""
        self.next = time.monotonic() + _PAUSE
        self._progress = progress
        self._show()

    def say(self, *lines: str) -> None:
        """Show sentences below the bar."""
        self._lines += lines
        self._show()

    def close(self) -> None:
        """Leave the card as it is."""

    def _show(self) -> None:
        from IPython.display import display  # noqa: PLC0415  # it is there: we are in a notebook

        texts = [in_words(self._progress), *self._lines] if self._progress is not None else self._lines
        data = {"text/plain": "\n".join(texts), "text/html": self._html(texts)}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython's own
        else:
            self._handle.update(data, raw=True)

    def _html(self, texts: list[str]) -> str:
        bar = ""
        if self._progress is not None:
            share = 100 * min(1.0, self._progress.share or 0.0)
            bar = (
                f'<div role="progressbar" aria-valuenow="{share:.0f}" aria-valuemin="0" aria-valuemax="100" '
                'style="height:8px;border-radius:4px;background:rgba(128,128,128,.28);margin:4px 0">'
                f'<div style="height:100%;border-radius:4px;background:#3b8eea;width:{share:.1f}%"></div></div>'
            )
        lines = "".join(f"<div>{escape(text)}</div>" for text in texts)
        return f'<div style="max-width:42em;font-size:13px;line-height:1.5">{bar}{lines}</div>'


def _in_notebook() -> bool:
    """Return whether the kernel of a notebook runs this program, so that a page shows what is displayed."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None
