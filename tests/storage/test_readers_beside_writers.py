"""Events are read while others write: none is called missing or damaged because it was written a moment later."""

import json
import sys
import threading
from collections import Counter
from itertools import pairwise

import pytest
from invoking import invoke

from boxthirding import JournalBroken, open_study
from boxthirding.service import exports
from boxthirding.service.studies import About
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Damaged, Entry, Settings, Study, read_journal
from boxthirding.study.codec import check_of, encode
from boxthirding.study.events import Paused


@pytest.mark.parametrize("damaged", [False, True])
def test_an_event_that_is_written_when_all_have_been_read_is_not_missing(damaged):
    study = Study("study", MemoryJournal(), Settings(5))
    read = study._transactions.read

    def read_and_let_another_write(after, limit):
        texts = read(after, limit)
        if not texts and study.status == "open":
            writer = threading.Thread(target=study.pause)
            writer.start()
            writer.join()
        return texts

    study._transactions.read = read_and_let_another_write
    assert [entry.seq for entry in study.events(damaged=damaged)] == [1]
    assert [entry.seq for entry in study.events(damaged=damaged)] == [1, 2]


class Busy(MemoryJournal):
    """A journal in which another one writes an event and keeps a snapshot as soon as it has been read to its end."""

    def read(self, after, limit):
        texts = super().read(after, limit)
        if after == 1 and not texts:
            with self.writing():
                (first,) = super().read(0, 1)
                self.append(1, [encode(Paused(1.0), check_of(first))[0]])
                self.keep(2, b"a snapshot")
        return texts


@pytest.mark.parametrize("damaged", [False, True])
def test_a_snapshot_that_is_taken_when_all_events_have_been_read_follows_none_that_is_missing(damaged):
    journal = Busy()
    Study("study", MemoryJournal(journal._pages), Settings(5))
    assert [entry.seq for entry in read_journal(journal, damaged=damaged)] == [1]
    assert [entry.seq for entry in read_journal(journal, damaged=damaged)] == [1, 2]


def test_events_of_a_study_that_is_damaged_while_it_is_open_are_read_all_the_same():
    journal = MemoryJournal()
    study = Study("study", journal, Settings(5))
    study.pause()
    journal._pages.texts.append("no event")
    with pytest.raises(JournalBroken):
        study.view()
    assert [(entry.seq, type(entry)) for entry in study.events(damaged=True)] == [(1, Entry), (2, Entry), (3, Damaged)]
    with pytest.raises(JournalBroken):
        list(study.events())


def seq_of(line):
    row = json.loads(line)
    assert row["event"] != "damaged", row
    return row["seq"]


@pytest.mark.soak
def test_readers_beside_writers_hear_no_false_alarm(url, capsys):
    study, other = open_study(url, "s", arms=50), open_study(url, "s")

    def write(to):
        for _ in range(500):
            for ticket in to.ask():
                to.tell(ticket, 0.5)

    def read_command():
        ended = invoke("study", "export", url, "--format", "jsonl")
        assert ended.exit_code == 0, ended.stderr
        return [*map(seq_of, ended.stdout.splitlines())]

    def read_results():
        list(exports.results(study, About()))
        return []

    readers = {
        "the same study": lambda: [entry.seq for entry in study.events()],
        "journal.jsonl": lambda: [*map(seq_of, b"".join(exports.journal(study)).splitlines())],
        "results": read_results,
        "another study": lambda: [entry.seq for entry in other.events()],
        "the latest": lambda: [entry.seq for entry in other.events(other.seq - 1)],
        "the command": read_command,
    }
    reads, alarms = Counter(), []

    def keep_reading(name, read):
        while any(writer.is_alive() for writer in writers):
            reads[name] += 1
            try:
                seqs = read()
                assert [after - before for before, after in pairwise(seqs)] == [1] * (len(seqs) - 1), seqs
            except (AssertionError, JournalBroken) as alarm:
                alarms.append((name, alarm))

    writers = [threading.Thread(target=write, args=(to,)) for to in (study, study, other)]
    readers = [threading.Thread(target=keep_reading, args=reader) for reader in readers.items()]
    for thread in writers + readers:
        thread.start()
    for thread in writers + readers:
        thread.join()
    study.close()
    other.close()
    with capsys.disabled():
        sys.stdout.write(f"\n{sum(reads.values()):,} reads beside writers, {len(alarms)} false alarms\n")
    assert alarms == []
    assert len(reads) == len(readers)
