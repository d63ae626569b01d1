"""`AskTell`: the interface that sessions, studies and remote studies share, and how each of them is plotted."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Protocol

from boxthirding._text import visible
from boxthirding.errors import InvalidInput
from boxthirding.session.values import (
    PAGE,
    ArmResult,
    ArmSummary,
    Box,
    Details,
    Difficulty,
    Glance,
    Known,
    Lineage,
    Moment,
    Recommendation,
    Rung,
    Screening,
    Spread,
    Ticket,
    View,
)
from boxthirding.types import Label, Policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from boxthirding.figures.session_plots import Point

KINDS: Final = ("answer", "arms", "boxes")
"""What `plot` can draw."""

_MOST: Final = 5_000  # arms that a picture shows


class AskTell(Protocol):
    """Ask for pulls, tell rewards, read the answer: all that `find_best`, the command line and the integrations use."""

    @property
    def seed(self) -> int:
        """The seed: it decides the order of arms and examples."""

    @property
    def policy(self) -> Policy:
        """What decides which arm is next."""

    @property
    def examples(self) -> int | None:
        """How many different pulls an arm has; None without end."""

    def ask(
        self, n: int = 1, *, holder: str | None = None, unseen: bool = False, limit: int | None = None
    ) -> list[Ticket]:
        """Return up to n tickets; fewer if a result is needed first, no arm is left or the study is paused.

        Parameters
        ----------
        n : int, default 1
            The number of tickets.
        holder : str, optional
            Who asks: a worker or a rater. Default: the session itself, or the holder that the study was opened with.
        unseen : bool, default False
            Give only arms that this holder was never handed, as raters must see no arm twice.
        limit : int, optional
            Issue no new ticket while `spent` plus the open tickets of all holders is at least this number.

        Tickets that a holder was given and has lost, after a crash or a lost answer, are in `held(holder)`.

        """

    def tell(
        self, ticket: int | Ticket, reward: float, *, holder: str | None = None, details: Details | None = None
    ) -> None:
        """Take the result of a ticket; raise, and change nothing, if it is not finite or not expected.

        Parameters
        ----------
        ticket : Ticket or int
            What `ask` returned, or its id.
        reward : float
            The result of the pull, a finite number.
        holder : str, optional
            Who tells it, to whom the ticket must have been given. Default: the ticket's holder.
        details : mapping, optional
            A small JSON object to keep with the result, such as {"answer": "funny", "seconds": 2.5}. A study keeps it;
            a session only checks it.

        """

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated: the next holder who asks is given it.

        An arm that failed `patience` times in a row is withdrawn.
        """

    def held(self, holder: str | None = None) -> list[Ticket]:
        """Return the open tickets of a holder, in the order in which they were given."""

    def release(self, *tickets: int | Ticket, holder: str | None = None) -> list[int]:
        """Take open tickets, or all that a holder has, from their holders, and return their ids.

        The next holder who asks is given them. It does not count as a failure of their arms.
        """

    def worker(self) -> str:
        """Return a holder's name that no other process has while this one lives."""

    def reclaim(self) -> int:
        """Release the tickets of workers that have ended; return how many."""

    def observe(self, label: Label, reward: float, *, pull: int | None = None) -> None:
        """Take a known result of an arm, without a ticket: it does not count as spent.

        With examples, `pull` is the place of its example in the order of the examples.
        """

    def observe_all(self, results: Known) -> None:
        """Take known results of many arms, all or none of them.

        They are {label: reward}, {label: [reward, …]}, with examples {label: {pull: reward}}, or (label, reward) pairs.
        """

    def correct(self, ticket: int | Ticket, reward: float) -> None:
        """Replace the reward of a ticket that was told; nothing is evaluated again."""

    def exclude(self, holder: str) -> int:
        """Exclude all results of a holder, past and future; return how many were told."""

    def include(self, holder: str) -> int:
        """Include the results of an excluded holder again; return how many there are."""

    def use(self, policy: Policy | str) -> None:
        """Continue with another policy: it starts from every result that counts, and open tickets stay valid."""

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them; a policy whose plan is made at the start (sh, sr, dsh) does not play them."""

    def withdraw(self, label: Label) -> None:
        """Withdraw an arm permanently; its open tickets become void."""

    def recommend(self) -> Recommendation | None:
        """Return the best arm so far, or None before the first result."""

    def top(self, k: int) -> list[Recommendation]:
        """Return the k best arms so far, the recommended one first."""

    def arms(
        self, first: int = 0, count: int = PAGE, *, order: str = "best", search: str | None = None
    ) -> list[ArmSummary]:
        """Return a page of the arms that were tried.

        Parameters
        ----------
        first : int, default 0
            How many arms to skip.
        count : int, default 100
            How many arms to return at most.
        order : str, default "best"
            "best" first; "tried": in the order in which they were first tried; "latest": the last result first;
            "given": as given, also those that were not tried; or by "mean", "pulls", "level" or "label", the smallest
            first, or with a minus, as "-pulls", the largest first.
        search : str, optional
            Only arms whose label contains this text, in upper or lower case.

        """

    def boxes(self, level: int | None = None, first: int = 0, count: int = PAGE) -> list[Box]:
        """Return the boxes and piles that hold an arm; none if the policy has no boxes.

        Parameters
        ----------
        level : int, optional
            Only boxes of this level. Default: all, from the lowest up.
        first, count : int, default 0 and 100
            Which page of the arms of each box to return.

        """

    def ladder(self, pulls: int | None = None, first: int = 0, count: int = PAGE) -> list[Rung]:
        """Return the arms that were tried by their number of pulls, whatever the policy.

        Rungs have 1, 2, 3-4, 5-7, 8-11, 12-17, … pulls, each half as many again as the one before: what an arm of
        `chase` has after each time that it keeps up with the leader. Empty rungs between two others are included.

        Parameters
        ----------
        pulls : int, optional
            Only the rung of arms with this number of pulls. Default: all, from the fewest pulls up.
        first, count : int, default 0 and 100
            Which page of the arms of each rung to return.

        """

    def payload(self, label: Label) -> Any:
        """Return what was given as an arm, or its label if nothing else was."""

    def why(self, label: Label) -> Lineage:
        """Return the story of an arm: the boxes it was in, its rivals there, and where it stands now."""

    def screening(self, share: float) -> Screening | None:
        """Return the exact chance that an arm of the best `share` of all is among those that could still be returned.

        It is None if known results have put some arms before others. With an iterator, it is the chance for infinitely
        many arms.
        """

    def spread(self, labels: Iterable[Label] = ()) -> Spread:
        """Return how far results lie from the mean of their arm: over all arms, and for those named, if they have any.

        Where a study is on a server, those named must be among the best.
        """

    def results(self, label: Label, first: int = 0, count: int = PAGE) -> list[ArmResult]:
        """Return a page of the results of an arm, the latest first, excluded ones too."""

    def difficulties(self) -> list[Difficulty]:
        """Return how hard each example is that has a result, in the order of the examples; without any, none."""

    def view(self) -> View:
        """Return a summary of the present state, with everything that other processes have written."""

    def glance(self) -> Glance:
        """Return the counts and the answer as they were when the last call here returned, without reading the study."""

    def history(self) -> list[Moment]:
        """Return the answer over time, earliest first: the best arm, its mean then, and how many arms were tried.

        There is a moment wherever the answer or its mean changed. It is thinned, so that it stays short: moments lie a
        hundredth of the results apart, or more. The last is now.
        """


class Plotted(AskTell, Protocol):
    """An `AskTell` that can be drawn."""

    def plot(self, kind: str = "answer", ax: "Axes | None" = None) -> "Axes":
        """Draw what is known with Matplotlib, and return the axes.

        Parameters
        ----------
        kind : {"answer", "arms", "boxes"}, default "answer"
            The mean of the best arm over time; each arm by its pulls and mean; or how many arms stand in each box.
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: a new picture.

        """
        return plot(self, kind, ax, self.history())


def plot(study: AskTell, kind: str, ax: "Axes | None", history: Sequence[Moment]) -> "Axes":
    """Draw a session or study; `history` is its answer over time."""
    from boxthirding.figures import session_plots  # noqa: PLC0415  # loaded when it is needed

    if kind not in KINDS:
        rule = f"kind is {kind!r}, but must be one of {', '.join(KINDS)}"
        is_file = PurePath(str(kind)).suffix != ""
        raise InvalidInput(f"{rule}: plot().figure.savefig({str(kind)!r}) writes a file" if is_file else rule)
    view = study.view()
    if view.recommendation is None:
        raise InvalidInput("there is nothing to plot: no arm has a result yet")
    if kind == "boxes" and not view.boxes:
        raise InvalidInput(f"policy {view.policy} has no boxes to plot: give kind='answer' or kind='arms'")
    axes = session_plots.axes_for(ax)
    if kind == "answer":
        session_plots.draw_answer(axes, points(history))
        axes.set_title("The answer over time", loc="left", fontsize=12)
    elif kind == "arms":
        tried = [arm for arm in study.arms(0, min(_MOST, max(1, view.tried))) if not arm.withdrawn]
        dots = [session_plots.Point(arm.pulls, arm.mean, visible(arm.label)) for arm in tried if arm.mean is not None]
        session_plots.draw_arms(axes, dots, visible(view.recommendation.label))
        of = f" of {view.arms:,} arms" if view.arms is not None else " arms"
        shown = f", the best {_MOST:,} shown" if view.tried > _MOST else ""
        axes.set_title(f"{view.tried:,}{of} tried{shown}", loc="left", fontsize=12)
    else:
        boxes = [(box.level, box.deferment, box.arms) for box in view.boxes]
        session_plots.draw_boxes(axes, boxes, view.recommendation.level)
    return axes


def points(history: Sequence[Moment]) -> "list[Point]":
    """Return a history as it is drawn."""
    from boxthirding.figures.session_plots import Point  # noqa: PLC0415  # loaded when it is needed

    return [Point(moment.results, moment.mean, visible(moment.label)) for moment in history]
