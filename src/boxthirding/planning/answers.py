"""The result of a plan, as values and as a table: rows for budgets, budgets for wishes, and the input."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from boxthirding._text import counted
from boxthirding.planning.wishes import Chance

_NOT_IN_JSON: Final = ("percentile_9_of_10", "ratio")
_MINUTE: Final = 60
_HOUR: Final = 3_600
_DAY: Final = 86_400


@dataclass(frozen=True)
class Row:
    """Expected outcome for a budget, averaged over beliefs and runs."""

    budget: int
    regret: float  # how far the answer's true mean is below the best one, in the unit of the scores
    regret_low: float
    regret_high: float  # the 80 % band of the mean regret, for what is not known
    rank: float  # 1 is the best arm
    percentile: float  # the rank in per cent of all arms: 0.1 is the top 0.1 %
    percentile_9_of_10: float  # the answer is at least as good as this in 9 of 10 runs
    top1_chance: float  # the chance that the answer is a top-1 % arm (or the best, if there are fewer than 200)
    arms_tried: float
    winner_pulls: float  # pulls of the arm that is the answer
    ratio: float  # noise over spread: as given, or as believed
    cost: float | None = None
    seconds: float | None = None

    def as_dict(self) -> dict[str, float]:
        """Return the row as `boxthirding plan --json` prints it."""
        named = {name: value for name, value in vars(self).items() if name not in _NOT_IN_JSON}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Granted:
    """The smallest budget that grants a wish."""

    want: str
    row: Row  # what this budget gives besides
    found: Chance

    def as_dict(self) -> dict[str, Any]:
        """Return it as `boxthirding plan --want … --json` prints it."""
        return self.row.as_dict() | {"want": self.want} | vars(self.found)


@dataclass(frozen=True)
class Known:
    """Input of a plan."""

    source: str  # "nothing", "guesses" or "pilot"
    noise: float | None  # the standard deviation of repeated scores of one arm
    spread: float | None  # how far a good arm, one of the best in ten, is above an ordinary one, the median
    spread_high: float | None  # what the spread exceeds with a chance of one in ten
    shows_spread: bool  # whether a pilot tells spread from noise; True for guesses
    pulls_to_show: int | None  # how many more pulls of a pilot would


@dataclass(frozen=True, repr=False)
class Plan:
    """Result of `plan`, printed as a table."""

    arms: int
    known: Known
    rows: tuple[Row, ...]
    """One for each budget; if nothing is known, one for each ratio of noise to spread and budget."""
    granted: tuple[Granted, ...]
    """The smallest budget for the wish; if nothing is known, one for each ratio that has one."""
    notes: tuple[str, ...]
    """What a reader should know about these figures."""
    warning: str = ""
    """Why these figures may be far off, and what to do; empty, if there is no reason."""

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the lines of `boxthirding plan --json`: one per budget, then the budget for the wish."""
        lines: list[tuple[float, dict[str, Any]]] = [(row.ratio, row.as_dict()) for row in self.rows]
        lines += [(one.row.ratio, one.as_dict()) for one in self.granted]
        return [line | ({"ratio": ratio} if self.known.source == "nothing" else {}) for ratio, line in lines]

    def __repr__(self) -> str:
        """Return it as text: what is known, a table, the wish and the notes; a warning stands before the figures."""
        by_ratio = self.known.source == "nothing"
        parts = [heading(self)]
        parts += [f"Warning: {self.warning}."] if self.warning else []
        parts += [_table(self.rows, by_ratio=by_ratio)] if self.rows else []
        if by_ratio:
            parts.append("Regret is in units of the spread. For a plan in yours, give noise and spread, or a pilot.")
        parts += ["\n".join(_sentence(one, self) for one in self.granted)] if self.granted else []
        if self.rows and not by_ratio:
            middle = self.rows[len(self.rows) // 2]
            runs = f"in 9 of 10 runs it is in the top {percent(middle.percentile_9_of_10)}"
            parts.append(f"{in_a_sentence(self)} (top {percent(middle.percentile)}); {runs}.")
        parts += [f"Note: {note}." for note in self.notes]
        return "\n\n".join(parts)


def heading(plan: Plan) -> str:
    """Describe the input of the plan."""
    known = plan.known
    if known.source == "nothing":
        return (
            f"{plan.arms:,} arms; noise and spread are not known, so here are several ratios of noise to spread\n"
            "(spread: how far a good arm, one of the best in ten, is above an ordinary one)"
        )
    how = "guessed" if known.source == "guesses" else "from the pilot"
    spread = f"a good arm is {known.spread:.3g} better than an ordinary one"
    return f"{plan.arms:,} arms; noise {known.noise:.3g}, {spread} ({how})"


def _table(rows: Sequence[Row], *, by_ratio: bool) -> str:
    columns: list[tuple[str, str, Callable[[Row], str]]] = [
        ("", "pulls", lambda row: f"{row.budget:,}"),
        ("mean", "regret", lambda row: f"{row.regret:.3g}"),
        ("80 %", "band", lambda row: f"{row.regret_low:.2g} – {row.regret_high:.2g}"),
        ("", "rank", lambda row: f"{row.rank:,.3g}" if row.rank < 100 else f"{row.rank:,.0f}"),  # noqa: PLR2004
        ("", "top", lambda row: percent(row.percentile)),
        ("9 of 10", "runs: top", lambda row: percent(row.percentile_9_of_10)),
        ("a top-", "1 % arm", lambda row: share(row.top1_chance)),
        ("arms", "tried", lambda row: f"{row.arms_tried:,.0f}"),
        ("winner's", "pulls", lambda row: f"{row.winner_pulls:,.0f}"),
    ]
    if by_ratio:
        columns.insert(0, ("noise /", "spread", lambda row: f"{row.ratio:g}"))
    if rows[0].cost is not None:
        columns.append(("", "cost", lambda row: f"{row.cost:,.2f}"))
    if rows[0].seconds is not None:
        columns.append(("", "time", lambda row: duration(row.seconds or 0.0)))
    lines = [[first for first, _, _ in columns], [second for _, second, _ in columns]]
    lines += [[cell(row) for _, _, cell in columns] for row in rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    text = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    text.insert(2, "  ".join("-" * width for width in widths))
    if by_ratio:
        breaks = [place for place in range(1, len(rows)) if rows[place].ratio != rows[place - 1].ratio]
        for place in reversed(breaks):
            text.insert(place + 3, "")
    return "\n".join(line.rstrip() for line in text)


def in_a_sentence(plan: Plan) -> str:
    """Describe in words what the middle budget gives."""
    row = plan.rows[len(plan.rows) // 2]
    return f"With {counted(row.budget, 'pull')}, expect {standing(row.rank)} of {plan.arms:,}"


def _sentence(one: Granted, plan: Plan) -> str:
    found, row = one.found, one.row
    high = f"{found.budget_high:,}" if found.budget_high is not None else "more than was simulated"
    ratio = f"Noise {row.ratio:g} times the spread: " if plan.known.source == "nothing" else ""
    costs = [f"{row.cost:,.2f}"] if row.cost is not None else []
    costs += [duration(row.seconds)] if row.seconds is not None else []
    return (
        f"{ratio}{one.want}: {counted(row.budget, 'pull')}{' (' + ', '.join(costs) + ')' if costs else ''}; between "
        f"{found.budget_low:,} and {high} for what is not known.\n  Expected there: {share(found.chance)} of runs "
        f"({share(found.chance_low)} to {share(found.chance_high)}), mean regret {row.regret:.3g} "
        f"({row.regret_low:.2g} to {row.regret_high:.2g}), {standing(row.rank)}."
    )


def percent(number: float) -> str:
    """Return a percentage in two digits, as a person would write it.

    >>> percent(0.0213), percent(6.04), percent(47.3)
    ('0.021 %', '6.0 %', '47 %')
    """
    return f"{number:#.2g} %" if number < 10 else f"{number:.0f} %"  # noqa: PLR2004  # from there on without a point


def share(chance: float) -> str:
    """Return a chance in per cent.

    >>> share(0.903)
    '90 %'
    """
    return f"{100 * chance:.0f} %"


def standing(rank: float) -> str:
    """Return a mean rank as a person would say it.

    >>> standing(1.0), standing(1.3), standing(5.7)
    ('the best', 'the best or second best', 'about the 6th best')
    """
    if rank < 1.5:  # noqa: PLR2004  # rounds to 1
        return "the best" if rank < 1.05 else "the best or second best"  # noqa: PLR2004  # different in 1 of 20 runs
    return f"about the {ordinal(round(rank))} best"


def ordinal(number: int) -> str:
    """Return a rank as a person would say it.

    >>> [ordinal(number) for number in (1, 2, 3, 6, 11, 21, 112, 1_303)]
    ['1st', '2nd', '3rd', '6th', '11th', '21st', '112th', '1,303rd']
    """
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def duration(seconds: float) -> str:
    """Return a time as a person would say it.

    >>> duration(40), duration(400), duration(40_000), duration(400_000)
    ('40 s', '6.7 min', '11.1 h', '4.6 days')
    """
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.1f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < _DAY else f"{seconds / _DAY:.1f} days"
