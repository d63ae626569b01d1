"""Where a run shows how far it is: a notebook, a terminal with rich or without it, or a log."""

import sys
from dataclasses import replace
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from boxthirding._progress import CLEAR, Line, in_words, spoken
from boxthirding.types import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

_BLUE = "#3b8eea"  # is seen on white and on black


class Display(Protocol):
    """What shows sentences and a bar."""

    pause: float
    """Seconds between two moves of the bar."""

    def say(self, *lines: str) -> None:
        """Show sentences."""

    def draw(self, progress: Progress) -> None:
        """Move the bar."""

    def close(self, progress: Progress | None) -> None:
        """Show no bar any more, or where it ended."""


def display() -> Display | None:
    """Return the display for where this program runs; None for a program without a console."""
    if _in_notebook():
        return Notebook()
    if sys.stderr is None:
        return None
    if sys.stderr.isatty() and find_spec("rich") is not None:
        return RichBar()
    return Plain()


class Plain:
    """Writes to stderr: a bar of our own on a terminal, a line now and then elsewhere."""

    pause = 0.0  # a line has its own

    def __init__(self) -> None:
        self._line = Line()

    def say(self, *lines: str) -> None:
        """Print sentences above the bar."""
        clear = CLEAR if self._line.is_live else ""
        sys.stderr.write(clear + "".join(f"{line}\n" for line in lines))
        sys.stderr.flush()

    def draw(self, progress: Progress) -> None:
        """Move the bar, or write a line, if it is time."""
        self._line(progress)

    def close(self, progress: Progress | None) -> None:  # noqa: ARG002  # the last sentences say it
        """Clear the bar."""
        if self._line.is_live:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()


class RichBar:
    """A bar on the last lines of a terminal, drawn by rich; what `evaluate` prints appears above it."""

    pause = 0.1

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415  # an extra: loaded when there is a bar to draw
        from rich.progress import BarColumn, TextColumn  # noqa: PLC0415
        from rich.progress import Progress as Bar  # noqa: PLC0415
        from rich.table import Column  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        class TwoLines(Bar):
            """A bar, and the note below it."""

            note = ""

            def get_renderables(self) -> "Iterable[RenderableType]":
                yield from super().get_renderables()
                yield Text(self.note, style="dim", no_wrap=True, overflow="ellipsis")

        console = Console(stderr=True)
        width = min(24, max(8, console.width - 56))  # in a narrow terminal the words are shortened, and the bar stays
        self._bar = TwoLines(
            TextColumn("{task.percentage:>3.0f} %"),
            BarColumn(bar_width=width),
            TextColumn(
                "{task.fields[words]}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")
            ),
            console=console,
            expand=True,
            auto_refresh=False,
            transient=True,
            redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),  # what is piped on goes where it went
        )
        self._task = self._bar.add_task("", total=1.0, words="starting")

    def say(self, *lines: str) -> None:
        """Print sentences above the bar."""
        for line in lines:
            self._bar.console.print(line, markup=False, highlight=False)

    def draw(self, progress: Progress) -> None:
        """Move the bar."""
        self._bar.start()
        self._bar.note = progress.note
        self._bar.update(self._task, completed=progress.share or 0.0, words=spoken(progress), refresh=True)

    def close(self, progress: Progress | None) -> None:  # noqa: ARG002  # the same
        """Remove the bar."""
        self._bar.stop()


class Notebook:
    """A block below the cell: a bar, and sentences under it."""

    pause = 0.25

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._progress: Progress | None = None
        self._is_over = False
        self._handle: Any = None

    def say(self, *lines: str) -> None:
        """Show sentences below the bar."""
        self._lines += lines
        self._show()

    def draw(self, progress: Progress) -> None:
        """Move the bar."""
        self._progress = progress
        self._show()

    def close(self, progress: Progress | None) -> None:
        """Let the bar stand where it ended."""
        self._progress, self._is_over = progress or self._progress, True
        self._show()

    def _show(self) -> None:
        from IPython.display import display as show  # noqa: PLC0415  # it is there: we are in a notebook

        block = _Block(self._progress, tuple(self._lines), is_over=self._is_over)
        if self._handle is None:
            self._handle = show(block, display_id=True)  # type: ignore[no-untyped-call]  # IPython's own
        else:
            self._handle.update(block)


class _Block:
    """A bar and sentences, as a page and as text."""

    def __init__(self, progress: Progress | None, lines: tuple[str, ...], *, is_over: bool) -> None:
        self._progress, self._lines, self._is_over = progress, lines, is_over

    def __repr__(self) -> str:
        bar = [] if self._progress is None else [in_words(self._progress)]
        return "\n".join([*bar, *self._lines])

    def _repr_html_(self) -> str:
        small = "".join(f"<div>{escape(line)}</div>" for line in self._lines)
        bar = "" if self._progress is None else _bar(self._progress, is_over=self._is_over)
        text = f'<div style="opacity:.75">{small}</div>'
        return f'<div style="max-width:42em;font-size:13px;line-height:1.5">{bar}{text}</div>'


def _bar(progress: Progress, *, is_over: bool) -> str:
    share = 100 * min(1.0, progress.share or 0.0)
    words = f"{share:.0f} %, {spoken(replace(progress, seconds_left=None) if is_over else progress)}"
    note = "" if is_over else progress.note
    track = "height:8px;border-radius:4px;background:rgba(128,128,128,.28);margin:4px 0"
    fill = f"height:100%;border-radius:4px;background:{_BLUE};width:{share:.1f}%"
    return (
        f'<div role="progressbar" aria-valuenow="{share:.0f}" aria-valuemin="0" aria-valuemax="100" style="{track}">'
        f'<div style="{fill}"></div></div><div>{escape(words)}</div>' + (f"<div>{escape(note)}</div>" if note else "")
    )


def _in_notebook() -> bool:
    """Tell whether what is displayed appears on a page: the kernel of a notebook runs this program."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None
