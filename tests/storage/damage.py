"""A study's file, ways to damage it, and what becomes of it: the same as before, or an error of ours."""

import random
import shutil
import sqlite3
import traceback
from contextlib import closing, suppress

from click.testing import CliRunner

from boxthirding import BoxThirdingError, list_studies, open_study
from boxthirding.cli.commands import cli
from boxthirding.storage.opening import open_journal
from boxthirding.study import Damaged, codec, read_journal, transactions

DEEP = "[" * 100_000
VALUES = (
    *("NULL", "7", "1.5", "-1", "9223372036854775807", "''", "X''", "X'ff'", "CAST(X'ff80' AS TEXT)", "char(0)"),
    *("'null'", "'[]'", "'{}'", "'\"x\"'", '\'{"event":"told"}\'', "'{\"event\":[1]}'", f"'{DEEP}'"),
    '\'{"event":"created","format":"x"}\'',
)
"""What a cell gets instead of what is in it: other types, texts that are none, JSON without end."""

CELLS = (
    *[("events", "event")] * 4,
    *(("events", "seq"), ("events", "study"), ("studies", "name"), ("studies", "id")),
    *(("snapshots", "data"), ("snapshots", "seq"), ("schema", "version")),
)
EVENTS, SNAPSHOT = 126, 121
"""Of the study, and the number of its latest snapshot; what is cut off after that cannot be noticed."""


def make(path, patch):
    """Make a study with events of many kinds, and snapshots."""
    patch.setattr(transactions, "LEAST", 40)
    with open_study(path, arms={f"a{i}": {"x": i} for i in range(30)}, details={"command": "x"}) as study:
        for number in range(40):
            for ticket in study.ask(2):
                reward = (37 * ticket.arm + 11 * ticket.pull) % 101 / 101
                study.tell(ticket, reward, details=None if number % 7 else {"n": [1, 2]})
        study.add(["late"])
        study.withdraw("a3")
        study.pause()
        study.resume()
        study.observe("a5", 0.5)
        journal = study._transactions.journal
        assert (len(journal.read(0, 999)), max(journal.snapshots())) == (EVENTS, SNAPSHOT)


class Attack:
    """Damages copies of a file, each in another way, and says what became of them."""

    def __init__(self, source, seed):
        self._source, self._rng = source, random.Random(seed)
        self._copy = source.with_name("copy.db")
        self._wanted = outcomes(source)
        assert {kind for kind, _ in self._wanted.values()} == {"answer"}, self._wanted
        self._cut_off = [self._without_events_after(seq) for seq in range(SNAPSHOT, EVENTS)]

    def strike(self):
        """Damage a copy, and return how, with what is wrong then: tracebacks, and answers that differ silently."""
        for file in self._copy.parent.glob(f"{self._copy.name}*"):
            file.unlink()
        shutil.copy(self._source, self._copy)
        how = self._rng.choice(
            (self._flip, self._flip, self._cut, self._change, self._change, self._delete, self._forge)
        )
        what = f"{how.__name__}: {how()}"
        return self.wrong(what, may_differ=how == self._forge or "studies" in what, may_be_cut_off=how == self._flip)

    def wrong(self, what, *, may_differ=False, may_be_cut_off=False):
        """Return what is wrong with the copy: tracebacks, and answers that differ silently.

        A flipped bit may hide the last rows of a table; that they are missing cannot be noticed.
        """
        wrong = []
        for reader, (kind, found) in outcomes(self._copy).items():
            expected = [self._wanted, *(self._cut_off if may_be_cut_off else ())]
            differs = kind == "answer" and (kind, found) not in [one[reader] for one in expected]
            if kind == "traceback" or (differs and not may_differ):
                wrong.append(f"{what}\n{reader}: {kind}\n{found[-2000:]}")
        return wrong

    def _without_events_after(self, seq):
        """Return what is read of a copy without the last events."""
        shutil.copy(self._source, self._copy)
        self._execute(f"DELETE FROM boxthirding_events WHERE seq > {seq}")  # noqa: S608
        return outcomes(self._copy)

    def _flip(self):
        data = bytearray(self._copy.read_bytes())
        places = [self._rng.randrange(len(data)) for _ in range(self._rng.choice((1, 1, 3, 20)))]
        for place in places:
            data[place] ^= 1 << self._rng.randrange(8)
        self._copy.write_bytes(data)
        return places

    def _cut(self):
        data = self._copy.read_bytes()
        place, length = self._rng.randrange(len(data)), self._rng.choice((1, 100, len(data)))
        self._copy.write_bytes(data[:place] + data[place + length :])
        return place, length

    def _change(self):
        table, column = self._rng.choice(CELLS)
        statement = f"UPDATE OR REPLACE boxthirding_{table} SET {column} = {self._rng.choice(VALUES)}"  # noqa: S608
        if table == "events":
            statement += f" WHERE seq = {self._rng.choice((1, 2, self._rng.randrange(1, SNAPSHOT)))}"
        return self._execute(statement)

    def _delete(self):
        table = self._rng.choice(("events", "events", "studies", "snapshots", "schema"))
        seq = self._rng.randrange(1, SNAPSHOT)
        statement = self._rng.choice(
            (
                f"DELETE FROM boxthirding_{table}",  # noqa: S608
                f"DROP TABLE boxthirding_{table}",
                f"ALTER TABLE boxthirding_{table} RENAME TO boxthirding_other",
                f"DELETE FROM boxthirding_events WHERE seq {self._rng.choice('<=>')} {seq}",  # noqa: S608
            )
        )
        return self._execute(statement)

    def _forge(self):
        """Change a text and give all that follow a check that is right, as only one who means it can."""
        seq = self._rng.randrange(1, EVENTS)
        with closing(sqlite3.connect(self._copy, isolation_level=None)) as connection:
            rows = connection.execute("SELECT seq, event FROM boxthirding_events ORDER BY seq").fetchall()
            check = codec.START
            for number, text in rows:
                head = text[: -codec._TAIL]
                if number == seq:
                    place = self._rng.randrange(len(head))
                    new = self._rng.choice(("9", "x", '"', "\\ud800", "é", "", "[[", "null", DEEP))
                    head = f"{head[:place]}{new}{head[place + self._rng.randrange(3) :]}"
                check = codec._check(head, check)
                connection.execute(
                    "UPDATE boxthirding_events SET event = ? WHERE seq = ?", (f'{head},"check":"{check}"}}', number)
                )
        return seq

    def _execute(self, statement):
        with closing(sqlite3.connect(self._copy, isolation_level=None)) as connection, suppress(sqlite3.Error):
            connection.execute(statement)
        return statement[:200]


def outcomes(path):
    """Return by reader what it makes of a file: an answer, a refusal, or a traceback."""
    readers = {"open_study": read_study, "events": read_events, "list_studies": list_studies}
    found = {name: outcome(lambda read=read: read(path)) for name, read in readers.items()}
    for command in ("show", "export"):
        result = CliRunner().invoke(cli, ["study", command, str(path)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            found[command] = ("traceback", "".join(traceback.format_exception(result.exception)))
        else:
            found[command] = ("refusal" if result.exit_code else "answer", result.output)
    return found


def outcome(read):
    try:
        return "answer", str(read())
    except BoxThirdingError as refused:
        return "refusal", str(refused)
    except Exception:  # noqa: BLE001  # whatever it is, it is to be counted
        return "traceback", traceback.format_exc()


def read_study(path):
    with open_study(path) as study:
        counts = (study.pulls, study.spent, study.open, study.status)
        return counts, study.recommend(), study.top(10), study.view().as_dict(), len(list(study.events()))


def read_events(path):
    """Read what can be read; to have met what is damaged is as good as a refusal."""
    with closing(open_journal(path)) as journal:
        entries = list(read_journal(journal, damaged=True))
    damaged = [entry for entry in entries if isinstance(entry, Damaged)]
    if damaged or not entries:  # a study that is not found has no events
        raise BoxThirdingError(damaged[0].problem if damaged else "there are no events")
    return entries
