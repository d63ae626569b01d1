"""What the events of a study add up to. It reads no clock and no file: the same events, the same state.

A journal is read in two parts. The ledger and the tickets follow from every event; no rule is run for that. The
policy's state follows from the events since the last `Created` or `TakenOver`, if the rule that wrote them is here. A
newer version of the rule starts from the ledger.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final, NamedTuple, Self

from boxthirding.errors import BoxThirdingError, JournalBroken, PolicyMissing
from boxthirding.policies.rule_runner import LiveState
from boxthirding.session import Ticket, View, amendments, answers
from boxthirding.session.amendments import KnownResult
from boxthirding.session.core import Core, HandedOut
from boxthirding.study import events
from boxthirding.study.arm_source import ArmSource, Feed, NotDrawn
from boxthirding.study.codec import RESTORE, name_of
from boxthirding.study.events import Event, Payloads
from boxthirding.study.payloads import kept_all
from boxthirding.study.rules import Chosen, chosen, package, version_of
from boxthirding.study.snapshot import Unusable
from boxthirding.types import Label, Policy

OPEN: Final = "open"
PAUSED: Final = "paused"
FINISHED: Final = "finished"

_MAY_CHANGE_THE_ANSWER: Final = frozenset(
    {events.Told, events.Observed, events.Corrected, events.Excluded, events.Included, events.ArmWithdrawn}
)
_RECENT = 100  # results whose times are kept, for a rate
_MINUTE = 60.0  # seconds


class Asking(NamedTuple):
    """New tickets, the event that says so, and what kept the next ticket from being made."""

    tickets: list[Ticket]
    event: events.Asked | None
    has_moved: bool
    """Whether the rule was asked, or jobs were put aside, which may be all that happened."""
    trouble: BoxThirdingError | NotDrawn | None


class _Prepared(NamedTuple):
    """The state that a policy starts from after so many events."""

    seq: int = 0
    policy: Policy | None = None
    live: LiveState | None = None


class StudyState:
    """The state of a study after `seq` events."""

    def __init__(self, created: events.Created, source: ArmSource | None = None, *, is_new: bool = False) -> None:
        self.seq = 1
        self.check = ""
        """The check of the last event."""
        self.created = created
        self.details = created.details
        self.status = OPEN
        self.told_at: list[float] = []
        """When the latest results were told."""
        self.chosen: Chosen = chosen(created.policy, created.policy_version)
        """The policy that decides, or would if its rule were here."""
        self.era = 0
        """How many policies there were before it."""
        self._prepared = _Prepared()
        self.must_take_over = False
        """Whether what decides here started from the ledger only now, so that the next write must say so."""
        self.stored: dict[Label, dict[str, Any]] = {}
        """What was given as an arm, as the journal keeps it, where that is not the label."""
        self._stored_later: dict[Label, dict[str, Any] | None] = {}  # what came after the first event; None: the label
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
        if self.chosen.is_here and self.chosen.policy is not None:
            self.core.start(self.chosen.policy)
            self._keep_drawn(0)
        else:
            self._take_drawn(created.drawn, ended=False)
        self._store(created.drawn, created.drawn_payloads or ())
        self.feed.is_live = False

    @property
    def policy(self) -> Policy:
        """What decides; where it cannot decide here, the error says why."""
        self.check_can_write()
        return self.core.policy

    def take(self, event: Event) -> None:
        """Let an event happen that a journal says has happened."""
        if self.must_take_over:  # an older process has written on: what we would take over has changed
            self.core.stop()
            self.must_take_over = False
        try:
            self.apply(event)
        except (BoxThirdingError, LookupError, TypeError, ValueError) as error:
            raise JournalBroken(
                f"event {self.seq + 1} ({name_of(event)}) of the journal disagrees with what the events before it "
                f"add up to: {error}",
                advice=RESTORE,
            ) from error

    def settle(self) -> None:
        """See to it that a policy decides, when all that was written has been read: perhaps a newer version of it."""
        if self.core.live is None and self.chosen.policy is not None:
            self.core.start(self.chosen.policy, self.era + 1)
            self.must_take_over = True

    def take_over(self, at: float) -> events.TakenOver:
        """Let the policy that decides here take the study over, and return the event that says so."""
        policy = self.core.policy
        why = f"version {version_of(policy)} of {policy.name} instead of {self.chosen.version}"
        self.chosen = Chosen(self.chosen.spec, version_of(policy), policy)
        self.must_take_over = False
        self.era += 1
        self.seq += 1
        return events.TakenOver(at, self.chosen.spec, self.chosen.version, why, package())

    def apply(self, event: Event) -> None:
        """Let an event happen; one that cannot is refused, and nothing has changed."""
        self._APPLY[type(event)](self, event)
        self.seq += 1
        if type(event) in _MAY_CHANGE_THE_ANSWER:
            self.core.note_answer(event.at)

    def ask(self, n: int, holder: str, at: float, *, unseen: bool) -> Asking:
        """Decide on up to n new tickets: what is decided has happened. There is no event if nothing is new."""
        self.feed.is_live = True
        try:
            asking = self._cut(n, holder, at, unseen=unseen)
        finally:
            self.feed.is_live = False
        event = asking.event
        if event is None or not (event.tickets or event.met or event.drawn or event.ended or asking.has_moved):
            return asking._replace(event=None)
        self.seq += 1
        return asking

    def prepare(self, policy: Policy) -> None:
        """Make the state that a policy would start from now, so that no one has to wait for it under the write lock."""
        self._prepared = _Prepared(self.seq, policy, self.core.prepared(policy))

    def check_can_write(self) -> None:
        """Refuse to write where the policy cannot decide."""
        if self.chosen.policy is None:
            raise PolicyMissing(self.chosen.problem, advice=self.chosen.way)

    def view(self, name: str) -> View:
        """Return all that can be read of a study of this name."""
        recent = self.told_at[-_RECENT:]
        is_timed = len(recent) > 1 and recent[-1] > recent[0]
        rate = _MINUTE * (len(recent) - 1) / (recent[-1] - recent[0]) if is_timed else None
        view = answers.view(self.core, name=name, status=self.status, per_minute=rate)
        return view if view.policy else replace(view, policy=self.chosen.spec)

    def save(self) -> dict[str, Any]:
        """Return the state as facts and arrays."""
        return {
            "seq": self.seq,
            "check": self.check,
            "status": self.status,
            "told_at": self.told_at,
            "drawn": self.feed.drawn,
            "details": self.details,
            "stored": list(self._stored_later.items()),
            "policy": [self.chosen.spec, self.chosen.version],
            "era": self.era,
            "core": self.core.save(),
        }

    @classmethod
    def load(cls, created: events.Created, source: ArmSource | None, saved: Mapping[str, Any]) -> Self:
        """Return a state that was saved; raise Unusable, if that is not possible."""
        try:
            state = cls(created, source)
            state.chosen = chosen(*saved["policy"])
            state.core.load(saved["core"], state.chosen.policy if state.chosen.is_here else None)
            state.seq, state.check, state.status = saved["seq"], saved["check"], saved["status"]
            state.told_at, state.era = saved["told_at"], saved["era"]
            state.feed.drawn[:] = saved["drawn"]
            state.details = saved["details"]
            state._store_later([label for label, _ in saved["stored"]], [stored for _, stored in saved["stored"]])
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise Unusable(f"the snapshot does not fit this policy: {error!r}") from None
        return state

    def _cut(self, n: int, holder: str, at: float, *, unseen: bool, done: events.Asked | None = None) -> Asking:
        """Run the rule for up to n tickets, or for those of an event that a journal says has happened."""
        core, labels = self.core, self.core.labels
        numbered, known, open_ended = labels.numbered, labels.count, labels.open_ended
        before = core.asked_so_far
        tickets: list[Ticket] = []
        handed = HandedOut(short=False, unscheduled=0)
        trouble: BoxThirdingError | NotDrawn | None = None
        try:
            if done is None:
                handed = core.hand_out(n, holder, at, tickets, unseen=unseen)
            else:
                short = core.cut(n - done.extra, holder, at, tickets, unseen=unseen)
                jobs = len(tickets)
                tickets += [core.issue_again(label, holder, at) for _, label, _ in done.tickets[jobs:]]
                handed = HandedOut(short, len(tickets) - jobs)
        except (BoxThirdingError, NotDrawn) as error:
            trouble = error
        rows = tuple([(ticket.id, ticket.label, ticket.pull) for ticket in tickets])
        met: tuple[Label, ...] = ()
        if labels.numbered - numbered > 0:
            met = tuple([labels.label(number) for number in range(numbered, labels.numbered)])
            if met == tuple(dict.fromkeys([ticket.label for ticket in tickets if ticket.arm >= numbered])):
                met = ()  # the tickets say it
        drawn, payloads = self._keep_drawn(known) if open_ended else ((), None)
        ended = open_ended and not labels.open_ended
        has_moved = before != core.asked_so_far
        event = events.Asked(at, holder, rows, unseen, handed.short, met, drawn, payloads, ended, handed.unscheduled)
        return Asking(tickets, event, has_moved, trouble)

    def _asked(self, event: events.Asked) -> None:
        if self.core.live is None:
            self._take_drawn(event.drawn, ended=event.ended)
            for label in event.met:
                self.core.claim(label)
            for ticket_id, label, pull in event.tickets:
                self.core.restore_ticket(ticket_id, label, pull, event.holder, event.at)
        else:
            self.feed.expect(event.drawn, ended=event.ended)
            wanted = len(event.tickets) + event.short
            asking = self._cut(wanted, event.holder, event.at, unseen=event.unseen, done=event)
            done = asking.event
            same = done is not None and (done.tickets, done.met, done.drawn, done.ended, done.short, done.extra) == (
                *(event.tickets, event.met, event.drawn, event.ended, event.short, event.extra),
            )
            if not same or asking.trouble is not None:
                raise JournalBroken(
                    f"it says {_tickets(event)}, but the rule hands out {_tickets(done)}"
                ) from asking.trouble
        self._store_later(event.drawn, event.drawn_payloads or ())

    def _given(self, event: events.Given) -> None:
        for ticket in event.tickets:
            self.core.tickets.give(ticket, event.holder, event.at)

    def _told(self, event: events.Told) -> None:
        self.core.tell(event.ticket, event.reward, event.holder)
        self.told_at.append(event.at)
        if len(self.told_at) > 2 * _RECENT:
            del self.told_at[:-_RECENT]

    def _failed(self, event: events.Failed) -> None:
        self.core.fail(event.ticket)

    def _released(self, event: events.Released) -> None:
        for ticket in event.tickets:
            self.core.tickets.take_back(self.core.tickets.expected(ticket).ticket.id)

    def _observed(self, event: events.Observed) -> None:
        amendments.observe_all(self.core, [KnownResult(*result) for result in event.results])

    def _corrected(self, event: events.Corrected) -> None:
        amendments.correct(self.core, event.ticket, event.reward)

    def _excluded(self, event: events.Excluded) -> None:
        amendments.exclude(self.core, event.holder)

    def _included(self, event: events.Included) -> None:
        amendments.include(self.core, event.holder)

    def _taken_over(self, event: events.TakenOver) -> None:
        taking = chosen(event.policy, event.policy_version)
        self.era += 1
        self.must_take_over = False
        self.chosen = taking
        if taking.is_here and taking.policy is not None:
            ready = self._prepared.live if self._prepared[:2] == (self.seq, taking.policy) else None
            self.core.start(taking.policy, self.era, ready)
        else:
            self.core.stop()

    def _added(self, event: events.ArmsAdded) -> None:
        self.core.add(event.labels)
        self._store_later(event.labels, event.payloads or ())

    def _withdrawn(self, event: events.ArmWithdrawn) -> None:
        self.core.withdraw(event.label)

    def _redefined(self, event: events.Redefined) -> None:
        self._store_later(event.labels, event.payloads or ())
        self.details = self.details if event.details is None else event.details
        if event.example_payloads is not None:
            self.core.examples.stored = [payload for payload in event.example_payloads if payload is not None]

    def _paused(self, _: events.Paused) -> None:
        self.status = PAUSED

    def _resumed(self, _: events.Resumed) -> None:
        self.status = OPEN

    def _finished(self, _: events.Finished) -> None:
        self.status = FINISHED

    _APPLY: ClassVar[dict[type[Any], Callable[[Any, Any], None]]] = {
        events.Asked: _asked,
        events.Given: _given,
        events.Told: _told,
        events.Failed: _failed,
        events.Released: _released,
        events.Observed: _observed,
        events.Corrected: _corrected,
        events.Excluded: _excluded,
        events.Included: _included,
        events.TakenOver: _taken_over,
        events.ArmsAdded: _added,
        events.ArmWithdrawn: _withdrawn,
        events.Redefined: _redefined,
        events.Paused: _paused,
        events.Resumed: _resumed,
        events.Finished: _finished,
    }

    def _take_drawn(self, drawn: Iterable[Label], *, ended: bool) -> None:
        """Take in what an iterator gave, without asking it."""
        for label in drawn:
            self.core.labels.take(label)
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
        """Keep what the journal says was given as arms."""
        for label, payload in zip(labels, payloads, strict=False):
            before = self.stored.pop(label, None)
            if payload is not None:
                self.stored[label] = payload
            if payload is not None and "json" in payload:
                self.core.labels.keep_payload(label, payload["json"])
            elif before is not None:  # what it was is not the arm any more
                self.core.labels.keep_payload(label, label)

    def _store_later(self, labels: Iterable[Label], payloads: Iterable[dict[str, Any] | None]) -> None:
        pairs = dict(zip(labels, payloads, strict=False))
        self._stored_later.update({label: pair for label, pair in pairs.items() if pair or label in self.stored})
        self._store(pairs.keys(), pairs.values())


def _tickets(event: events.Asked | None) -> str:
    """Say which tickets an event is about."""
    if event is None:
        return "nothing"
    named = ", ".join(f"{ticket} for {label!r}" for ticket, label, _ in event.tickets)
    waits = " and waits" if event.short else ""
    return f"tickets {named}{waits}" if named else f"no ticket{waits}"
