"""Several processes on one study, and processes that are killed: nothing is lost, and nothing counts twice."""

import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from counting import COUNTS
from workers import reward

from boxthirding import Session, open_study
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Study
from boxthirding.study.events import Asked, Given, Told

HERE = Path(__file__).parent


@pytest.mark.soak
def test_a_process_killed_at_any_event_leaves_a_study_that_resumes_as_if_nothing_had_happened(url, tmp_path):
    command = [sys.executable, HERE / "kills.py", url, tmp_path]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    kills = json.loads(ended.stdout)
    COUNTS["kills"] += sum(kills.values())
    assert min(kills["before append"], kills["after append"], kills["after commit"]) >= 40
    assert min(kills["before snapshot"], kills["after snapshot"]) >= 3


def start(url, holder, pulls, lease=600.0):
    command = [sys.executable, HERE / "workers.py", url, holder, str(pulls), str(lease)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def race(url, processes, pulls):
    """Let processes work side by side; return what each says of itself."""
    workers = [start(url, f"worker {i}", pulls) for i in range(processes)]
    ended = [worker.communicate() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * processes, ended
    return [tuple(map(float, out.split())) for out, _ in ended]


def check_shared(url, least):
    """See that every ticket was told once, with its own reward, and that the journal gives the same state anywhere."""
    with open_study(url, "shared") as study:
        texts = study._transactions.journal.read(0, 10**9)
        events = [entry.event for entry in study.events()]
        told = Counter(event.ticket for event in events if isinstance(event, Told))
        labels = [label for event in events if isinstance(event, Asked) for _, label, _ in event.tickets]
        assert set(told.values()) == {1}
        assert study.pulls == sum(told.values()) >= least
        assert study.open == len(labels) - study.pulls
        study.recommend()
        assert replayed(texts).state() == study.state()
    return events, labels


def replayed(texts):
    journal = MemoryJournal()
    with journal.writing():
        journal.append(0, texts)
    study = Study("shared", journal)
    study.recommend()
    return study


def check_race(url, processes, pulls, record):
    own = race(url, processes, pulls)
    events, labels = check_shared(url, pulls)
    assert len(labels) >= pulls
    assert sum(count for count, _ in own) >= pulls
    assert not any(isinstance(event, Given) for event in events)
    record("pairs_per_second", round(sum(count for count, _ in own) / max(seconds for _, seconds in own)))


def test_four_processes_share_a_study(url, record_property):
    check_race(url, 4, 400, record_property)


@pytest.mark.soak
def test_eight_processes_share_a_study_of_20000_pulls(url, record_property, capsys):
    def record(name, value):
        record_property(name, value)
        with capsys.disabled():
            kind = "PostgreSQL" if url.startswith("postgresql") else "SQLite"
            sys.stdout.write(f"\n{kind}: 8 processes, {value:,} ask + tell pairs a second together\n")

    check_race(url, 8, 20_000, record)


@pytest.mark.soak
def test_workers_killed_at_random_moments_lose_nothing(url):
    rng = random.Random(5)
    workers = {f"worker {i}": start(url, f"worker {i}", 6_000, lease=1.0) for i in range(4)}
    kills = 0
    while any(worker.poll() is None for worker in workers.values()):
        time.sleep(rng.uniform(0.05, 0.4))
        name = rng.choice(sorted(workers))
        if kills < 40 and workers[name].poll() is None:
            workers[name].kill()
            workers[name].communicate()
            workers[name] = start(url, name, 6_000, lease=1.0)
            kills += 1
            COUNTS["kills"] += 1
    for worker in workers.values():
        _, complaints = worker.communicate()
        assert worker.returncode == 0, complaints
    events, _ = check_shared(url, 6_000)
    pull_of = pulls_by_ticket(events)
    for event in events:
        if isinstance(event, Told):
            assert event.reward == reward(*pull_of[event.ticket])
    assert kills >= 3


def pulls_by_ticket(events):
    """Return the label and the pull of every ticket."""
    cut = [row for event in events if isinstance(event, Asked) for row in event.tickets]
    return {ticket: (label, pull) for ticket, label, pull in cut}


def test_one_worker_on_a_study_is_a_session(url):
    session = Session(5_000, seed=11)
    with open_study(url, "alone", arms=5_000, seed=11) as study:
        for _ in range(200):
            (mine,), (theirs,) = study.ask(), session.ask()
            assert mine == theirs
            study.tell(mine, reward(mine.label, mine.pull))
            session.tell(theirs, reward(theirs.label, theirs.pull))
        assert study.top(10) == session.top(10)
        assert study.screening(0.01) == session.screening(0.01)
        assert str(study.why(study.recommend().label)) == str(session.why(session.recommend().label))
