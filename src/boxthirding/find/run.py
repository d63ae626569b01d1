"""One run of find_best: its search, what hears of the results, and what becomes of it."""

import weakref
from array import array
from contextlib import ExitStack
from typing import TYPE_CHECKING

from boxthirding._text import counted, written
from boxthirding.find.budget import Account, Limits
from boxthirding.find.engine import Engine
from boxthirding.find.interrupts import Interrupts
from boxthirding.find.opening import Opened
from boxthirding.find.progress import Callback, NewResult, RunReporter, announcement, progress_of
from boxthirding.find.result import Found, raise_error
from boxthirding.find.search import TROUBLE, Search, Told
from boxthirding.find.source import Source
from boxthirding.find.words import arms_in_words, measured, named

if TYPE_CHECKING:
    from boxthirding.types import Label


class Run:
    """A search for the best arm of a study, and those who hear of it: the display, the callbacks, the history."""

    def __init__(
        self,
        opened: Opened,
        crew: Engine,
        limits: Limits,
        reporter: RunReporter,
        callbacks: tuple[Callback, ...],
        stack: ExitStack,
    ) -> None:
        self._opened, self._crew, self._reporter, self._callbacks = opened, crew, reporter, callbacks
        self._stack = stack  # what is let go of at the end
        self._account = Account(limits)
        self._source = Source(opened.study, self._account)
        self._is_shown = reporter.is_shown
        self._tells_spread = hasattr(opened.study, "spread")
        self._scores: dict[Label, array[float]] = {}  # by arm, of a study that does not tell their spread
        stack.callback(self._source.let_go_quietly)
        stack.callback(reporter.close)
        self.search = Search(
            self._source,
            self._account,
            workers=crew.workers,
            on_error=crew.on_error,
            catch=crew.catch,
            told=self._told,
            patient=self._patient,
            say_at_once=reporter.say_at_once,
            unreachable=lambda trouble: reporter.say_once(f"The study cannot be reached, trying again: {trouble}"),
        )
        self._announce(limits)

    def conclude(self) -> Found:
        """Return what was found, when the search has ended, or raise what ended it."""
        search, source = self.search, self._source
        search.close()
        if not isinstance(search.error, TROUBLE):
            source.let_go_quietly()
        try:
            holders = source.holders() if self._opened.is_shared else {}
            found = Found(self._opened.study, search, self._crew, holders, self._scores, is_shown=self._is_shown)
        except TROUBLE as trouble:
            if isinstance(search.error, TROUBLE):
                raise search.error from trouble
            raise trouble from search.error or trouble.__cause__
        if self._opened.is_ours:  # the study can be read for as long as there is the result
            weakref.finalize(found, self._stack.pop_all().close)
        best = found.recommendation
        answer = (
            "No result"
            if best is None
            else f"Best: {self._named(best.label)}, {measured(written(best.mean), best.pulls)}"
        )
        spent, *others = found.account()
        self._reporter.close(progress_of(self._account, source.latest), f"{answer}; {spent}.", *others)
        raise_error(search, found)
        return found

    def _named(self, label: "Label") -> str:
        """Return what an arm is called; one that is no number itself is not called by its number."""
        return (
            arms_in_words([(label, self._opened.study.payload(label))])[0] if isinstance(label, int) else named(label)
        )

    def _announce(self, limits: Limits) -> None:
        """Show the plan, and from then on how far it is."""
        if not self._reporter.is_shown:
            return
        study = self._opened.study
        self._reporter.say(*announcement(limits, study.view().arms, self._crew.workers, study.policy))
        if self._opened.is_shared:
            self._reporter.say(_greeting(self._opened, self._source))
        self._reporter.watch(lambda: progress_of(self._account, self._source.latest))

    def _told(self, results: list[Told]) -> None:
        """Note the scores, and pass results on."""
        for ticket, reward, _ in () if self._tells_spread else results:
            self._scores.setdefault(ticket.label, array("d")).append(reward)
        latest = self._source.latest
        best = latest.recommendation
        if self.search.error is not None:
            return
        try:
            self._reporter.update(self._account, latest)
            for result in results if self._callbacks else ():
                progress = progress_of(self._account, latest)
                new = NewResult(*result, best, progress, self.search.enough)
                for callback in self._callbacks:
                    with Interrupts.breakable():
                        callback(new)
        except KeyboardInterrupt:  # broke off a callback
            self.search.interrupt()
        except Exception as error:  # noqa: BLE001  # of a function of the caller's: raised when the run has ended
            self.search.end_with(error)

    def _patient(self, room: bool) -> bool:  # noqa: FBT001  # the one thing that a search knows
        reason = self._source.reason_to_wait(room=room) if self._opened.is_shared else ""
        self._reporter.say_once(reason)
        return bool(reason)


def _greeting(opened: Opened, source: Source) -> str:
    """Say what was there before."""
    pulls, still_open = source.latest.pulls, source.latest.open
    where = f"Study {place}" if (place := getattr(opened.study, "place", None)) else "The study"
    there = f"resuming from {counted(pulls, 'pull')}" if pulls or still_open else "new"
    return f"{where}: {there}" + (f", {counted(still_open, 'ticket')} open." if still_open else ".")
