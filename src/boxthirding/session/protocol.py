"""What everything that hands out pulls has in common: the verbs of `AskTell`, and what each of them does."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from boxthirding.session.history import Moment
from boxthirding.session.values import (
    PAGE,
    ArmSummary,
    Box,
    Glance,
    Known,
    Lineage,
    Recommendation,
    Rung,
    Screening,
    Ticket,
    View,
)
from boxthirding.types import Label, Policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AskTell(Protocol):
    """The verbs of a session: `find_best`, the command line and the integrations are written against these alone."""

    @property
    def seed(self) -> int:
        """The seed that it was made with: it decides the order of arms and examples."""

    @property
    def policy(self) -> Policy:
        """What decides which arm is next."""

    @property
    def examples(self) -> int | None:
        """How many different pulls an arm has; None without end."""

    def ask(
        self, n: int = 1, *, holder: str | None = None, unseen: bool = False, limit: int | None = None
    ) -> list[Ticket]:
        """Return up to n tickets; fewer, or none, if a result is needed first, no arm is left or a study is paused.

        Parameters
        ----------
        n : int, default 1
            How many tickets are wanted.
        holder : str, optional
            Who asks: a worker or a rater. Default: the session itself, or the holder that the study was opened with.
        unseen : bool, default False
            Give only arms that this holder was never handed, as raters must see no arm twice.
        limit : int, optional
            Make no new ticket when `spent` and the open tickets of all holders number as many.

        Tickets that were given to a holder and never heard of, after a crash or a lost answer, are in `held(holder)`.

        """

    def tell(
        self,
        ticket: int | Ticket,
        reward: float,
        *,
        holder: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the result of a ticket; refuse it, changing nothing, if it is not finite or not expected.

        Parameters
        ----------
        ticket : Ticket or int
            What `ask` returned, or its id.
        reward : float
            What the pull gave.
        holder : str, optional
            Who tells; one to whom the ticket was never given is refused. Default: the ticket's holder.
        details : mapping, optional
            A small JSON object to keep with the result, such as {"answer": "funny", "seconds": 2.5}. A session keeps
            none, and only checks it; a study does.

        """

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated: the next to ask is given it.

        An arm that failed `patience` times in a row is withdrawn.
        """

    def held(self, holder: str | None = None) -> list[Ticket]:
        """Return the open tickets of a holder, in the order in which they were given."""

    def release(self, *tickets: int | Ticket, holder: str | None = None) -> list[int]:
        """Take open tickets, or all that a holder has, from their holders: the next to ask is given them.

        That is no failure of their arms. It returns their ids.
        """

    def worker(self) -> str:
        """Return a holder's name that is ours alone for as long as this process lives."""

    def reclaim(self) -> int:
        """Release the tickets of workers that have ended; return how many."""

    def observe(self, label: Label, reward: float, *, pull: int | None = None) -> None:
        """Take a known result of an arm, without a ticket: it is not paid for.

        With examples, `pull` says which example it is of: its place in the order of the examples.
        """

    def observe_all(self, results: Known) -> None:
        """Take known results of many arms, all or none of them.

        They are {label: reward}, {label: [reward, …]}, with examples {label: {pull: reward}}, or (label, reward) pairs.
        """

    def correct(self, ticket: int | Ticket, reward: float) -> None:
        """Replace the reward of a ticket that was told: the answer is right at once, and nothing is run again."""

    def exclude(self, holder: str) -> int:
        """Let the results of a holder not count, those told and those still to come; return how many were told."""

    def include(self, holder: str) -> int:
        """Let the results of an excluded holder count again; return how many there are."""

    def use(self, policy: Policy | str) -> None:
        """Go on with another policy: it starts from every result that counts, and open tickets stay valid."""

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them; a policy whose plan is made at the start (sh, sr, dsh) does not play them."""

    def withdraw(self, label: Label) -> None:
        """Take an arm out of the race for good; its open tickets become void."""

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
            How many to pass over.
        count : int, default 100
            How many to return at most.
        order : str, default "best"
            "best" first; "tried": in the order in which they were first tried; "latest": the last result first;
            "given": as given, also those that were not tried; or by "mean", "pulls", "level" or "label", the smallest
            first, or with a minus, as "-pulls", the largest first.
        search : str, optional
            Only arms whose label has this text in it, in capitals or not.

        """

    def boxes(self, level: int | None = None, first: int = 0, count: int = PAGE) -> list[Box]:
        """Return the boxes and piles that hold an arm; none, if the policy has no boxes.

        Parameters
        ----------
        level : int, optional
            Only those of this level. Default: all, from the lowest up.
        first, count : int, default 0 and 100
            Of each box, which page of its arms to return.

        """

    def ladder(self, pulls: int | None = None, first: int = 0, count: int = PAGE) -> list[Rung]:
        """Return the arms that were tried by how many pulls they have, whatever the policy.

        Rungs have 1, 2, 3-4, 5-7, 8-11, 12-17, … pulls, each half as many again as the one before: what an arm of
        `chase` has after each time that it keeps up with the leader. Those between two that hold an arm are there too.

        Parameters
        ----------
        pulls : int, optional
            Only the rung of arms with as many pulls. Default: all, from the fewest pulls up.
        first, count : int, default 0 and 100
            Of each rung, which page of its arms to return.

        """

    def payload(self, label: Label) -> Any:
        """Return what was given as an arm; its label, where nothing else was."""

    def why(self, label: Label) -> Lineage:
        """Return the story of an arm: the boxes it was in, its rivals there, and where it stands now."""

    def screening(self, share: float) -> Screening | None:
        """Return the chance, exact, that an arm of the best `share` of all is among those that could still be returned.

        It is None where known results have put some arms before others; with an iterator, it is the chance for
        infinitely many arms.
        """

    def view(self) -> View:
        """Return all that can be read, at one moment, with everything that others have written."""

    def glance(self) -> Glance:
        """Return the counts and the answer as they were when the last call here returned; nothing is read for it."""

    def history(self) -> list[Moment]:
        """Return what the answer was over time, earliest first: the best arm, its mean then, and how many were tried.

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
        from boxthirding.session.plotting import plot  # noqa: PLC0415  # loaded when it is needed

        return plot(self, kind, ax, self.history())
