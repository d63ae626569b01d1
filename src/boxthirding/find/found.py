"""What `find_best` returns: the best arm, why it stopped, what it spent, and how to measure the winner afresh."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from boxthirding._checks import whole
from boxthirding.errors import EvaluationFailed, InvalidInput, UnknownLabel
from boxthirding.find.budget import Account, Limits, Spending, counted
from boxthirding.find.confirm import Confirmation, FreshPulls
from boxthirding.find.engine import Engine
from boxthirding.find.plan import having, measured, named
from boxthirding.find.search import BUDGET, CLOSED, DEADLINE, ERROR, FINISHED, INTERRUPTED, WAITING, Search
from boxthirding.session import AskTell, Recommendation
from boxthirding.types import Label

NO_ARMS: Final = "no arms left"

_REASONS: Final = {
    BUDGET: "the budget is spent",
    DEADLINE: "the time is up",
    INTERRUPTED: "interrupted",
    FINISHED: "the policy has finished",
    NO_ARMS: "no arm is left",
    CLOSED: "the study is closed",
    ERROR: "an error ended it",
}
_RUNNERS_UP = 3
_GOOD = 0.01  # the share of arms that the screening sentence speaks of


class Found:
    """The best arm of a search, and what is known about it.

    `best` is the arm as it was given to `find_best`, `label` its label; both are None if no evaluation gave a result.
    """

    def __init__(
        self,
        session: AskTell,
        search: Search,
        engine: Engine,
        history: list[tuple[int, Label]],
        arms: Mapping[Label, Any] | None = None,
        out: Mapping[str, int] | None = None,
    ) -> None:
        self.session = session
        self.recommendation: Recommendation | None = session.recommend()
        self.stopped: str = ERROR if search.error is not None else search.stopped or INTERRUPTED
        """Why it ended.

        `budget` (it is spent), `deadline`, `interrupted` (by Ctrl-C), `finished` (the policy has no more to ask), `no
        arms left`, `error`; of a study also `closed`, and `waiting`: what is left of the budget is out, and those who
        have it are no runs of ours, so that only they know when it comes.
        """
        if self.stopped == FINISHED and self.recommendation is None:
            self.stopped = NO_ARMS
        self.spending: Spending = search.account.spending(search.abandoned)
        self.history = history
        """(pulls, label) whenever the recommendation changed."""
        self.last_failure = search.last_failure
        """What went wrong in the last evaluation that failed; empty if none did."""
        self._search, self._engine = search, engine
        self._arms = arms  # of a study: those that are not their own labels
        self._out = out or {}  # of a study: who has tickets under way, and how many

    @property
    def best(self) -> Any:
        """The best arm as it was given, or None if there is no result."""
        label = self.label
        return None if label is None else self.arm(label)

    @property
    def label(self) -> Label | None:
        """The label of the best arm, or None if there is no result."""
        return None if self.recommendation is None else self.recommendation.label

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return self.stopped == INTERRUPTED

    def arm(self, label: Label) -> Any:
        """Return the arm of a label as it was given."""
        if label in self._search.payloads:
            return self._search.payloads[label]
        if self._arms is None or self.session.why(label).pulls == 0:  # else it was evaluated before, in the same study
            raise UnknownLabel(f"label {label!r} was never evaluated in this search")
        return self._arms.get(label, label)

    def top(self, k: int) -> list[Recommendation]:
        """Return the k best arms, the recommended one first."""
        return self.session.top(k)

    def confirm(self, k: int, pulls: int) -> Confirmation:
        """Pull each of the k best arms so many times afresh, and return their means with 95 % intervals.

        The mean of the arm that looked best is flattered by having been selected; these are not, because only
        the fresh pulls count. They are evaluated as in the search, and told to nobody. With examples, every arm meets
        the same ones, those first that it has not met in the search, and is compared with the best one example by
        example. Ctrl-C returns what has come in. When an evaluation fails and ends it, the `confirmation` of the
        `EvaluationFailed` is what has come in.
        """
        self._engine.refuse_running_loop("found.confirm_async(…)")
        search, conclude = self._confirming(k, pulls)
        return self._engine.carry_out(search, conclude)

    async def confirm_async(self, k: int, pulls: int) -> Confirmation:
        """Do the same from a running event loop."""
        from boxthirding.find.awaiting import carry_out  # noqa: PLC0415  # asyncio takes its time to import

        search, conclude = self._confirming(k, pulls)
        return await carry_out(self._engine, search, conclude)

    def __repr__(self) -> str:
        if self.recommendation is None:
            lines = ["Found nothing: no evaluation gave a result"]
        else:
            label, mean, pulls, level = self.recommendation
            at = f", at level {level}" if level is not None else ""
            lines = [f"Found {named(label)}: {measured(mean, pulls)}{at}"]
            others = [
                f"{named(arm.label)} ({arm.mean:.4g}, {counted(arm.pulls, 'pull')})" for arm in self._runners_up()
            ]
            if others:
                lines.append("  then " + ", ".join(others))
        lines += [f"  {line}" for line in self.account()]
        if self.recommendation is not None:
            lines.append(f"  {self.session.screening(_GOOD)}")
            lines.append("  the mean of an arm that was selected flatters it: confirm(k, pulls) measures afresh")
        return "\n".join(lines)

    def account(self) -> list[str]:
        """Return what was spent, what is left and why it stopped, in a line or two."""
        reason = self._rest() if self.stopped == WAITING else _REASONS[self.stopped]
        lines = [f"spent {self.spending}; {reason}"]
        if self.spending.failures:
            failed = f"{counted(self.spending.failures, 'evaluation')} failed"
            lines.append(failed if self.stopped == ERROR else f"{failed}; the last: {self.last_failure}")
        if self.spending.abandoned:
            lines.append(f"{counted(self.spending.abandoned, 'evaluation')} under way not waited for")
        return lines

    def _rest(self) -> str:
        rest = sum(self._out.values())
        if rest == 0:
            return "the rest was out at others until just now"
        return f"the other {rest:,} {'is' if rest == 1 else 'are'} out: {having(self._out)}"

    def _runners_up(self) -> list[Recommendation]:
        return self.session.top(1 + _RUNNERS_UP)[1:]

    def _confirming(self, k: int, pulls: int) -> tuple[Search, Callable[[], Confirmation]]:
        """Return a search for fresh pulls, and what makes a confirmation of it."""
        whole("pulls", pulls, least=2)
        best = self.session.top(whole("k", k, least=1))
        if not best:
            raise InvalidInput("there is nothing to confirm: no evaluation gave a result")
        first = max(max(arm.pulls, self._search.handed.get(arm.label, 0)) for arm in best)
        fresh = FreshPulls([(arm.label, self.arm(arm.label)) for arm in best], first, pulls)
        search = Search(fresh, Account(Limits()), workers=self._engine.workers, on_error=self._engine.on_error)
        examples = self._engine.task.examples
        seen = 0 if examples is None else max(0, pulls - max(0, len(examples) - first))

        def conclude() -> Confirmation:
            confirmation = fresh.confirmation(paired=examples is not None, failures=search.account.failures, seen=seen)
            if isinstance(search.error, EvaluationFailed):
                came_in = counted(search.account.results, "fresh pull")
                search.error.args = (f"{search.error}; the `confirmation` of this error has {came_in}",)
            raise_error(search, self, confirmation)
            return confirmation

        return search, conclude


def raise_error(search: Search, found: Found, confirmation: Confirmation | None = None) -> None:
    """Raise what ended a search, if something did, with what had been found by then."""
    error: Any = search.error
    if error is None:
        return
    with suppress(AttributeError):  # whatever evaluate raises to end the program, not only our own errors
        error.found, error.confirmation = found, confirmation
    raise error
