"""`RemoteStudy`: a study of a server, with the verbs that every study has."""

import ast
import secrets
import shlex
import threading
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, NoReturn, Self
from urllib.parse import quote

import numpy as np

from boxthirding._checks import as_reward, whole
from boxthirding.client import values
from boxthirding.client.addresses import NAME, key_for, parsed
from boxthirding.client.connection import Connection, Reply, as_error
from boxthirding.client.heartbeat import Heart
from boxthirding.errors import AlreadyTold, BoxThirdingError, InvalidInput, StudyUnavailable, UnknownTicket
from boxthirding.policies.spec import as_policy, parse_policy, written
from boxthirding.session import (
    PAGE,
    ArmSummary,
    Box,
    Glance,
    Known,
    Lineage,
    Moment,
    Recommendation,
    Rung,
    Screening,
    Ticket,
    View,
)
from boxthirding.session.amendments import check_details
from boxthirding.session.protocol import Plotted
from boxthirding.session.tickets import WORKER, check_holder
from boxthirding.session.values import in_brief
from boxthirding.study.journal import unique_name
from boxthirding.types import Label, Policy

TIMEOUT: Final = 60.0
"""Seconds for which a call is tried again while the server cannot be reached."""

_PAGE: Final = 1000  # arms in one reply
_MOST: Final = 10_000  # tickets in one reply
_DIGEST: Final = 24  # letters of a key that stands for a long label
_PAUSE: Final = 0.05  # seconds before the second try to ask


class RemoteStudy(Plotted):
    """A study of a server that `boxthirding serve` runs: the verbs of `Study`, over HTTP.

    So workers on many machines share a study with no database in common. One object serves any number of threads and
    holders. Calls are repeated while the server cannot be reached, and count once however often they are; what the
    server says is wrong is raised as the same error that a study here would raise.

    Parameters
    ----------
    url : str
        Where the server is, and after # the name of the study: "https://rate.example.org/#captions". Default name:
        "main".
    key : str, optional
        What lets the program in. Default: the environment variable BOXTHIRDING_KEY. A worker's key can ask, tell, fail
        and release; what else changes a study takes an operator's, and to make one an operator's of all studies.
    name : str, optional
        The study, where the address names none.
    holder : str, optional
        Who asks, when a call names no holder. Default: a new name every time.
    timeout : float, default 60
        Seconds for which a call is tried again while the server cannot be reached; then it raises `StudyUnavailable`.
    arms, policy, seed, direction, lease, patience, examples, known, details, force
        What to make the study with, as in `open_study`. If it is there, what differs from it is refused. Arms cannot be
        an iterator; one that is not JSON, such as a function, must be given by each process that evaluates it.

    A worker's name, as `worker` gives it, is alive while this process says so to the server, every 15 seconds, from a
    thread of its own. `reclaim` releases the tickets of workers that have said nothing for a minute.

    """

    def __init__(  # noqa: PLR0913  # where it is, and what a study is made with
        self,
        url: str,
        key: str | None = None,
        *,
        name: str | None = None,
        holder: str | None = None,
        timeout: float = TIMEOUT,
        arms: int | Iterable[Any] | Mapping[Label, Any] | None = None,
        policy: Policy | str | None = None,
        seed: int | None = None,
        direction: str | None = None,
        lease: float | None = None,
        patience: int | None = None,
        examples: int | None = None,
        known: Known | None = None,
        details: Mapping[str, Any] | None = None,
        force: bool = False,
    ) -> None:
        address = parsed(url, name)
        self._key = key_for(address.server, key)
        self.name = NAME if address.name is None else address.name
        self.place = shlex.quote(address.study())
        """Where it is, as a command line names it."""
        self._own = set() if holder is not None else {unique_name()}  # names that no one else has
        self.holder = check_holder(holder) if holder is not None else next(iter(self._own))
        """Who asks here, when no holder is named."""
        self._url, self._timeout = address.study(), timeout
        self._connection = Connection(address, self._key, timeout)
        self._path = f"/studies/{quote(self.name, safe='')}"
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}  # one ask at a time under a name of ours
        self._in_hand: set[int] = set()  # tickets that were asked for under a name of ours
        self._payloads: dict[Label, Any] = {}
        settings: dict[str, Any] = {
            "policy": None if policy is None else written(as_policy(policy)),
            "seed": seed,
            "direction": direction,
            "lease": lease,
            "patience": patience,
            "examples": examples,
            "known": None if known is None else values.known_rows(known),
            "details": None if details is None else check_details(details),
            "force": force or None,
        }
        if arms is not None:
            settings["arms"], self._payloads = values.to_send(arms)
        said = {name: value for name, value in settings.items() if value is not None}
        self._heart = Heart(self._connection, f"{self._path}/workers")
        self._finalizer = weakref.finalize(self, _let_go, self._heart, self._connection)
        try:
            row = self._connection.call("PUT" if said else "GET", self._path, said or None).value
        except BaseException:
            self.close()
            raise
        self._made: dict[str, Any] = row
        self._glance = values.glance(row)

    @property
    def seed(self) -> int:
        return int(self._made["seed"])

    @property
    def direction(self) -> str:
        """Whether larger rewards are better: maximize or minimize."""
        return str(self._made["direction"])

    @property
    def examples(self) -> int | None:
        most: int | None = self._made["examples"]
        return most

    @property
    def lease(self) -> float | None:
        """Seconds after which a ticket that was not told goes to the next holder who asks; None for never."""
        seconds: float | None = self._made["lease"]
        return seconds

    @property
    def patience(self) -> int:
        """Failures in a row after which an arm is withdrawn."""
        return int(self._made["patience"])

    @property
    def policy(self) -> Policy:
        return parse_policy(self.view().policy)

    @property
    def status(self) -> str:
        """One of open, paused and finished; known, when the examples have run out."""
        return self.view().status

    @property
    def pulls(self) -> int:
        """How many results count."""
        return self.view().pulls

    @property
    def spent(self) -> int:
        """How many results were told through tickets, excluded ones too."""
        return self.view().spent

    def ask(
        self, n: int = 1, *, holder: str | None = None, unseen: bool = False, limit: int | None = None
    ) -> list[Ticket]:
        body: dict[str, Any] = {"n": min(whole("the number of tickets", n, least=1), _MOST)}
        if limit is not None:
            body["limit"] = whole("limit", limit, least=0)
        who = self.holder if holder is None else check_holder(holder)
        body |= {"holder": who, "unseen": bool(unseen)}
        if who not in self._own:
            return self._tickets(self._post("tickets", body, once=True))
        with self._lock:
            lock = self._asking.setdefault(who, threading.Lock())
        with lock:
            tickets = self._asked(who, body)
            self._in_hand.update(ticket.id for ticket in tickets)
            return tickets

    def _asked(self, who: str, body: dict[str, Any]) -> list[Ticket]:
        """Ask under a name of ours: what it holds and we never heard of is the answer to a try that was lost."""
        pause, until = _PAUSE, time.monotonic() + self._timeout
        while True:
            try:
                return self._tickets(self._post("tickets", body, repeat=False))
            except StudyUnavailable as trouble:
                if not trouble.transient or time.monotonic() > until:
                    raise
            lost = [ticket for ticket in self.held(who) if ticket.id not in self._in_hand]
            if lost:
                return lost
            time.sleep(pause)
            pause *= 2

    def tell(
        self,
        ticket: int | Ticket,
        reward: float,
        *,
        holder: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        row: dict[str, Any] = {"ticket": _id(ticket), "reward": as_reward(reward)}
        if holder is not None:
            row["holder"] = check_holder(holder)
        if details is not None:
            row["details"] = check_details(details)
        reply = self._post("results", {"results": [row], **_origin(ticket)})
        (outcome,) = reply.value["results"]
        if outcome["outcome"] != "told":
            refusal = self._refusal(outcome["problem"])
            if not (reply.is_unsure and isinstance(refusal, AlreadyTold)):  # else it was we who told it
                raise refusal
        self._in_hand.discard(row["ticket"])

    def tell_all(self, results: Iterable[tuple[int | Ticket, float]]) -> None:
        """Take the results of many tickets in one commit, all or none of them: (ticket, reward) pairs."""
        pairs = [(_id(ticket), as_reward(reward)) for ticket, reward in results]
        if pairs:
            rows = [{"ticket": ticket, "reward": reward} for ticket, reward in pairs]
            self._post("results", {"results": rows, "together": True}, once=True)
            self._in_hand.difference_update(ticket for ticket, _ in pairs)

    def fail(self, ticket: int | Ticket) -> None:
        self._post("failures", {"ticket": _id(ticket), **_origin(ticket)}, once=True)
        self._in_hand.discard(_id(ticket))

    def held(self, holder: str | None = None) -> list[Ticket]:
        who = self.holder if holder is None else check_holder(holder)
        rows = self._get("/tickets", holder=who)["tickets"]
        return [values.ticket(row, self._payloads) for row in rows]

    def release(self, *tickets: int | Ticket, holder: str | None = None) -> list[int]:
        body: dict[str, Any] = {"tickets": [_id(ticket) for ticket in tickets]}
        if holder is not None:
            body["holder"] = check_holder(holder)
        for ticket in tickets:
            body |= _origin(ticket)
        released: list[int] = self._post("releases", body, once=True).value["tickets"]
        self._in_hand.difference_update(released)
        return released

    def worker(self) -> str:
        """Return a holder's name that is ours alone for as long as this process lives, or until `close`."""
        name = f"{WORKER}{secrets.randbelow(10**15)}"
        self._heart.add(name)
        self._own.add(name)
        return name

    def reclaim(self) -> int:
        return int(self._post("reclaims").value["released"])

    def observe(self, label: Label, reward: float, *, pull: int | None = None) -> None:
        value = as_reward(reward)
        more = {} if pull is None else {"pull": whole("pull", pull, least=0)}
        self._observe([{"label": values.plain_label(label), "reward": value, **more}])

    def observe_all(self, results: Known) -> None:
        self._observe(values.known_rows(results))

    def add_known(self, results: Known | None) -> None:
        """Take those of the known results that the study does not have: of each arm, what goes beyond those it has."""
        if results is not None:
            self._observe(values.known_rows(results), only_new=True)

    def correct(self, ticket: int | Ticket, reward: float) -> None:
        body = {"ticket": _id(ticket), "reward": as_reward(reward), **_origin(ticket)}
        self._post("corrections", body, once=True)

    def exclude(self, holder: str) -> int:
        return int(self._post("exclusions", {"holder": check_holder(holder)}, once=True).value["results"])

    def include(self, holder: str) -> int:
        query = {"holder": check_holder(holder)}
        return int(self._heard(self._call("DELETE", "/exclusions", query=query, once=True)).value["results"])

    def pair(self, examples: Sequence[Mapping[str, Any]], order: Sequence[int], *, force: bool = False) -> list[int]:
        """Return by pull the place of the example that every arm sees; refuse other examples than those known there.

        The parameters are those of `Session.pair`.
        """
        body = {"examples": [*map(dict, examples)], "order": [*order], "force": force}
        order_there: list[int] = self._post("examples", body).value["order"]
        return order_there

    def use(self, policy: Policy | str) -> None:
        self._post("policy", {"policy": written(as_policy(policy))}, once=True)

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them: texts or whole numbers, or a mapping of labels to arms."""
        rows, payloads = values.to_add(arms)
        self._post("arms", {"arms": rows}, once=True)
        self._payloads.update(payloads)

    def withdraw(self, label: Label) -> None:
        self._heard(self._call("DELETE", "/arm", query=_named(label), once=True))

    def pause(self) -> None:
        """Hand out no tickets until `resume`; results are taken."""
        self._post("pause")

    def resume(self) -> None:
        """Hand out tickets again."""
        self._post("resume")

    def finish(self) -> None:
        """End the study for good: no more tickets, and nothing changes the answer.

        Results of open tickets, corrections and exclusions are refused with `StudyFinished`. It cannot be undone.
        """
        self._post("finish")

    def recommend(self) -> Recommendation | None:
        return self.view().recommendation

    def top(self, k: int) -> list[Recommendation]:
        left, first = whole("k", k, least=1), 0
        found: list[Recommendation] = []
        while left > 0 and first is not None:
            page = self._get("/top", first=first, k=min(left, _PAGE))
            found += values.best(page["top"])
            first, left = page["next"], left - len(page["top"])
        return found

    def arms(
        self, first: int = 0, count: int = PAGE, *, order: str = "best", search: str | None = None
    ) -> list[ArmSummary]:
        start, left = whole("first", first, least=0), whole("count", count, least=1)
        found: list[ArmSummary] = []
        while left > 0 and start is not None:
            page = self._get("/arms", first=start, count=min(left, _PAGE), order=order, search=search)
            found += map(values.arm, page["arms"])
            start, left = page["next"], left - len(page["arms"])
        return found

    def boxes(self, level: int | None = None, first: int = 0, count: int = PAGE) -> list[Box]:
        return [values.box(row) for row in self._by_pages("boxes", ("level", "deferment"), first, count, level=level)]

    def ladder(self, pulls: int | None = None, first: int = 0, count: int = PAGE) -> list[Rung]:
        return [values.rung(row) for row in self._by_pages("ladder", ("fewest",), first, count, pulls=pulls)]

    def _by_pages(self, what: str, key: Sequence[str], first: int, count: int, **chosen: Any) -> list[dict[str, Any]]:
        """Return boxes or rungs, the arms of each put together from as many replies as they take."""
        start, left = whole("first", first, least=0), whole("count", count, least=1)
        arms: dict[tuple[Any, ...], list[Any]] = {}
        rows: list[dict[str, Any]] = []
        while left > 0:
            page = self._get(f"/{what}", first=start, count=min(left, _PAGE), **chosen)
            rows = page[what]
            for row in rows:
                name = tuple(row[part] for part in key)
                row["arms"] = arms[name] = arms.get(name, []) + row["arms"]
            if page["next"] is None:
                break
            start, left = page["next"], left - (page["next"] - start)
        return rows

    def payload(self, label: Label) -> Any:
        """Return what was given as an arm; its label, where nothing else was, or where only its digest is kept."""
        plain = values.plain_label(label)
        if plain in self._payloads:
            return self._payloads[plain]
        return values.payload_of(self._get("/arm", **_named(plain)))

    def why(self, label: Label) -> Lineage:
        return values.lineage(self._get("/arm", **_named(label)))

    def screening(self, share: float) -> Screening | None:
        return values.screening(self._get("/screening", share=share)["screening"])

    def history(self) -> list[Moment]:
        """Return what the answer was over time, as any study does; a server sends 300 moments at the most."""
        labels: dict[str, Label] = {}
        found = []
        for row in self._get("/history")["moments"]:
            key = row["label"]
            if key not in labels:
                labels[key] = self._label_of(key)
            found.append(Moment(row["results"], labels[key], row["mean"], row["tried"], row["at"]))
        return found

    def _label_of(self, key: str) -> Label:
        """Return the label that has a key of the server's pages: its repr, or a digest of that if it is long."""
        may_be_digest = len(key) == _DIGEST and key.isalnum()
        label: Label = self._get("/arm", key=key)["label"] if may_be_digest else ast.literal_eval(key)
        return label

    def view(self) -> View:
        return values.view(self._heard(self._call("GET", "")).value)

    def glance(self) -> Glance:
        return self._glance

    def close(self) -> None:
        """Let go of the server, and of the names of workers; the study can be opened again at any time."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise InvalidInput(
            f"{self!r} cannot be pickled, as it has a key: open RemoteStudy({self._url!r}) where it is needed"
        )

    def __repr__(self) -> str:
        """Say where it is, and how far it was when the last call here returned: the server is not asked."""
        return f"<RemoteStudy {self._url} of {in_brief(self._made['arms'], self._made['policy'], self._glance.pulls)}>"

    def _observe(self, rows: list[dict[str, Any]], *, only_new: bool = False) -> None:
        if rows:
            self._post("observations", {"results": rows, "only_new": only_new}, once=True)

    def _tickets(self, reply: Reply) -> list[Ticket]:
        return [values.ticket(row, self._payloads) for row in reply.value["tickets"]]

    def _get(self, path: str, **query: Any) -> Any:
        return self._call("GET", path, query=query).value

    def _post(
        self, what: str, body: Mapping[str, Any] | None = None, *, once: bool = False, repeat: bool = True
    ) -> Reply:
        return self._heard(self._call("POST", f"/{what}", body, once=once, repeat=repeat))

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None, **how: Any) -> Reply:
        return self._connection.call(method, self._path + path, body, **how)

    def _heard(self, reply: Reply) -> Reply:
        """Keep what a reply says about how far the study is."""
        self._glance = values.glance(reply.value)
        return reply

    def _refusal(self, problem: Mapping[str, Any]) -> BoxThirdingError:
        return as_error(problem, int(problem["status"]), self._connection.address.server)


def _let_go(heart: Heart, connection: Connection) -> None:
    heart.stop()
    connection.close()


def _id(ticket: object) -> int:
    """Return the id of a ticket; refuse what can be none."""
    number = ticket.id if isinstance(ticket, Ticket) else ticket
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
        raise UnknownTicket(f"ticket {number!r} was not issued here", advice="give a ticket from ask(), or its id")
    return int(number)


def _origin(ticket: object) -> dict[str, str]:
    """Return what says of which study a ticket is."""
    origin = ticket.origin if isinstance(ticket, Ticket) else None
    return {} if origin is None else {"origin": origin}


def _named(label: Label) -> dict[str, Any]:
    """Return what names an arm in a query."""
    plain = values.plain_label(label)
    return {"label": plain, "kind": "text" if isinstance(plain, str) else "number"}
