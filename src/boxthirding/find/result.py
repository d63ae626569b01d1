"""What `find_best` returns: the best arm, why it stopped, what it spent, and how to measure the winner again."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from boxthirding._checks import whole
from boxthirding._text import counted, sentence, writer
from boxthirding.errors import EvaluationFailed, InvalidInput
from boxthirding.find import summary as summaries
from boxthirding.find.budget import Budget, BudgetTracker, Spending
from boxthirding.find.confirm import Confirmation, FreshPulls
from boxthirding.find.difficulties import ExampleDifficulty, ExampleTable
from boxthirding.find.intervals import ScoreNoise
from boxthirding.find.loops import Engine
from boxthirding.find.progress import RunReporter
from boxthirding.find.search import BUDGET, ERROR, FINISHED, INTERRUPTED, KNOWN, NO_ARMS, REASONS, WAITING, Search
from boxthirding.session import AskTell, Outlier, Recommendation, View
from boxthirding.session.protocol import points
from boxthirding.types import Label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_MOST: Final = 1_000_000  # results of an arm that are looked at


class Answer(NamedTuple):
    """What the best arm was from some moment on."""

    pulls: int
    """Results of the whole session or study at that moment."""
    label: Label
    mean: float
    """Of the arm, at that moment."""


class Found:
    """The best arm of a search, and what is known about it.

    `best` is the arm as it was given to `find_best`, `label` its label; both are None if no evaluation gave a result.
    """

    def __init__(
        self,
        session: AskTell,
        search: Search,
        engine: Engine,
        holders: Mapping[str, int],
        *,
        is_shown: bool,
        is_shared: bool,
    ) -> None:
        self.session = session
        self.recommendation: Recommendation | None = session.recommend()
        self.stopped: str = ERROR if search.error is not None else search.stopped or INTERRUPTED
        """Why it ended.

        `budget` (it is spent), `deadline`, `interrupted` (by Ctrl-C), `finished` (the policy has no more to ask), `no
        arms left`, `known` (nothing that matters is left to evaluate: with examples), `callback` (one of yours called
        `stop()`), `error`; of a study also `study finished`, and `waiting`: others have what is left of the budget, and
        only they know when it comes.
        """
        self.interrupted: bool = self.stopped == INTERRUPTED
        """Whether Ctrl-C ended the search, if only after the last of the budget: `stopped` is `budget` then."""
        if self.interrupted and search.tracker.is_spent:
            self.stopped = BUDGET
        if self.stopped == FINISHED and self.recommendation is None:
            self.stopped = NO_ARMS
        self.spending: Spending = search.tracker.spending(search.abandoned)
        self._moments = session.history()
        self.history = [
            Answer(moment.results, moment.label, moment.mean)
            for place, moment in enumerate(self._moments)
            if place == 0 or self._moments[place - 1].label != moment.label
        ]
        """The best arm with its mean then, whenever it became another, in the whole study: (pulls, label, mean).

        It is thinned as `Session.history` is, so a change that lasted for less than a hundredth of the pulls may be
        left out.
        """
        self.last_failure = search.last_failure
        """What went wrong in the last evaluation that failed; empty if none did."""
        self._handed = dict(search.handed)  # by label: pulls handed out
        self._engine: Engine | None = engine
        examples = engine.evaluation.examples
        self._repeating = "" if examples is None else examples.repeating  # what lets arms see examples again
        if is_shared:  # a study that exists keeps its setting
            self._repeating = f"a new study with {self._repeating}"
        self._is_shown = is_shown  # whether the search has shown its progress
        self._holders = dict(holders)  # others who have open tickets, and how many

    @property
    def best(self) -> Any:
        """The best arm as it was given, or None if there is no result."""
        label = self.label
        return None if label is None else self.arm(label)

    @property
    def label(self) -> Label | None:
        """The label of the best arm, or None if there is no result."""
        return None if self.recommendation is None else self.recommendation.label

    def arm(self, label: Label) -> Any:
        """Return the arm of a label as it was given."""
        return self.session.payload(label)

    @property
    def outliers(self) -> list[Outlier]:
        """The ten latest results excluded as outliers; `session.view().n_outliers` counts all of them."""
        return [*self.session.view().outliers]

    def top(self, k: int) -> list[Recommendation]:
        """Return the k best arms, the recommended one first."""
        return self.session.top(k)

    def confirm(self, k: int, pulls: int) -> Confirmation:
        """Measure each of the k best arms again with `pulls` new pulls, and return their means with 95 % intervals.

        Winners look better than they are, because they were selected; these means do not, because only the new pulls
        count. That takes k · `pulls` evaluations; if the search showed its progress, this number is printed first.
        They are evaluated as in the search, and no study is told. With examples, every arm sees the same ones, those
        first that it has not seen in the search, and is compared with the best one example by example. Ctrl-C waits for
        running evaluations and returns the results so far; a second Ctrl-C abandons them. When an evaluation fails and
        ends it, the `confirmation` of the `EvaluationFailed` has the results so far.
        """
        engine = self._engine_here()
        engine.refuse_running_loop("found.confirm_async(…)")
        return engine.run(*self._confirming(engine, k, pulls))

    async def confirm_async(self, k: int, pulls: int) -> Confirmation:
        """Do the same from a running event loop."""
        engine = self._engine_here()
        return await engine.run_async(*self._confirming(engine, k, pulls))

    def examples(self) -> ExampleTable:
        """Return how hard each example was, the hardest first, and how clearly each tells good arms from bad ones."""
        examples = self._engine_here().evaluation.examples
        if examples is None:
            raise InvalidInput("the search had no examples, so none is harder than others: call find_best(examples=…)")
        rows = [
            ExampleDifficulty(examples.index_of(row.pull), examples[row.pull], *row[1:])
            for row in self.session.difficulties()
        ]
        return ExampleTable(tuple(sorted(rows, key=lambda row: -row.difficulty)))

    def to_dataframe(self) -> "pd.DataFrame":
        """Return a pandas DataFrame with a row for each arm that was tried, best first.

        Its columns are `label`, `mean`, `pulls`, `level` and `withdrawn`; the keys of arms that are dictionaries are
        columns too, and other arms that are not their labels are in the column `arm`.
        """
        return summaries.dataframe(summaries.rows(self.session))

    def plot(self, kind: str = "answer", ax: "Axes | None" = None) -> "Axes":
        """Draw the result with Matplotlib and return the axes.

        Parameters
        ----------
        kind : {"answer", "arms", "boxes"}, default "answer"
            The mean of the answer over time; each arm by its pulls and mean; or how many arms stand in each box.
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: a new picture.

        """
        from boxthirding.session.protocol import plot  # noqa: PLC0415  # the same

        return plot(self.session, kind, ax, self._moments)

    def __repr__(self) -> str:
        view = self.session.view()
        if self.recommendation is None:
            lines = ["Nothing found: no evaluation gave a result"]
        else:
            told = summaries.summary(self.session, view, self.recommendation, self._noise_now())
            lines = [f"Best: {told.arm}", f"  {told.mean}", f"  {told.trust}"]
            if told.advice:
                lines.append(f"  {told.advice}")
            others = told.table[1:]
            if others:
                lines.append("  Next:")
            width = max((len(name) for name, _, _ in others), default=0)
            lines += [f"    {name:{width}}  {summaries.measured(mean, pulls)}" for name, mean, pulls in others]
            lines += [f"  {told.order}"] if told.order else []
            lines += [f"  {sentence(told.screening)}"] if told.screening else []
        return "\n".join([*lines, *(f"  {sentence(line)}" for line in self.account(view))])

    def _repr_html_(self) -> str:
        from boxthirding.find.notebook import climb, ladder, nothing, page  # noqa: PLC0415  # only notebooks show it

        view, best = self.session.view(), self.recommendation
        account = self.account(view)
        if best is None:
            return nothing(account)
        told = summaries.summary(self.session, view, best, self._noise_now())
        if view.boxes:
            path = climb(self.session.why(best.label), best)
        else:
            rungs = self.session.ladder(count=1)
            labels = [arm.label for rung in rungs for arm in rung.arms]
            names = dict(zip(labels, summaries.format_arms((label, self.arm(label)) for label in labels), strict=True))
            write = writer(arm.mean for rung in rungs for arm in rung.arms)
            path = f'<div class="b3-title">The ladder</div>{ladder(rungs, names, write, is_final=view.untried == 0)}'
        return page(told, path, points(self._moments), account)

    def _noise_now(self) -> ScoreNoise:
        """Return the noise of the results that count."""
        scale: list[float] = []  # the rewards that are possible, if the study has such a scale
        if hasattr(self.session, "details"):
            from boxthirding.study.settings import scale_of  # noqa: PLC0415  # already loaded if there is a study

            scale = [*scale_of(self.session.details).values()]
        return ScoreNoise(self.session.spread(arm.label for arm in self.session.top(1 + summaries.RUNNERS_UP)), scale)

    def account(self, view: View | None = None) -> list[str]:
        """Return what was spent, what is left and why it stopped, in a few sentences."""
        view = self.session.view() if view is None else view
        reason = self._rest() if self.stopped == WAITING else REASONS[self.stopped]
        lines = [f"spent {self.spending}; {reason}"]
        if self.stopped == KNOWN and self.spending.left > 0:
            varying = "if scores are noisy even on the same example"
            lines.append(f"an arm sees each example once; {varying}, {self._repeating} would go on")
        if self.spending.failures:
            failed = f"{counted(self.spending.failures, 'evaluation')} failed"
            lines.append(failed if self.stopped == ERROR else f"{failed}; the last: {self.last_failure}")
            if view.withdrawn:
                lines.append(f"{counted(view.withdrawn, 'arm')} {'is' if view.withdrawn == 1 else 'are'} withdrawn")
        if view.n_outliers:
            lines.append(summaries.aside_in_words(view))
        if self.spending.abandoned:
            lines.append(f"{counted(self.spending.abandoned, 'evaluation')} abandoned while running")
        return lines

    def _rest(self) -> str:
        rest = sum(self._holders.values())
        if rest == 0:
            return "others had the rest until just now"
        return f"others have the other {rest:,}: {summaries.format_holders(self._holders)}"

    def _engine_here(self) -> Engine:
        if self._engine is None:
            raise InvalidInput("this result was pickled without the function that evaluates arms: call find_best again")
        return self._engine

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_engine": None}

    def _confirming(self, engine: Engine, k: int, pulls: int) -> tuple[Search, Callable[[], Confirmation]]:
        """Return a search for fresh pulls, and what makes a confirmation of it."""
        whole("pulls", pulls, least=2)
        best = self.session.top(whole("k", k, least=1))
        if not best:
            raise InvalidInput("there is nothing to confirm: no evaluation gave a result")
        examples = engine.evaluation.examples
        first = max(max(arm.pulls, self._handed.get(arm.label, 0)) for arm in best)
        order, seen = [*range(first, first + pulls)], 0
        if examples is not None and examples.repeat:
            seen = max(0, pulls - max(0, len(examples) - first))
        elif examples is not None:
            known = {row.pull for arm in best for row in self.session.results(arm.label, 0, _MOST)}
            unseen = [pull for pull in range(len(examples)) if pull not in known]
            order = [*islice(cycle([*unseen, *sorted(known)]), pulls)]
            seen = max(0, pulls - len(unseen))
        fresh = FreshPulls([(arm.label, self.arm(arm.label)) for arm in best], order, self._noise_now())
        if self._is_shown:
            reporter = RunReporter(progress=True)
            evaluations = counted(pulls * len(best), "evaluation")
            reporter.say(f"Measuring {counted(len(best), 'arm')} again, {pulls:,} pulls each: {evaluations}.")
            reporter.close()
        search = Search(
            fresh, BudgetTracker(Budget()), workers=engine.workers, on_error=engine.on_error, catch=engine.catch
        )

        def conclude() -> Confirmation:
            search.close()
            confirmation = fresh.confirmation(paired=examples is not None, failures=search.tracker.failures, seen=seen)
            if isinstance(search.error, EvaluationFailed):
                came_in = counted(search.tracker.results, "fresh pull")
                search.error.advice = f"error.confirmation has {came_in}"
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
