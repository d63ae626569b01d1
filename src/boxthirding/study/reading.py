"""The events of a journal as they were written, whether or not a study can be made of them."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from boxthirding.errors import JournalBroken
from boxthirding.study.codec import RESTORE, START, check_for, check_of, decode
from boxthirding.study.events import Damaged, Entry
from boxthirding.study.journal import Journal

PAGE: Final = 10_000
"""Events read at a time."""

Read: TypeAlias = Callable[[int, int], list[str]]
"""What returns texts of a journal: after a number, and how many at most."""

_WIDEST: Final = 1000  # missing events in a row, after which the rest is not looked for


def read_journal(journal: Journal, *, damaged: bool = False) -> Iterator[Entry | Damaged]:
    """Return the events of a journal as written, whether or not a study can be made of them.

    An event that is missing or cannot be read raises `JournalBroken`, unless `damaged` is True: then it is returned as
    `Damaged`.
    """
    return read_from(journal.read, 0, lambda: max(journal.snapshots(), default=0), damaged=damaged)


def read_from(read: Read, after: int, known: Callable[[], int], *, damaged: bool) -> Iterator[Entry | Damaged]:
    """Return the events from number `after` + 1 on; `known` is the number of one that must be there.

    It is asked first: what others write while the events are read need not be among them.
    """
    try:
        there = known()
    except JournalBroken:  # the events before and after the damage are there to be read
        if not damaged:
            raise
        there = 0
    texts = read(after - 1, 1) if after else []
    last = after
    for entry in _entries(read, after, check_of(texts[0]) if texts else START, damaged=damaged):
        last = entry.seq
        yield entry
    if there > last:
        broken = cut_off(there)
        if not damaged:
            raise broken
        yield Damaged(last + 1, "", broken.problem)


def cut_off(seq: int) -> JournalBroken:
    """Return the error that says that an event is missing, which was the last one or follows it."""
    return JournalBroken(
        f"there was an event {seq}, but the journal ends before it: events are missing", advice=RESTORE
    )


def _entries(read: Read, seq: int, before: str, *, damaged: bool) -> Iterator[Entry | Damaged]:
    befores = [before]  # after a damaged event: the check that it has, and those that it should have; after a gap none
    gap = 0  # events in a row that are missing
    while True:
        try:
            texts = read(seq, PAGE)
        except JournalBroken as broken:
            gap += 1
            if not damaged or gap > _WIDEST:
                raise
            seq += 1
            yield Damaged(seq, "", broken.problem)
            befores = []
            continue
        if not texts:
            return
        gap = 0
        for text in texts:
            seq += 1
            if not befores:
                yield Damaged(seq, text, f"event {seq} cannot be checked, as the event before it is missing")
                befores = [check_of(text)]
                continue
            right = befores[0]
            if len(befores) > 1:  # else `decode` looks at the only one
                right = next((check for check in befores if check_of(text) == check_for(text, check)), right)
            try:
                yield Entry(seq, decode(text, seq, right))
                befores = [check_of(text)]
            except JournalBroken as broken:
                if not damaged:
                    raise
                yield Damaged(seq, text, broken.problem)
                befores = [check_of(text), *[check_for(text, check) for check in befores]][:3]
