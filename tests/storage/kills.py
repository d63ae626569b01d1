"""A process is killed at every event of a study, and another one resumes it: a program that exits with 0 on success.

It forks, so it must have one thread only, and is therefore a program of its own and not a part of pytest's process.
"""

import itertools
import json
import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from boxthirding.errors import AlreadyTold, UnknownLabel
from boxthirding.storage.opening import shelf
from boxthirding.study import Settings, Study, transactions
from boxthirding.study.events import Created, Failed, Given, Paused, Released
from boxthirding.study.snapshot import pack, unpack

PULLS = 30
MOMENTS = ("before append", "after append", "after commit", "before snapshot", "after snapshot")
transactions.LEAST = 10  # snapshots, too, must not be in the way of anything
ARMS = tuple(f"arm {i}" for i in range(12))


class Deadly:
    """A journal that kills its process at a moment of its k-th write, or of its k-th snapshot."""

    def __init__(self, journal, moment=None, k=-1):
        self._journal, self._moment = journal, moment
        self._writes, self._snapshots = (-1, k) if moment in MOMENTS[3:] else (k, -1)

    def __getattr__(self, name):
        return getattr(self._journal, name)

    @contextmanager
    def writing(self):
        with self._journal.writing():
            yield
        self._die_if("after commit")

    def append(self, after, texts):
        self._writes -= 1
        self._die_if("before append")
        self._journal.append(after, texts)
        self._die_if("after append")

    def keep(self, seq, snapshot):
        self._snapshots -= 1
        self._die_if("before snapshot")
        self._journal.keep(seq, snapshot)
        self._die_if("after snapshot")

    def _die_if(self, moment):
        if 0 in (self._writes, self._snapshots) and moment == self._moment:
            os.kill(os.getpid(), signal.SIGKILL)


def reward(ticket):
    return ((37 * int(ticket.label.split()[-1]) + 11 * ticket.pull) % 101) / 101


def work(url, name, acknowledged, moment=None, k=-1):
    """Take a study from wherever it is to its end, and write down what was acknowledged."""
    journal = Deadly(shelf(url).journal(name), moment, k)
    study = Study(name, journal, Settings(ARMS, "b3", 3, patience=2), holder="the worker", clock=lambda: 0.0)
    with study, acknowledged.open("a") as notes:
        while study.pulls < PULLS or study.held():
            if not study.held():
                change(study)
            for ticket in study.held() or study.ask(3):
                if ticket.id in (5, 11) and not any(is_failure(entry, ticket.id) for entry in study.events()):
                    study.fail(ticket)
                elif ticket.id == 17 and not any(isinstance(entry.event, Released) for entry in study.events()):
                    study.release(ticket)
                else:
                    study.tell(ticket, reward(ticket))
                    notes.write(f"{ticket.id}\n")
                    notes.flush()
        study.finish()


def is_failure(entry, ticket):
    return isinstance(entry.event, Failed) and entry.event.ticket == ticket


def change(study):
    """Do once what is due: pause and resume, add arms, withdraw one."""
    if study.status == "paused":
        study.resume()
    if study.pulls >= 8 and not any(isinstance(entry.event, Paused) for entry in study.events()):
        study.pause()
        study.resume()
    if study.pulls >= 14 and not knows(study, "late 100"):
        study.add(["late 100", "late 101"])
    if study.pulls >= 20 and study.why("arm 3").place != "withdrawn":
        study.withdraw("arm 3")


def knows(study, label):
    try:
        study.why(label)
    except UnknownLabel:
        return False
    return True


def in_a_child(act, *arguments):
    """Do something in a process of its own; return how it ended."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            act(*arguments)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def outcome(url, name):
    """Return what a study came to: its state without the number of events, its answers, its journal."""
    with Study(name, shelf(url).journal(name), clock=lambda: 0.0) as study:
        answers = (study.recommend(), study.top(20), study.boxes(), study.pulls, study.open, study.status)
        saved = unpack(study.state())
        events = [entry.event for entry in study.events() if not isinstance(entry.event, Given)]
    assert isinstance(events[0], Created)
    events[0] = replace(events[0], origin="")
    for own in ("seq", "check"):
        saved.pop(own)
    return answers, pack(saved), events


def check_told(url, name, acknowledged):
    """See that every acknowledged result is there once, and is refused a second time."""
    with Study(name, shelf(url).journal(name), clock=lambda: 0.0) as study:
        told = [entry.event.ticket for entry in study.events() if type(entry.event).__name__ == "Told"]
        assert len(set(told)) == len(told), "a result was counted twice"
        noted = [int(line) for line in acknowledged.read_text().split()]
        assert set(noted) <= set(told), f"acknowledged, and not there: {set(noted) - set(told)}"
        for ticket in noted:
            try:
                study.tell(ticket, 0.5)
            except AlreadyTold:
                continue
            raise AssertionError(f"ticket {ticket} was taken twice")


def main(url, folder):
    """Kill at every moment of every write and of every snapshot."""
    folder = Path(folder)
    in_a_child(work, url, "undisturbed", folder / "undisturbed")
    wanted = outcome(url, "undisturbed")
    kills = dict.fromkeys(MOMENTS, 0)
    for moment in MOMENTS:
        for k in itertools.count(1):
            name, notes = f"{moment} {k}", folder / f"{k} {moment}"
            notes.touch()
            ended = in_a_child(work, url, name, notes, moment, k)
            if ended == 0:
                break  # there is no k-th one
            assert os.WTERMSIG(ended) == signal.SIGKILL, f"{name}: ended with {ended}"
            kills[moment] += 1
            assert in_a_child(work, url, name, notes) == 0, f"{name}: the second process failed"
            got = outcome(url, name)
            for what, mine, theirs in zip(("answers", "state", "events"), got, wanted, strict=True):
                assert mine == theirs, f"{name}: other {what}\n{mine}\n{theirs}"
            check_told(url, name, notes)
    sys.stdout.write(json.dumps(kills))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
