"""`plan`: how many pulls a search takes, and how good its answer will be, from what is known before it begins."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from boxthirding import _compile
from boxthirding._checks import is_finite, not_negative, whole
from boxthirding._progress import listener
from boxthirding.errors import InvalidInput
from boxthirding.planning.answers import Granted, Known, Plan, Row
from boxthirding.planning.beliefs import Belief, guessed, learned
from boxthirding.planning.outcomes import NINE_IN_TEN, Effort, Outcomes, band_of_size, mean_and_doubt, simulated, sizes
from boxthirding.planning.pilots import FEWEST_ARMS, Pilot, Scores, read_pilot
from boxthirding.planning.wishes import Wish, parse_wish, runs_to_tell, smallest, steps
from boxthirding.types import Progress

RATIOS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Noise in units of the spread, used if nothing is known; without Numba every second one."""

MOST_ARMS: Final = 1_000_000
MOST_PULLS: Final = 100_000_000

_SHARES: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10)  # of the number of arms: the budgets unless given
_FEW_SHARES: Final = (0.1, 1, 10)  # also if there is a row for each ratio
_SMALL_PILOT: Final = 10  # arms, and repeated scores: with fewer, noise and spread are uncertain by a quarter or more
_TOP: Final = 0.01  # the share of arms that count as top ones
_FAR: Final = (10, 100)  # pulls for each arm up to which a budget for a wish is looked for: first here, then there
_FAR_ENOUGH: Final = 20_000  # pulls, where arms are few
_TOO_FAR: Final = 5_000_000  # pulls, where arms are many
_PATIENCE: Final = 6  # times the usual effort, to look that far
_BEYOND: Final = 1.4  # times the budget that grants a wish, as far as it was seen: runs that decide end there
_FEWEST_TO_DECIDE: Final = 10  # runs under each belief that decide, where more would take too long
_MOST_TO_DECIDE: Final = (12_000_000, 400_000_000)  # pulls of all runs that decide: with more than the fewest, ever

# Under three seconds on two cores, or up to 45 without Numba: draws and runs, draws for each ratio if nothing is
# known, and the most pulls of all runs together.
_COMPILED: Final = (Effort(28, 7, 14), 14, 3_600_000)
_INTERPRETED: Final = (Effort(5, 10, 10), 2, 250_000)


def plan(  # noqa: PLR0913  # all but one have a default
    arms: int,
    *,
    noise: float | None = None,
    spread: float | None = None,
    pilot: Scores | None = None,
    budgets: int | Iterable[int] | None = None,
    want: str | None = None,
    price: float | None = None,
    seconds: float | None = None,
    workers: int = 1,
    direction: str = "maximize",
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Callable[[Progress], None] = False,
) -> Plan:
    """Estimate how many pulls a search needs and how good the arm it finds will be.

    Parameters
    ----------
    arms : int
        How many arms there are to choose from.
    noise : float, optional
        A guess: the standard deviation of repeated scores of one arm.
    spread : float, optional
        A guess: how far a good arm, one of the best in ten, is above an ordinary one.
    pilot : path, DataFrame, mapping or pairs, optional
        Scores of some arms, chosen at random, with repeats, instead of guesses: a CSV file or a pandas or polars
        DataFrame with the columns arm and score, {arm: [score, …]} or (arm, score) pairs. Scores that are all 0 or 1
        are treated as such.
    budgets : int or iterable of int, optional
        Pulls. Default: from a tenth of the number of arms to ten times as many; none if there is a wish.
    want : str, optional
        A wish, such as "top 1 % in 9 of 10 runs", "top 20 in 80 % of runs", "best in 1 of 2 runs" or "regret 0.05": the
        smallest budget that grants it is found. Default: 9 of 10 runs; at most 99 of 100, without Numba 9 of 10.
    price : float, optional
        What a pull costs.
    seconds : float, optional
        How long a pull takes.
    workers : int, default 1
        How many pulls run in parallel.
    direction : {"maximize", "minimize"}, default "maximize"
        Whether larger scores are better.
    seed : int, default 0
        The same seed gives the same plan, with Numba or without, but not the same with as without.
    threads : int, optional
        Of the simulation; changes no result. Default: all cores.
    progress : bool or callable, default False
        Whether to print to stderr how far it is; or a function that is called with a `Progress`.

    What is not known is drawn: the shape of the distribution of true means and, with a pilot, noise and spread in
    proportion to their chances. `chase` is simulated under every draw, and the band of the mean regret is its middle
    80 % over draws. Without guesses and pilot there is a row for each of five ratios of noise to spread (three without
    Numba), and regret is in units of the spread.

    >>> rows = plan(50, noise=0.2, spread=0.1, budgets=[100]).rows
    >>> rows[0].budget, rows[0].regret_low < rows[0].regret < rows[0].regret_high
    (100, True)

    """
    _check_arms(arms)
    unknown = noise is None and spread is None and pilot is None
    if budgets is None:
        budgets = () if want is not None else default_budgets(arms, _FEW_SHARES if unknown else _SHARES)
    wish = None if want is None else parse_wish(want, arms)
    for name, value in (("price", price), ("seconds", seconds)):
        if value is not None:
            not_negative(name, value)
    whole("the number of workers", workers, least=1)
    asked = _Asked(arms, _checked_budgets(budgets, wish), wish, price, seconds, workers)
    if direction not in ("maximize", "minimize"):
        raise InvalidInput(f"direction is {direction!r}, but must be 'maximize' or 'minimize'")
    whole("seed", seed, least=0)
    if threads is not None:
        whole("threads", threads, least=1)
    given = _given(noise, spread, pilot, minimize=direction == "minimize")
    if isinstance(given, Pilot) and given.arms > arms:
        raise InvalidInput(
            f"the pilot has scores of {given.arms:,} arms, but arms is {arms:,}: it counts all that there are to "
            "choose from, those of the pilot too"
        )
    effort, few, most = _COMPILED if _compile.available() else _INTERPRETED
    scenes = _scenes(given, effort.draws, few)
    effort = Effort(len(scenes[0]), effort.replicates, effort.short)
    simulation = _Simulation(arms, effort, most // len(scenes), seed, threads, listener(progress=progress))
    rows: list[Row] = []
    granted: list[Granted] = []
    refused: list[InvalidInput] = []
    for beliefs, outcomes in zip(scenes, simulation.of_all(scenes, [*asked.budgets, *asked.grid()]), strict=True):
        places = np.flatnonzero(np.isin(outcomes.budgets, asked.budgets))
        rows += [asked.row(outcomes, place, beliefs) for place in places.tolist()]
        if wish is not None:
            try:
                granted.append(_granted(wish, asked, beliefs, outcomes, simulation))
            except InvalidInput as problem:
                refused.append(problem)
    if refused and not granted:
        raise refused[0]
    known = _known(given, scenes)
    notes = [*map(str, refused), *_notes(arms, wish, known, given)]
    return Plan(arms, known, tuple(rows), tuple(granted), tuple(notes), _warning(arms, given))


def default_budgets(arms: int, shares: Iterable[float] = _SHARES) -> list[int]:
    """Return budgets from a tenth of the number of arms to ten times as many.

    >>> default_budgets(5_000)
    [500, 1000, 2500, 5000, 10000, 25000, 50000]
    """
    return sorted({max(1, round(share * arms)) for share in shares})


def _check_arms(arms: int) -> None:
    if arms == 1:
        raise InvalidInput("arms is 1, but a choice is between two at least: one arm needs no search, and no plan")
    whole("arms", arms, least=2)
    if arms > MOST_ARMS:
        raise InvalidInput(f"arms is {arms}, but a plan simulates at most {MOST_ARMS:,}: plan for that many of yours")


def _checked_budgets(budgets: int | Iterable[int], wish: Wish | None) -> list[int]:
    given = budgets if isinstance(budgets, Iterable) else [budgets]
    found = sorted({whole("budget", budget, least=1) for budget in given})
    if found and found[-1] > MOST_PULLS:
        raise InvalidInput(
            f"budget is {found[-1]}, but a plan simulates at most {MOST_PULLS:,} pulls: give a smaller one"
        )
    if not found and wish is None:
        raise InvalidInput("there is no budget, but must be one at least: leave budgets out for a table of them")
    return found


class _Asked(NamedTuple):
    """The checked arguments of a plan."""

    arms: int
    budgets: list[int]
    wish: Wish | None
    price: float | None
    seconds: float | None
    workers: int

    def grid(self, *, far: bool = False) -> list[int]:
        """Return the budgets at which a wish is looked at."""
        if self.wish is None:
            return []
        most = _FAR[0] * self.arms
        if far:
            most = max(most, min(max(_FAR[1] * self.arms, _FAR_ENOUGH), _TOO_FAR))
        return steps(max(1, self.arms // 100), most)

    def row(self, outcomes: Outcomes, place: int, beliefs: Sequence[Belief]) -> Row:
        """Return the expected outcome for a budget."""
        budget = int(outcomes.budgets[place])
        mean, doubt = sizes(outcomes.regret)[place]
        low, high = band_of_size(mean, doubt)
        ranks = outcomes.rank[:, :, place]
        ranks = ranks[~np.isnan(ranks)]
        top = max(1, int(_TOP * self.arms + 1e-9))
        worst = float(np.quantile(ranks, NINE_IN_TEN, method="higher"))
        return Row(
            budget=budget,
            regret=mean,
            regret_low=low,
            regret_high=high,
            rank=float(ranks.mean()),
            percentile=100 * float(ranks.mean()) / self.arms,
            percentile_9_of_10=100 * worst / self.arms,
            top1_chance=float((ranks <= top).mean()),
            arms_tried=float(np.nanmean(outcomes.tried[:, :, place])),
            winner_pulls=float(np.nanmean(outcomes.pulls[:, :, place])),
            ratio=float(np.median([belief.ratio for belief in beliefs])),
            cost=None if self.price is None else budget * self.price,
            seconds=None if self.seconds is None else -(-budget // self.workers) * self.seconds,
        )


class _Simulation(NamedTuple):
    """Runs under beliefs, with as much effort as there is time for."""

    arms: int
    effort: Effort
    most: int  # pulls of all usual runs of a scene
    seed: int
    threads: int | None
    tell: Callable[[Progress], None] | None

    def of_all(self, scenes: Sequence[Sequence[Belief]], budgets: Sequence[int]) -> list[Outcomes]:
        """Run every scene."""
        beliefs = [belief for scene in scenes for belief in scene]
        return self._run(beliefs, budgets, self.effort.fitted(max(budgets), self.most)).scenes(len(scenes))

    def further(self, beliefs: Sequence[Belief], budgets: Sequence[int]) -> Outcomes:
        """Run a scene again, with the patience that larger budgets need."""
        return self._run(beliefs, budgets, self.effort.fitted(max(budgets), _PATIENCE * self.most))

    def surer(self, beliefs: Sequence[Belief], outcomes: Outcomes, top: int, runs: int) -> Outcomes:
        """Return outcomes with more runs, so many under all beliefs together, at budgets up to `top`."""
        usual, ever = _MOST_TO_DECIDE
        draws, each = len(beliefs), -(-runs // len(beliefs))
        each = max(min(each, _FEWEST_TO_DECIDE), Effort(draws, each, 0).fitted(top, usual).replicates)
        budgets = outcomes.budgets[outcomes.budgets <= top].tolist()
        return outcomes.joined(self._run(beliefs, budgets, Effort(draws, each, 0).fitted(top, ever), outcomes.runs))

    def _run(self, beliefs: Sequence[Belief], budgets: Sequence[int], effort: Effort, first: int = 0) -> Outcomes:
        return simulated(beliefs, self.arms, budgets, effort, self.seed, self.threads, self.tell, first)


def _granted(
    wish: Wish, asked: _Asked, beliefs: Sequence[Belief], outcomes: Outcomes, simulation: _Simulation
) -> Granted:
    """Return the smallest budget for a wish; look further if the first runs do not reach it.

    Near the budget that a few runs find it looks again, with as many as the wish takes, until they agree on one.
    """
    found = smallest(wish, outcomes)
    if _compile.available():
        if found is None:
            outcomes = simulation.further(beliefs, asked.grid(far=True))
            found = smallest(wish, outcomes)
        top, last = 0, int(outcomes.budgets[-1])
        while found is not None and found.budget > top:
            top = min(last, max(found.budget, round(_BEYOND * found.budget)))
            outcomes = simulation.surer(beliefs, outcomes, top, runs_to_tell(wish.share))
            found = smallest(wish, outcomes)
    if found is None:
        last_row = asked.row(outcomes, len(outcomes.budgets) - 1, beliefs)
        share, _ = mean_and_doubt(wish.granted(outcomes)[:, :, -1])
        raise InvalidInput(
            f"the wish is {wish.text!r}, but {last_row.budget:,} pulls grant it in {100 * share:.0f} % of runs only: "
            f"in 9 of 10 runs they give an arm of the top {last_row.percentile_9_of_10:.2g} %, and the mean regret is "
            f"{last_row.regret:.3g}; wish for that, or for fewer runs"
        )
    place = int(np.searchsorted(outcomes.budgets, found.budget))
    return Granted(wish.text, asked.row(outcomes, place, beliefs), found)


def _scenes(given: Pilot | tuple[float, float] | None, draws: int, few: int) -> list[list[Belief]]:
    """Return beliefs: one set of them, or one for each ratio if nothing is known."""
    if isinstance(given, Pilot):
        return [learned(given, draws)]
    if given is not None:
        return [guessed(*given, draws)]
    return [guessed(ratio, 1.0, few) for ratio in (RATIOS if _compile.available() else RATIOS[::2])]


def _known(given: Pilot | tuple[float, float] | None, scenes: Sequence[Sequence[Belief]]) -> Known:
    if given is None:
        return Known("nothing", None, None, None, shows_spread=False, pulls_to_show=None)
    if not isinstance(given, Pilot):
        return Known("guesses", *given, None, shows_spread=True, pulls_to_show=None)
    spreads = [belief.spread for belief in scenes[0]]
    deviation = float(np.median([belief.deviation for belief in scenes[0]]))
    seen = given.shows_spread
    return Known(
        "pilot",
        noise=float(np.median([belief.noise for belief in scenes[0]])),
        spread=float(np.median(spreads)),
        spread_high=float(np.quantile(spreads, NINE_IN_TEN)),
        shows_spread=seen,
        pulls_to_show=None if seen else given.pulls_to_show(deviation),
    )


def _notes(arms: int, wish: Wish | None, known: Known, given: Pilot | tuple[float, float] | None) -> list[str]:
    notes = []
    if wish is not None and wish.is_best:
        notes.append(f"{wish.text!r} of {arms:,} arms: that is the best arm")
    if (given.noise if isinstance(given, Pilot) else known.noise) == 0:
        notes.append(
            "repeated scores do not differ, so one pull of each arm is enough to find the best; the search takes a few "
            "more, to see that there is no noise"
        )
    if isinstance(given, Pilot):
        if given.outlier is not None:
            arm, score = given.outlier
            notes.append(
                f"arm {arm} has the score {score:g}, which is further from its others than 20 times the noise of most "
                "arms explains, and makes noise and spread seem larger than they are: correct it, or leave it out"
            )
        if not known.shows_spread:
            more = known.pulls_to_show or 0
            each = round((given.pulls + more) / FEWEST_ARMS)
            again = given.arms >= FEWEST_ARMS
            how = "score the same arms again" if again else f"score {FEWEST_ARMS} arms, {each} times each"
            notes.append(
                f"the {given.pulls:,} scores of the pilot cannot tell its arms apart: they differ no more than noise "
                f"of {known.noise:.3g} would make them. A good arm is at most about {known.spread_high:.2g} better "
                f"than an ordinary one; this plan takes {known.spread:.2g}, which is a guess"
                + ("" if _is_small(given, arms) else f". About {more:,} more pulls would show it: {how}")
            )
        notes.append(
            "a pilot sees ordinary arms and few of the best: how far the best stand out is the least certain part"
        )
    if not _compile.available():
        notes.append("without Numba fewer runs are simulated, and figures are coarser: pip install 'boxthirding[sim]'")
    return notes


def _warning(arms: int, given: Pilot | tuple[float, float] | None) -> str:
    """Return a note if a pilot is too small for a plan, with the size that would suffice; else an empty text."""
    if not isinstance(given, Pilot) or not _is_small(given, arms):
        return ""
    return (
        f"a pilot of {given.arms:,} arms with {given.pulls:,} scores says almost nothing, so this plan may be far off: "
        f"noise and spread may well be half or twice these. Score {min(FEWEST_ARMS, arms)} arms, chosen at random, 3 "
        "times each"
    )


def _is_small(pilot: Pilot, arms: int) -> bool:
    return pilot.arms < min(_SMALL_PILOT, arms) or pilot.freedom < _SMALL_PILOT


def _given(
    noise: float | None, spread: float | None, pilot: Scores | None, *, minimize: bool
) -> Pilot | tuple[float, float] | None:
    """Return what is known, or refuse half of it."""
    if pilot is not None:
        if noise is not None or spread is not None:
            raise InvalidInput("there are a pilot and guesses, but a plan is made of one of them: leave the other out")
        return read_pilot(pilot, minimize=minimize)
    if noise is None and spread is None:
        return None
    if noise is None or spread is None:
        there, missing = ("noise", "spread") if spread is None else ("spread", "noise")
        raise InvalidInput(
            f"{there} is given without {missing}, but a plan needs both: noise is the standard deviation of repeated "
            "scores of one arm, spread how far a good arm, one of the best in ten, is above an ordinary one"
        )
    not_negative("noise", noise)
    if not (is_finite(spread) and spread > 0):
        raise InvalidInput(
            f"spread is {spread!r}, but must be a finite number above 0: if all arms are alike, any one will do"
        )
    return float(noise), float(spread)
