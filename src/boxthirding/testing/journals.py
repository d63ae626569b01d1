"""The contract of a journal, as tests: for those of this package, and for a third party's own."""

import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import ClassVar

from boxthirding.errors import BoxThirdingError
from boxthirding.study.journal import Journal, WorkerLocks
from boxthirding.testing.scenarios import broken, expect, expect_refusal

Opener = Callable[[], Journal]

_ALL = 1_000_000
_TURNS = 20
_NOTICED = 60.0  # seconds: for a server to notice that a client is gone


class JournalContract:
    """Subclass it, say how to open a journal, and pytest finds the tests.

    `opener` is called once a test and returns a function that opens the same journal every time, empty at first. It is
    pickled to be called in other processes, so it must be a function of a module or a `partial` of one.
    """

    between_processes: ClassVar[bool] = True
    """Whether other processes can open the journal."""

    def opener(self) -> Opener:
        """Return what opens one journal, again and again."""
        raise NotImplementedError

    def test_what_is_appended_is_read_in_order_and_in_pages(self) -> None:
        """Numbers begin with 1 and have no gaps."""
        with closing(self.opener()()) as journal:
            expect(journal.read(0, _ALL) == [], "a new journal is not empty")
            _append(journal, ["one", "two"])
            _append(journal, ["three", "four", "five"])
            expect(journal.read(0, _ALL) == ["one", "two", "three", "four", "five"], "texts are not read as written")
            expect(journal.read(1, 3) == ["two", "three", "four"], "a page does not begin or end where it must")
            expect(journal.read(5, _ALL) == [], "there is something after the last text")

    def test_any_text_comes_back(self) -> None:
        """Quotes, other alphabets, and a text of a million characters."""
        opener = self.opener()
        texts = ["{\"a\": 'b'}", "\u017cółw 🐢 \\u0000", "x" * 1_000_000, "%s ? :name ;--"]
        with closing(opener()) as journal:
            _append(journal, texts)
            with closing(opener()) as again:
                expect(again.read(0, _ALL) == texts, "a text came back as another")

    def test_others_see_what_was_written_when_it_is_committed(self) -> None:
        """Not before, and then at once."""
        opener = self.opener()
        with closing(opener()) as mine, closing(opener()) as theirs:
            _append(mine, ["one"])
            with mine.writing():
                mine.append(1, ["two"])
                expect(theirs.read(0, _ALL) == ["one"], "a text is seen before it is committed")
            expect(theirs.read(0, _ALL) == ["one", "two"], "a committed text is not seen")

    def test_a_block_that_raises_leaves_nothing(self) -> None:
        """Neither texts nor a snapshot; and the next block works."""
        opener = self.opener()
        with closing(opener()) as journal:
            _append(journal, ["one"])
            with suppress(ZeroDivisionError), journal.writing():
                journal.append(1, ["two", "three"])
                journal.keep(3, b"three")
                1 / 0  # noqa: B018  # any error will do
            expect(journal.read(0, _ALL) == ["one"], "what was rolled back is there")
            expect(journal.snapshots() == [], "a snapshot that was rolled back is there")
            _append(journal, ["two"])
        with closing(opener()) as again:
            expect(again.read(0, _ALL) == ["one", "two"], "what was written after a rollback is not there")

    def test_a_number_is_written_once(self) -> None:
        """A writer that has not read the latest event is refused, and changes nothing."""
        with closing(self.opener()()) as journal:
            _append(journal, ["one", "two"])
            expect_refusal(
                BoxThirdingError, lambda: _append(journal, ["another two"], seq=1), "a number written before"
            )
            expect(journal.read(0, _ALL) == ["one", "two"], "a refused text has changed the journal")

    def test_the_two_latest_snapshots_are_kept(self) -> None:
        """As bytes, whatever is in them."""
        opener = self.opener()
        data = {seq: bytes(range(256)) * seq for seq in (10, 20, 30, 40)}
        with closing(opener()) as journal:
            _append(journal, [str(number) for number in range(40)])
            for seq, snapshot in data.items():
                with journal.writing():
                    journal.keep(seq, snapshot)
        with closing(opener()) as again:
            kept = again.snapshots()
            expect(kept[:2] == [40, 30], f"the latest snapshots are 40 and 30, but {kept} are there")
            expect(all(again.snapshot(seq) == data[seq] for seq in kept), "a snapshot came back as another")
            expect(again.snapshot(7) == b"", "there is a snapshot that was never taken")

    def test_a_name_is_one_workers_at_a_time(self) -> None:
        """Taken again it stays ours; given back, it is free; and names outlive the journal they are asked of."""
        opener = self.opener()
        mine, theirs = _names(opener), _names(opener)
        expect(mine.acquire("one"), "a free name cannot be taken")
        expect(not theirs.acquire("one"), "a name was taken twice")
        expect(mine.acquire("one"), "a name is not ours any more, though no other process can have taken it")
        expect(theirs.acquire("two \u017c/ółw"), "another name cannot be taken")
        expect(not mine.acquire("two \u017c/ółw"), "a name was taken twice")
        mine.release()
        expect(theirs.acquire("one"), "a name that was given back cannot be taken")
        theirs.release()
        again = _names(opener)
        expect(again.acquire("one") and again.acquire("two \u017c/ółw"), "names that were given back cannot be taken")
        again.release()

    def test_a_process_that_is_killed_gives_its_names_back(self) -> None:
        """Without a word: another process takes them."""
        if not self.between_processes:
            return
        opener = self.opener()
        opener().close()
        spawn = multiprocessing.get_context("spawn")
        here, there = spawn.Pipe()
        process = spawn.Process(target=_keep_a_name, args=(opener, "one", there))
        process.start()
        there.close()
        expect(here.recv(), "a free name cannot be taken")
        names = _names(opener)
        expect(not names.acquire("one"), "a name was taken twice")
        process.kill()
        process.join()
        end = time.monotonic() + _NOTICED
        while not (taken := names.acquire("one")) and time.monotonic() < end:
            time.sleep(0.01)
        expect(taken, "the name of a process that was killed cannot be taken")
        names.release()

    def test_threads_take_turns(self) -> None:
        """Each with a journal of its own; every text is there once, and none is written over."""
        opener = self.opener()
        threads = [threading.Thread(target=_take_turns, args=(opener, f"thread {i}")) for i in range(4)]
        self._race(opener, threads, "thread")

    def test_processes_take_turns(self) -> None:
        """The same between processes."""
        if not self.between_processes:
            return
        opener = self.opener()
        spawn = multiprocessing.get_context("spawn")
        processes = [spawn.Process(target=_take_turns, args=(opener, f"process {i}")) for i in range(4)]
        self._race(opener, processes, "process")
        expect(all(process.exitcode == 0 for process in processes), "a process ended with an error")

    @staticmethod
    def _race(opener: Opener, racers: Sequence[threading.Thread | BaseProcess], who: str) -> None:
        opener().close()  # the place is there before they start
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        wanted = [f"{who} {i} turn {turn} of {_TURNS}" for i in range(len(racers)) for turn in range(_TURNS)]
        with closing(opener()) as journal:
            expect(sorted(journal.read(0, _ALL)) == sorted(wanted), "texts are missing, or there are too many")


def _append(journal: Journal, texts: list[str], seq: int | None = None) -> None:
    with journal.writing():
        journal.append(len(journal.read(0, _ALL)) if seq is None else seq, texts)


def _names(opener: Opener) -> WorkerLocks:
    with closing(opener()) as journal:
        if not hasattr(journal, "names"):
            broken("there is no names(), which says who of those that work on a study is alive")
        return journal.names()


def _keep_a_name(opener: Opener, name: str, pipe: Connection) -> None:
    """Take a name, say so, and keep it until this process is ended."""
    names = _names(opener)
    pipe.send(names.acquire(name))
    with suppress(EOFError):
        pipe.recv()
    names.release()


def _take_turns(opener: Opener, name: str) -> None:
    """Write down every turn, each in a block of its own that reads first."""
    with closing(opener()) as journal:
        for turn in range(_TURNS):
            _append(journal, [f"{name} turn {turn} of {_TURNS}"])
        expect(len(journal.read(0, _ALL)) >= _TURNS, "what was committed cannot be read")
