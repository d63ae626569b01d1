"""A study in another place: its journal exactly as it was written, checked event by event."""

from pathlib import Path
from typing import Final

from boxthirding.errors import InvalidInput
from boxthirding.storage.opening import file_of, shelf
from boxthirding.study import Journal
from boxthirding.study.codec import START, check_of, decode

_PAGE: Final = 10_000  # events at a time


def copy_journal(source: Journal, target: Journal) -> int:
    """Copy all events into a journal that has none, in one transaction; return how many."""
    with target.writing():
        if target.read(0, 1):
            raise InvalidInput("the study to copy to has events already: choose another name")
        seq, check = 0, START
        while texts := source.read(seq, _PAGE):
            target.append(seq, texts)
            for text in texts:
                seq += 1
                decode(text, seq, check)  # a damaged journal is not spread
                check = check_of(text)
    return seq


def copy_pictures(source: str, target: str) -> int:
    """Copy the pictures that a server keeps in one place to another; return how many."""
    path = file_of(source)
    if path is not None and not Path(path).exists():
        return 0
    ours, theirs = shelf(source).records(), shelf(target).records()
    try:
        return sum(theirs.put_new("picture", record) for record in ours.all("picture"))
    finally:
        ours.close()
        theirs.close()
