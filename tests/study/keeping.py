"""Studies in memory for tests: a place, a clock that is set by hand, and the events without their times."""

import threading
from contextlib import contextmanager

from boxthirding.storage.memory import MemoryJournal, MemoryShelf
from boxthirding.study import Settings, Study, codec
from boxthirding.study.codec import START, check_of
from boxthirding.study.snapshot import pack, unpack


class Place:
    """A shelf in memory whose studies share a clock."""

    def __init__(self):
        self.shelf = MemoryShelf()
        self.now = 100.0

    def open(self, holder=None, name="study", **settings):
        return Study(name, self.shelf.journal(name), Settings(**settings), holder=holder, clock=lambda: self.now)

    def texts(self, name="study"):
        return self.shelf.journal(name).read(0, 1_000_000)


def play(study, pulls):
    """Let one worker do so many pulls; rewards depend on the ticket alone."""
    for _ in range(pulls):
        for ticket in study.ask():
            study.tell(ticket, reward(ticket))


def reward(ticket):
    return (37 * ticket.arm + 11 * ticket.pull) % 101 / 101


def kinds(study):
    """Return what happened after the making, by name."""
    return [type(entry.event).__name__ for entry in study.events(1)]


def filled(texts):
    """Return a journal with these texts."""
    journal = MemoryJournal()
    with journal.writing():
        journal.append(0, texts)
    return journal


def unmarked(study):
    """Return the state of a study without what marks its own history: the check of its last event."""
    return pack({**unpack(study.state()), "check": ""})


def rewritten(place, at, text, name="study"):
    """Put a text at a place of a journal, with checks for it and all that follow as if it had been written so."""
    texts = place.shelf.journal(name)._pages.texts
    texts[at : at + 1] = [text]
    for place_of in range(at, len(texts)):
        head = texts[place_of][: -codec._TAIL] if check_of(texts[place_of]) else texts[place_of].removesuffix("}")
        before = check_of(texts[place_of - 1]) if place_of else START
        texts[place_of] = f'{head},"check":"{codec._check(head, before)}"}}'


class Counted(MemoryJournal):
    """A journal that counts its commits and can be held up in one."""

    def __init__(self):
        super().__init__()
        self.commits = 0
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Event()

    @contextmanager
    def writing(self):
        with super().writing():
            yield
            self.reached.set()
            self.gate.wait()
        self.commits += 1
