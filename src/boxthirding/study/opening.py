"""How a study comes about: written down when it is made, and taken up again from what its journal has."""

from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from boxthirding.errors import JournalBroken
from boxthirding.session import amendments
from boxthirding.session.amendments import listed
from boxthirding.study.arm_source import ArmSource, OwnArms
from boxthirding.study.codec import START, check_of, decode, encode
from boxthirding.study.decisions import Decisions
from boxthirding.study.events import Created, Event
from boxthirding.study.journal import Journal
from boxthirding.study.payloads import kept_all
from boxthirding.study.reading import cut_off
from boxthirding.study.settings import GivenArms, Settings, created_from
from boxthirding.study.snapshot import Unusable, unpack
from boxthirding.study.state import StudyState


class First(NamedTuple):
    """The first event of a study, and its check."""

    created: Created
    check: str


def create(journal: Journal, settings: Settings, arms: GivenArms, own: OwnArms, decisions: Decisions) -> None:
    """Write down a new study, unless another process has just done so."""
    created = created_from(settings, arms, decisions.clock())
    known = [] if settings.known is None else listed(settings.known)
    own.draw_ahead(1)  # now: others may be waiting for the lock then
    with journal.writing():
        if journal.read(0, 1):
            return
        state = StudyState(created, own.source, is_new=True)  # checks the settings, and draws the first arm
        pairs = [(label, state.core.labels.payload_of(label)) for label in state.feed.drawn]
        events: list[Event] = [replace(created, drawn=tuple(state.feed.drawn), drawn_payloads=kept_all(pairs))]
        if known:
            amendments.check_can_begin(state.core, known)
            events += decisions.observe(state, known).events
        texts, check = [], START
        for event in events:
            text, check = encode(event, check)
            texts.append(text)
        journal.append(0, texts)


def first_event(name: str, journal: Journal) -> First:
    """Return the event with which the journal of a study must begin."""
    (text,) = journal.read(0, 1)
    created = decode(text, 1, START)
    if not isinstance(created, Created):
        raise JournalBroken(f"the journal of {name!r} begins with {created}, but must begin with its making")
    return First(created, check_of(text))


def rebuilt(journal: Journal, first: First, source: ArmSource | None) -> StudyState:
    """Return the state of the latest snapshot that can be used, or that of the very beginning."""
    for seq in journal.snapshots():
        texts = journal.read(seq - 1, 1)
        if not texts:
            raise cut_off(seq)
        with suppress(Unusable):
            state = StudyState.load(first.created, source, unpack(journal.snapshot(seq)))
            if check_of(texts[0]) == state.check:  # it follows that very event
                return state
    state = StudyState(first.created, source)
    state.check = first.check
    return state
