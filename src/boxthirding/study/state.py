"""The state of a study: what its events add up to. It reads no clock and no file: the same events, the same state.

A journal is read in two parts. The ledger and the tickets follow from every event; no rule is run for that. The
policy's state follows from the events since the last `Created` or `Switched`, if the rule that wrote them is installed.
A newer version of the rule starts from the ledger.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar

from boxthirding.errors import BoxThirdingError, InvalidInput, JournalBroken, PolicyMissing
from boxthirding.policies.spec import parse_policy
from boxthirding.session import Ticket, View, amendments, reading
from boxthirding.session.core import Core, HandedOut
from boxthirding.session.values import Details, KnownResult
from boxthirding.study import events
from boxthirding.study.arm_payloads import kept_all
from boxthirding.study.arm_source import ArmSource, Feed, NotDrawn
from boxthirding.study.codec import RESTORE, name_of
from boxthirding.study.events import Event, Payloads
from boxthirding.types import Label, Policy

T = TypeVar("T")

OPEN: Final = "open"
PAUSED: Final = "paused"
FINISHED: Final = "finished"

_MAY_CHANGE_THE_ANSWER: Final = frozenset(
    {events.Told, events.Observed, events.Corrected, events.Excluded, events.Included, events.Withdrawn}
)
_RECENT = 100  # results whose times are kept, for a rate
_MINUTE = 60.0  # seconds
_CANNOT_START: Final = ", which decides otherwise and cannot start from results that are there"
_WAY: Final = "continue with another policy, by study.use('chase'): it starts from the results"


class Chosen(NamedTuple):
    """The policy that a journal names, as it is installed."""

    spec: str
    version: int  # the version of its rule that wrote the journal
    policy: Policy | None  # None, if it cannot decide here
    problem: str = ""  # why it cannot; empty if it can
    way: str = ""  # what to do about it, where the problem does not say

    @property
    def is_here(self) -> bool:
        """Whether the version of the rule that wrote the journal is installed."""
        return self.policy is not None and version_of(self.policy) == self.version


def chosen(spec: str, number: int) -> Chosen:
    """Return the policy that a journal names, and what is wrong with it here."""
    try:
        policy = parse_policy(spec)
    except InvalidInput as error:
        return Chosen(spec, number, None, f"the study's policy {spec} cannot be made here ({error})", _WAY)
    here = version_of(policy)
    if here == number or (here > number and policy.rule.amend is not None):
        return Chosen(spec, number, policy)
    problem = f"the study was written with version {number} of policy {policy.name}, but here is version {here}"
    if here < number:
        return Chosen(spec, number, None, f"{problem}: upgrade boxthirding, or what else the policy comes from")
    return Chosen(spec, number, None, f"{problem}{_CANNOT_START}", _WAY)


def version_of(policy: Policy) -> int:
    """Return the version of a policy's rule, 1 unless it says otherwise."""
    return int(getattr(policy, "version", 1))


def package() -> str:
    """Return the version of boxthirding, read only when it is written down: that takes milliseconds."""
    try:
        return version("boxthirding")
    except PackageNotFoundError:  # run from a copy that is not installed
        return "unknown"


class RuleDisagrees(JournalBroken):
    """The installed rule does not fit the journal of the one that wrote it under the same version."""

    era: int = 0  # how many policies there were before the one that disagrees


class Decided(NamedTuple, Generic[T]):
    """The events of a decision, which the state has applied, and the result for the caller."""

    events: list[Event]
    result: T


class Exchange(NamedTuple):
    """What a holder brings and wants: results, and up to n tickets; if `unseen`, only of arms that it never had."""

    holder: str
    results: Sequence[tuple[int | Ticket, float, Details | None]] = ()
    n: int = 0
    unseen: bool = False


class Handed(NamedTuple):
    """What a holder gets: tickets, and what is wrong with each of the results that it told."""

    tickets: list[Ticket]
    to_draw: int = 0  # how many arms must be drawn before the other tickets can be issued
    trouble: BoxThirdingError | None = None  # what kept the next ticket from being issued
    problems: Sequence[InvalidInput | None] = ()  # by result; None where it was taken


class StudyState:
    """The state of a study after `seq` events.

    The rules of policies up to the era `distrusted` are not run: what they decided is read from the journal.
    """

    def __init__(
        self, name: str, created: events.Created, source: ArmSource, *, is_new: bool = False, distrusted: int = -1
    ) -> None:
        self.name = name
        self._distrusted = distrusted
        self.seq = 1
        self.check = ""  # the check of the last event
        self.created = created
        self.details = created.details
        self.status = OPEN
        self.tell_times: list[float] = []  # when the latest results were told
        self.chosen: Chosen = chosen(created.policy, created.policy_version)
        """The policy that decides, or would if its rule were installed."""
        self.era = 0  # how many policies there were before it
        self.must_switch = False
        """Whether the policy started from the ledger just now, so that the next write must record it."""
        self.stored: dict[Label, dict[str, Any]] = {}
        """What was given as an arm, as the journal stores it, where that is not the label."""
        self._stored_later: dict[Label, dict[str, Any] | None] = {}  # since the first event; None: the label
        self.feed = Feed(source, self.stored)
        self.feed.expect(created.drawn, ended=False)
        self.feed.is_live = is_new  # then the iterator itself gives the first arm
        self.core = Core(
            self.feed if created.arms is None else created.arms,
            seed=created.seed,
            direction=created.direction,
            patience=created.patience,
            examples=created.examples,
            origin=created.origin,
        )
        if created.arms is not None and created.payloads is not None:
            self._store(created.arms, created.payloads)
        if self._follows_rule and self.chosen.policy is not None:
            self.core.rule.start(self.chosen.policy)
            self._keep_drawn(0)
        else:
            self._take_drawn(created.drawn, ended=False)
        self._store(created.drawn, created.drawn_payloads or ())
        self.feed.is_live = False

    @property
    def _follows_rule(self) -> bool:
        """Whether the rule that wrote the journal is installed, and decides as it did then."""
        return self.chosen.is_here and self.era > self._distrusted

    @property
    def policy(self) -> Policy:
        """What decides; where it cannot decide here, the error says why."""
        self.check_can_write()
        return self.core.rule.policy

    def check_can_write(self) -> None:
        """Raise if the policy cannot decide here."""
        if self.chosen.policy is None:
            raise PolicyMissing(self.chosen.problem, advice=self.chosen.way)

    def replay(self, event: Event) -> None:
        """Apply an event of a journal."""
        if self.must_switch:  # an older process has written on: the results to start from have changed
            self.core.rule.stop()
            self.must_switch = False
        try:
            self.apply(event)
        except (BoxThirdingError, LookupError, TypeError, ValueError) as error:
            broken = (JournalBroken if self.core.rule.live is None else RuleDisagrees)(
                f"event {self.seq + 1} ({name_of(event)}) of the journal disagrees with what the events before it "
                f"add up to: {error}",
                advice=RESTORE,
            )
            if isinstance(broken, RuleDisagrees):
                broken.era = self.era
            raise broken from error

    def settle(self) -> None:
        """Start the installed rule when everything has been read, if it is not the one that wrote the journal."""
        policy = self.chosen.policy
        if self.core.rule.live is not None or policy is None:
            return
        if policy.rule.amend is None:
            problem = f"the study was written with other code of version {self.chosen.version} of policy {policy.name}"
            self.chosen = self.chosen._replace(policy=None, problem=f"{problem}{_CANNOT_START}", way=_WAY)
        else:
            self.core.rule.start(policy, self.era + 1)
            self.must_switch = True

    def switch(self, at: float) -> events.Switched:
        """Return the event that records that another rule decides from now on."""
        policy = self.core.rule.policy
        why = f"version {version_of(policy)} of {policy.name} instead of {self.chosen.version}"
        if self.chosen.is_here:
            why = f"{policy.name} as it is installed, because it decides otherwise than before under the same version"
        self.chosen = Chosen(self.chosen.spec, version_of(policy), policy)
        self.must_switch = False
        self.era += 1
        self.seq += 1
        return events.Switched(at, self.chosen.spec, self.chosen.version, why, package())

    def apply(self, event: Event) -> None:  # noqa: C901, PLR0912  # a case for each kind of event
        """Apply an event; one that is impossible raises, and changes nothing."""
        core = self.core
        match event:
            case events.Told():
                core.tell(event.ticket, event.reward, event.holder)
                self.tell_times.append(event.at)
                if len(self.tell_times) > 2 * _RECENT:
                    del self.tell_times[:-_RECENT]
            case events.Asked():
                self._asked(event)
            case events.Given():
                for ticket in event.tickets:
                    core.tickets.give(ticket, event.holder, event.at)
            case events.Failed():
                core.fail(event.ticket)
            case events.Released():
                for ticket in event.tickets:
                    core.tickets.take_back(core.tickets.expected(ticket).ticket.id)
            case events.Observed():
                amendments.observe_all(core, [KnownResult(*result) for result in event.results])
            case events.Corrected():
                amendments.correct(core, event.ticket, event.reward)
            case events.Excluded():
                amendments.exclude(core, event.holder)
            case events.Included():
                amendments.include(core, event.holder)
            case events.Switched():
                self._switched(event)
            case events.Added():
                core.add(event.labels)
                self._store_later(event.labels, event.payloads or ())
            case events.Withdrawn():
                core.withdraw(event.label)
            case events.Redefined():
                self._store_later(event.labels, event.payloads or ())
                self.details = self.details if event.details is None else event.details
                if event.example_payloads is not None:
                    core.examples.stored = [payload for payload in event.example_payloads if payload is not None]
            case events.Paused():
                self.status = PAUSED
            case events.Resumed():
                self.status = OPEN
            case events.Finished():
                self.status = FINISHED
            case _:
                raise ValueError("a study is created once")
        self.seq += 1
        if type(event) in _MAY_CHANGE_THE_ANSWER:
            core.note_answer(event.at)

    def catch_up(self) -> int:
        """Move the iterator of this process to where the journal is; return how many arms to draw for that."""
        feed = self.feed
        if feed.source.iterator is None:
            return 0
        return feed.source.catch_up(feed.drawn, feed.stored, self.core.labels.knows)

    def view(self) -> View:
        """Return a summary of the study."""
        recent = self.tell_times[-_RECENT:]
        is_timed = len(recent) > 1 and recent[-1] > recent[0]
        rate = _MINUTE * (len(recent) - 1) / (recent[-1] - recent[0]) if is_timed else None
        view = reading.view(self.core, name=self.name, status=self.status, per_minute=rate)
        return view if view.policy else replace(view, policy=self.chosen.spec)

    def save(self) -> dict[str, Any]:
        """Return the state as plain values and arrays."""
        return {
            "seq": self.seq,
            "check": self.check,
            "status": self.status,
            "tell_times": self.tell_times,
            "drawn": self.feed.drawn,
            "details": self.details,
            "stored": list(self._stored_later.items()),
            "policy": [self.chosen.spec, self.chosen.version],
            "era": self.era,
            "core": self.core.save(),
        }

    @classmethod
    def load(
        cls, name: str, created: events.Created, source: ArmSource, saved: Mapping[str, Any], distrusted: int = -1
    ) -> Self:
        """Return a state that was saved; a KeyError or TypeError, among others, says that it does not fit."""
        state = cls(name, created, source, distrusted=distrusted)
        state.chosen, state.era = chosen(*saved["policy"]), saved["era"]
        state.core.load(saved["core"], state.chosen.policy if state._follows_rule else None)
        state.seq, state.check, state.status = saved["seq"], saved["check"], saved["status"]
        state.tell_times = saved["tell_times"]
        state.feed.drawn[:] = saved["drawn"]
        state.details = saved["details"]
        state._store_later([label for label, _ in saved["stored"]], [stored for _, stored in saved["stored"]])
        return state

    def hand_out(
        self, n: int, holder: str, at: float, *, unseen: bool, done: events.Asked | None = None
    ) -> Decided[Handed]:
        """Run the rule for up to n new tickets, which have then happened, or for those of an event of a journal."""
        core, labels = self.core, self.core.labels
        numbered, known, open_ended = len(labels.numbered), labels.count, labels.open_ended
        before = core.asked_so_far
        tickets: list[Ticket] = []
        handed = HandedOut(short=False, unscheduled=0)
        trouble: BoxThirdingError | None = None
        to_draw = 0
        self.feed.is_live = done is None
        try:
            if done is None:
                handed = core.hand_out(n, holder, at, tickets, unseen=unseen)
            else:
                short = core.cut(n - done.unscheduled, holder, at, tickets, unseen=unseen)
                jobs = len(tickets)
                tickets += [core.issue_again(label, holder, at) for _, label, _ in done.tickets[jobs:]]
                handed = HandedOut(short, len(tickets) - jobs)
        except NotDrawn:
            to_draw = n - len(tickets)
        except BoxThirdingError as error:
            trouble = error
        introduced = tuple([labels.label(number) for number in range(numbered, len(labels.numbered))])
        if introduced and introduced == tuple(dict.fromkeys([one.label for one in tickets if one.arm >= numbered])):
            introduced = ()  # the tickets say it
        drawn, payloads = self._keep_drawn(known) if open_ended else ((), None)
        self.feed.is_live = False
        ended = open_ended and not labels.open_ended
        if not (tickets or introduced or drawn or ended or before != core.asked_so_far):
            return Decided([], Handed(tickets, to_draw, trouble))
        rows = tuple([(ticket.id, ticket.label, ticket.pull) for ticket in tickets])
        event = events.Asked(
            at, holder, rows, unseen, handed.short, introduced, drawn, payloads, ended, handed.unscheduled
        )
        if done is None:  # else `apply` counts it
            self.seq += 1
        return Decided([event], Handed(tickets, to_draw, trouble))

    def _asked(self, event: events.Asked) -> None:
        if self.core.rule.live is None:
            self._take_drawn(event.drawn, ended=event.ended)
            for label in event.introduced:
                self.core.claim(label)
            for ticket_id, label, pull in event.tickets:
                self.core.restore_ticket(ticket_id, label, pull, event.holder, event.at)
        else:
            self.feed.expect(event.drawn, ended=event.ended)
            n = len(event.tickets) + event.short
            redone, handed = self.hand_out(n, event.holder, event.at, unseen=event.unseen, done=event)
            done = redone[0] if redone else None
            same = done == event
            if not same and isinstance(done, events.Asked):
                same = replace(done, drawn_payloads=event.drawn_payloads) == event
            if not same or handed.trouble is not None:
                raise InvalidInput(
                    f"it says {_tickets(event)}, but the rule hands out {_tickets(done)}"
                ) from handed.trouble
        self._store_later(event.drawn, event.drawn_payloads or ())

    def _switched(self, event: events.Switched) -> None:
        self.chosen = chosen(event.policy, event.policy_version)
        self.era += 1
        self.must_switch = False
        policy = self.chosen.policy
        if self._follows_rule and policy is not None:
            self.core.rule.start(policy, self.era)
        else:
            self.core.rule.stop()

    def _take_drawn(self, drawn: Sequence[Label], *, ended: bool) -> None:
        """Take in what an iterator gave, without asking it."""
        if (drawn or ended) and not self.core.labels.open_ended:
            raise InvalidInput("an iterator gives arms, but there is none")
        for label in drawn:
            self.core.labels.add_drawn(label)
            self.feed.drawn.append(label)
        if ended:
            self.core.labels.end()

    def _keep_drawn(self, known: int) -> tuple[tuple[Label, ...], Payloads | None]:
        """Keep what the iterator gave beyond the arms known before; return it as an event has it."""
        if not self.core.labels.open_ended and self.created.arms is not None:
            return (), None
        labels = tuple(self.core.labels.since(known))
        pairs = [(label, self.core.labels.payload_of(label)) for label in labels]
        self.feed.keep(pairs)
        payloads = kept_all(pairs)
        self._store_later(labels, payloads or ())
        return labels, payloads

    def _store(self, labels: Iterable[Label], payloads: Iterable[dict[str, Any] | None]) -> None:
        """Keep what the journal has as arms."""
        for label, payload in zip(labels, payloads, strict=False):
            before = self.stored.pop(label, None)
            if payload is not None:
                self.stored[label] = payload
            if payload is not None and "json" in payload:
                self.core.labels.keep_payload(label, payload["json"])
            elif before is not None:  # the arm is not that object any more
                self.core.labels.keep_payload(label, label)

    def _store_later(self, labels: Iterable[Label], payloads: Iterable[dict[str, Any] | None]) -> None:
        pairs = dict(zip(labels, payloads, strict=False))
        self._stored_later.update({label: pair for label, pair in pairs.items() if pair or label in self.stored})
        self._store(pairs.keys(), pairs.values())


def _tickets(event: Event | None) -> str:
    """Return the ids of the tickets that an event is about."""
    if not isinstance(event, events.Asked):
        return "nothing"
    named = ", ".join(f"{ticket} for {label!r}" for ticket, label, _ in event.tickets)
    waits = " and waits" if event.short else ""
    return f"tickets {named}{waits}" if named else f"no ticket{waits}"
