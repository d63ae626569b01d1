"""`RemoteStudy`: a study of a server, with the verbs that every study has; and which studies a server has."""

import ast
import secrets
import shlex
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Final, NoReturn, Self
from urllib.parse import quote

import numpy as np

from boxthirding._checks import as_reward, whole
from boxthirding.client import json_values
from boxthirding.client.addresses import NAME, key_for, parsed
from boxthirding.client.connection import Connection, Heartbeat, Reply, as_error
from boxthirding.client.json_values import made, without_none
from boxthirding.errors import AlreadyTold, InvalidInput, StudyUnavailable, UnknownStudy, UnknownTicket
from boxthirding.policies.spec import as_policy, format_spec, parse_policy
from boxthirding.session import PAGE, Box, Glance, Known, Moment, Recommendation, Ticket, View
from boxthirding.session.amendments import check_details
from boxthirding.session.protocol import Plotted
from boxthirding.session.tickets import WORKER, check_holder
from boxthirding.session.values import (
    ArmResult,
    ArmSummary,
    Details,
    Difficulty,
    Lineage,
    Moments,
    Rung,
    Screening,
    Spread,
    in_brief,
)
from boxthirding.study.journal import unique_name
from boxthirding.study.settings import ABOUT, Settings
from boxthirding.types import Label, Policy

TIMEOUT: Final = 60.0  # seconds for which a call is tried again while the server cannot be reached

_PAGE: Final = 1000  # arms in one reply
_MOST: Final = 10_000  # tickets in one reply
_DIGEST: Final = 24  # letters of a key that stands for a long label
_PAUSE: Final = 0.05  # seconds before the second try to ask


class RemoteStudy(Plotted):
    """A study of a server that `boxthirding serve` runs: the verbs of `Study`, over HTTP.

    So workers on many machines share a study with no database in common. One object serves any number of threads and
    holders. Calls are repeated while the server cannot be reached, and count once however often they are; what the
    server rejects is raised as the same error that a local study would raise.

    Parameters
    ----------
    url : str
        Where the server is, and after # the name of the study: "https://rate.example.org/#captions". Default name:
        "main".
    key : str, optional
        What lets the program in. Default: the environment variable BOXTHIRDING_KEY. A worker's key can ask, tell, fail
        and release; what else changes a study takes an operator's, and to make one an operator's of all studies.
    name : str, optional
        The study, if the address names none.
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

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        name: str | None = None,
        holder: str | None = None,
        timeout: float = TIMEOUT,
        **settings: Any,
    ) -> None:
        given = Settings(**settings)
        address = parsed(url, name)
        self._key = key_for(address.server, key)
        self.name = NAME if address.name is None else address.name
        self.place = shlex.quote(address.study())
        """Where it is, as a command line names it."""
        self._own = set() if holder is not None else {unique_name()}  # names that no one else has
        self.holder = check_holder(holder) if holder is not None else next(iter(self._own))
        """Holder of the tickets that this object asks for, if no other is named."""
        self._url, self._timeout = address.study(), timeout
        self._connection = Connection(address, self._key, timeout)
        self._path = f"/studies/{quote(self.name, safe='')}"
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}  # one ask at a time under a worker's name of this process
        self._in_hand: set[int] = set()  # tickets that were asked for under a worker's name of this process
        self._payloads: dict[Label, Any] = {}
        body = without_none(
            **{name: getattr(given, name) for name in ("seed", "direction", "lease", "patience", "examples")},
            policy=None if given.policy is None else format_spec(as_policy(given.policy)),
            known=None if given.known is None else json_values.known_rows(given.known),
            details=None if given.details is None else check_details(given.details),
            force=given.force or None,
        )
        if given.arms is not None:
            body["arms"], self._payloads = json_values.to_send(given.arms)
        self._heart = Heartbeat(self._connection, f"{self._path}/workers")
        self._finalizer = weakref.finalize(self, _let_go, self._heart, self._connection)
        try:
            self._made = self._heard(self._call("PUT" if body else "GET", "", body or None)).value
        except BaseException:
            self.close()
            raise
        self.direction: str = self._made["direction"]
        """Whether larger rewards are better: maximize or minimize."""
        self.lease: float | None = self._made["lease"]
        """Seconds after which a ticket that was not told goes to the next holder who asks, or None for never."""
        self.patience: int = self._made["patience"]
        """Failures in a row after which an arm is withdrawn."""

    @property
    def seed(self) -> int:
        return int(self._made["seed"])

    @property
    def examples(self) -> int | None:
        most: int | None = self._made["examples"]
        return most

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
        most = min(whole("the number of tickets", n, least=1), _MOST)
        least = None if limit is None else whole("limit", limit, least=0)
        who = self.holder if holder is None else check_holder(holder)
        body = without_none(n=most, limit=least, holder=who, unseen=bool(unseen))
        if who not in self._own:
            return self._tickets(self._post("tickets", body, once=True))
        with self._lock:
            lock = self._asking.setdefault(who, threading.Lock())
        with lock:
            tickets = self._asked(who, body)
            self._in_hand.update(ticket.id for ticket in tickets)
            return tickets

    def _asked(self, who: str, body: dict[str, Any]) -> list[Ticket]:
        """Ask under a worker's name. If a reply was lost, return the tickets that the name holds and never received."""
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
        self, ticket: int | Ticket, reward: float, *, holder: str | None = None, details: Details | None = None
    ) -> None:
        row = without_none(
            ticket=_id(ticket),
            reward=as_reward(reward),
            holder=None if holder is None else check_holder(holder),
            details=None if details is None else check_details(details),
        )
        reply = self._post("results", without_none(results=[row], origin=_origin(ticket)))
        (outcome,) = reply.value["results"]
        if outcome["outcome"] != "told":
            problem = outcome["problem"]
            refusal = as_error(problem, int(problem["status"]), self._connection.address.server)
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
        self._post("failures", without_none(ticket=_id(ticket), origin=_origin(ticket)), once=True)
        self._in_hand.discard(_id(ticket))

    def held(self, holder: str | None = None) -> list[Ticket]:
        who = self.holder if holder is None else check_holder(holder)
        return self._tickets(self._call("GET", "/tickets", query={"holder": who}))

    def release(self, *tickets: int | Ticket, holder: str | None = None) -> list[int]:
        body = without_none(
            tickets=[_id(ticket) for ticket in tickets],
            holder=None if holder is None else check_holder(holder),
            origin=next(filter(None, map(_origin, reversed(tickets))), None),
        )
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
        place = None if pull is None else whole("pull", pull, least=0)
        self._observe([without_none(label=json_values.plain_label(label), reward=as_reward(reward), pull=place)])

    def observe_all(self, results: Known) -> None:
        self._observe(json_values.known_rows(results))

    def add_known(self, results: Known | None) -> None:
        """Take those of the known results that the study does not have: of each arm, what goes beyond those it has."""
        if results is not None:
            self._observe(json_values.known_rows(results), only_new=True)

    def correct(self, ticket: int | Ticket, reward: float) -> None:
        body = without_none(ticket=_id(ticket), reward=as_reward(reward), origin=_origin(ticket))
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
        self._post("policy", {"policy": format_spec(as_policy(policy))}, once=True)

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them: texts or whole numbers, or a mapping of labels to arms."""
        rows, payloads = json_values.to_add(arms)
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
        """Finish the study permanently: it issues no more tickets and its result is final.

        Results of open tickets, corrections and exclusions are refused with `StudyFinished`. It cannot be undone.
        """
        self._post("finish")

    def recommend(self) -> Recommendation | None:
        return self.view().recommendation

    def top(self, k: int) -> list[Recommendation]:
        rows = self._rows("top", k=min(whole("k", k, least=1), _PAGE))
        return [made(Recommendation, row) for row in islice(rows, k)]

    def arms(
        self, first: int = 0, count: int = PAGE, *, order: str = "best", search: str | None = None
    ) -> list[ArmSummary]:
        start, most = whole("first", first, least=0), whole("count", count, least=1)
        rows = self._rows("arms", start, count=min(most, _PAGE), order=order, search=search)
        return [made(ArmSummary, row) for row in islice(rows, most)]

    def boxes(self, level: int | None = None, first: int = 0, count: int = PAGE) -> list[Box]:
        return [made(Box, row) for row in self._by_pages("boxes", ("level", "deferment"), first, count, level=level)]

    def ladder(self, pulls: int | None = None, first: int = 0, count: int = PAGE) -> list[Rung]:
        return [made(Rung, row) for row in self._by_pages("ladder", ("fewest",), first, count, pulls=pulls)]

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
        """Return the object given as an arm, or its label if no other object was given or only its digest is stored."""
        plain = json_values.plain_label(label)
        if plain in self._payloads:
            return self._payloads[plain]
        return json_values.payload_of(self._get("/arm", **_named(plain)))

    def why(self, label: Label) -> Lineage:
        return made(Lineage, self._get("/arm", **_named(label)))

    def screening(self, share: float) -> Screening | None:
        row = self._get("/screening", share=share)["screening"]
        return None if row is None else made(Screening, row)

    def spread(self, labels: Iterable[Label] = ()) -> Spread:
        """Return how far results lie from the mean of their arm: over all arms, and for those named among the best."""
        wanted = {*labels}
        row = self._get("/spread", k=min(max(1, len(wanted)), _PAGE))
        arms = {one["label"]: made(Moments, one) for one in row["arms"] if one["label"] in wanted}
        answers = None if row["answers"] is None else frozenset(row["answers"])
        return Spread(row["squares"], row["freedom"], answers, arms, row["examples"])

    def results(self, label: Label, first: int = 0, count: int = PAGE) -> list[ArmResult]:
        start, most = whole("first", first, least=0), whole("count", count, least=1)
        path = f"{self._path}/arm/results"
        rows = self._connection.rows(path, "results", start, count=min(most, _PAGE), **_named(label))
        return [made(ArmResult, row) for row in islice(rows, most)]

    def difficulties(self) -> list[Difficulty]:
        return [made(Difficulty, row) for row in self._rows("difficulties", count=_PAGE)]

    @property
    def details(self) -> dict[str, Any]:
        """What raters are shown, when it was opened; a server does not send other details."""
        return {ABOUT: self._made["about"]}

    def history(self) -> list[Moment]:
        """Return what the answer was over time, as any study does; a server sends 300 moments at the most."""
        rows = self._get("/history")["moments"]
        labels = {key: self._label_of(key) for key in {row["label"] for row in rows}}
        return [Moment(row["results"], labels[row["label"]], row["mean"], row["tried"], row["at"]) for row in rows]

    def _label_of(self, key: str) -> Label:
        """Return the label that has a key of the server's pages: its repr, or a digest of that if it is long."""
        may_be_digest = len(key) == _DIGEST and key.isalnum()
        label: Label = self._get("/arm", key=key)["label"] if may_be_digest else ast.literal_eval(key)
        return label

    def view(self) -> View:
        return made(View, self._heard(self._call("GET", "")).value)

    def glance(self) -> Glance:
        return self._glance

    def close(self) -> None:
        """Close the connection and release the worker names; the study can be opened again at any time."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise InvalidInput(f"{self!r} has a key, so it cannot be pickled: open RemoteStudy({self._url!r}) there")

    def __repr__(self) -> str:
        """Describe the address and the state at the last call of this object, without asking the server."""
        return f"<RemoteStudy {self._url} of {in_brief(self._made['arms'], self._made['policy'], self._glance.pulls)}>"

    def _observe(self, rows: list[dict[str, Any]], *, only_new: bool = False) -> None:
        if rows:
            self._post("observations", {"results": rows, "only_new": only_new}, once=True)

    def _tickets(self, reply: Reply) -> list[Ticket]:
        return [json_values.ticket(row, self._payloads) for row in reply.value["tickets"]]

    def _rows(self, what: str, first: int = 0, **query: Any) -> Iterator[Any]:
        return self._connection.rows(f"{self._path}/{what}", what, first, **query)

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
        self._glance = json_values.glance(reply.value)
        return reply


def list_remote(url: str, key: str | None = None, timeout: float = 10.0) -> list[dict[str, Any]]:
    """Return the studies of a server that a key may see, each as its view and what keeps it from being read."""
    address = parsed(url)
    with closing(Connection(address, key_for(address.server, key), timeout)) as connection:
        return [*connection.rows("/studies", "studies")]


def chosen(url: str, name: str | None) -> str:
    """Return the address of the study that is meant: the one that is named, or the only one of the server."""
    address = parsed(url, name)
    if address.name is not None:
        return address.study()
    names = [row["name"] for row in list_remote(url)]
    if not names:
        raise UnknownStudy(f"{address.server} has no study that this key may see", advice="name one after #")
    if len(names) > 1 and NAME not in names:
        raise InvalidInput(
            f"{address.server} has {len(names)} studies: say which with --name, or after # ({', '.join(names)})"
        )
    return address.study(names[0] if len(names) == 1 else NAME)


def _let_go(heart: Heartbeat, connection: Connection) -> None:
    heart.stop()
    connection.close()


def _id(ticket: object) -> int:
    """Return the id of a ticket; refuse what can be none."""
    number = ticket.id if isinstance(ticket, Ticket) else ticket
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
        raise UnknownTicket(f"ticket {number!r} was not issued here", advice="give a ticket of ask() or its id")
    return int(number)


def _origin(ticket: object) -> str | None:
    """Return of which study a ticket is, if it says so."""
    return ticket.origin if isinstance(ticket, Ticket) else None


def _named(label: Label) -> dict[str, Any]:
    """Return what names an arm in a query."""
    plain = json_values.plain_label(label)
    return {"label": plain, "kind": "text" if isinstance(plain, str) else "number"}
