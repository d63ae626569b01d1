"""Server-sent events of a study: the id of each is its number in the journal, so a browser resumes automatically."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from itertools import islice
from typing import Any, Final

from starlette.concurrency import run_in_threadpool

from boxthirding.errors import BoxThirdingError
from boxthirding.service.reply_size import without_long
from boxthirding.study import Damaged, Entry, Event, Study
from boxthirding.study.codec import DAMAGED, as_object

PAUSE: Final = 0.5  # seconds for which events are gathered before they are sent

BEAT: Final = 15.0  # seconds after which a comment says that the stream is alive

LOOK: Final = 2.0  # seconds after which the journal is looked at for what other processes wrote

PAGE: Final = 500
_RECENT: Final = 16 * PAGE  # more than a busy server writes in a pause
_SHARED: Final = 16  # pages that streams share


class Announcer:
    """The latest events of a study, and the streams that wait for the next."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._recent: deque[tuple[int, Event]] = deque(maxlen=_RECENT)  # while streams are open
        self._news: asyncio.Event | None = None  # there since the first stream
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_due = False  # whether a wake-up is on its way
        self._pages: dict[tuple[int, bool], asyncio.Task[tuple[bytes, int]]] = {}  # since the last wake-up
        self.open = 0  # streams now
        study.listen(self.hear)

    def hear(self, seq: int, event: Event) -> None:
        """Take note of an event, in whichever thread; a stream that opens later reads it from the journal."""
        if not self.open:
            self._recent.clear()
            return
        if self._recent and seq != self._recent[-1][0] + 1:
            self._recent.clear()
        self._recent.append((seq, event))
        loop = self._loop
        if loop is not None and not self._is_due:
            self._is_due = True
            loop.call_soon_threadsafe(loop.call_later, PAUSE, self._wake)

    async def stream(self, after: int, is_valid: Callable[[], bool], *, brief: bool = False) -> AsyncIterator[bytes]:
        """Yield what happened after an event and what happens next, until the listener may hear no more.

        A brief stream says how far the journal is, and not what happened.
        """
        self._loop = asyncio.get_running_loop()
        if self._news is None:
            self._news = asyncio.Event()
        if not self.open:
            self._pages.clear()  # nothing was heard meanwhile
        self.open += 1
        quiet = 0.0
        try:
            yield b": welcome\nretry: 2000\n\n"
            while is_valid():
                news = self._news  # before the look: what comes after it wakes us, when more has gathered
                text, last = await self._after(after, brief=brief)
                is_whole, after = last - after >= PAGE, last
                if text:
                    quiet = 0.0
                    yield text
                    if is_whole:  # there may be more already
                        continue
                try:
                    await asyncio.wait_for(news.wait(), LOOK)
                except TimeoutError:
                    quiet += LOOK
                    await run_in_threadpool(lambda: self._study.seq)  # hears of what others wrote
                if quiet >= BEAT:
                    quiet = 0.0
                    yield b": still here\n\n"
        except BoxThirdingError:  # the study was deleted, or cannot be reached: a browser comes back, and is told so
            return
        finally:
            self.open -= 1

    def _wake(self) -> None:
        self._is_due = False
        self._pages.clear()
        news, self._news = self._news, asyncio.Event()
        if news is not None:
            news.set()

    async def _after(self, after: int, *, brief: bool) -> tuple[bytes, int]:
        """Return a page of what came after an event, and the last number in it; streams in step share the work."""
        place = after, brief
        made = self._pages.get(place)
        if made is None or (made.done() and made.exception() is not None):
            if len(self._pages) >= _SHARED:
                self._pages.clear()
            made = self._pages[place] = asyncio.create_task(self._summed_up(after) if brief else self._told(after))
        return await asyncio.shield(made)  # a stream that is closed meanwhile takes nothing from the others

    async def _summed_up(self, after: int) -> tuple[bytes, int]:
        last = self._recent[-1][0] if self._recent else await run_in_threadpool(lambda: self._study.seq)
        if last == after:  # less: another study has the name now
            return b"", after
        return f'id: {last}\ndata: {{"seq":{last}}}\n\n'.encode(), last

    async def _told(self, after: int) -> tuple[bytes, int]:
        recent = list(self._recent)
        if recent and recent[0][0] <= after + 1:
            entries: list[Entry | Damaged] = [Entry(*pair) for pair in recent[after + 1 - recent[0][0] :][:PAGE]]
        else:
            entries = await run_in_threadpool(page, self._study, after, PAGE)
        return "".join([_format_message(entry) for entry in entries]).encode(), entries[-1].seq if entries else after


def page(study: Study, after: int, count: int) -> list[Entry | Damaged]:
    """Return up to `count` events after a number."""
    return list(islice(study.events(after, damaged=True), count))


def event_row(entry: Entry | Damaged) -> dict[str, Any]:
    """Return an event as a JSON object with its number; of many arms only how many, as the journal's export has all.

    A field that is too long for a reply is left out, and named.
    """
    if isinstance(entry, Damaged):
        return {"seq": entry.seq, "event": DAMAGED, "problem": entry.problem}
    row = {name: value for name, value in as_object(entry.event).items() if name not in _LONG}
    labels = getattr(entry.event, "arms", None) or getattr(entry.event, "labels", None)
    return without_long({"seq": entry.seq, **row, **({} if labels is None else {"n_arms": len(labels)})})


_LONG: Final = frozenset({"arms", "payloads", "drawn_payloads", "labels"})


def _format_message(entry: Entry | Damaged) -> str:
    return f"id: {entry.seq}\ndata: {json.dumps(event_row(entry), separators=(',', ':'))}\n\n"
