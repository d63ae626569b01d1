"""Attacks that go on for long: kills, faults of the server, flipped bytes, folder readers, deleted sidecars.

A small piece of each is in the tests beside: `test_processes`, `test_unavailable`, `test_damage`, `test_beside`.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from counting import COUNTS
from cutting import Cutting
from damage import Attack, make
from processes import Listening
from workers import reward

from boxthirding import AlreadyTold, RemoteStudy, StudyUnavailable, open_study
from boxthirding.study.events import Asked, Told

pytestmark = pytest.mark.soak

HERE = Path(__file__).parent


class Noting:
    """A worker that goes on whatever happens to the database, and notes what was acknowledged."""

    def __init__(self, url, holder, pulls):
        self._url, self._holder, self._pulls = url, holder, pulls
        self.acknowledged = {}
        self.trouble = []
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self):
        try:
            with open_study(self._url, "noted", holder=self._holder) as study:
                while patiently(lambda: study.pulls) < self._pulls:
                    for ticket in patiently(study.held) or patiently(study.ask):
                        told = reward(ticket.label, ticket.pull)
                        with suppress(AlreadyTold):  # it was written, and the answer was lost
                            patiently(lambda ticket=ticket, told=told: study.tell(ticket, told))
                        self.acknowledged[ticket.id] = told
        except BaseException as error:  # noqa: BLE001  # for the test to see
            self.trouble.append(error)


def patiently(act):
    """Do something until the database can be reached; what would not pass is raised."""
    while True:
        try:
            return act()
        except StudyUnavailable as unavailable:
            if not unavailable.transient:
                raise
            time.sleep(0.01)


def check_noted(url, workers):
    """See that every acknowledged result is there once, and count."""
    with open_study(url, "noted") as study:
        events = [entry.event for entry in study.events()]
    told = Counter(event.ticket for event in events if isinstance(event, Told))
    rewards = {event.ticket: event.reward for event in events if isinstance(event, Told)}
    acknowledged = {ticket: value for worker in workers for ticket, value in worker.acknowledged.items()}
    lost = {ticket for ticket, value in acknowledged.items() if rewards.get(ticket) != value}
    doubled = {ticket for ticket, times in told.items() if times > 1}
    cut = [ticket for event in events if isinstance(event, Asked) for ticket, _, _ in event.tickets]
    trouble = [error for worker in workers for error in worker.trouble]
    COUNTS.update({"lost": len(lost), "doubled": len(doubled), "tracebacks": len(trouble)})
    assert (lost, doubled, trouble) == (set(), set(), [])
    assert len(cut) == len(set(cut))
    assert acknowledged


def test_faults_of_the_server_lose_nothing(server, database):
    """It is killed, stopped at once, and its sessions are ended, while three threads work."""
    import psycopg

    rng = random.Random(8)
    open_study(database, "noted", arms=5_000, seed=11).close()
    workers = [Noting(database, f"worker {number}", 1_500) for number in range(3)]
    faults = 0
    while any(worker.thread.is_alive() for worker in workers):
        time.sleep(rng.uniform(0.1, 0.5))
        how = rng.choice(("kill", "immediate", "terminate", "terminate"))
        if how == "terminate":
            with psycopg.connect(server.url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'empty' AND random() < 0.7"
                )
        elif faults < 60:
            server.kill() if how == "kill" else server.stop(signal.SIGQUIT)
            server.start()
        faults += 1
    COUNTS["faults"] += faults
    check_noted(database, workers)
    assert faults >= 3


GONE = (
    ["-shm"],
    ["-lock"],
    ["-lock"],
    ["-read"],
    ["-lock", "-read"],
    ["-lock", "-wal"],
    ["-wal", "-shm", "-lock", "-read"],
)


def test_sidecars_that_are_deleted_again_and_again_lose_nothing(tmp_path):
    """Without a lock a study goes on; without its log or its index it goes on from the file that was saved."""
    path, pulls = tmp_path / "a.db", 0
    rng = random.Random(9)
    open_study(path, "noted", arms=5_000, seed=11).close()
    everyone, deleted, rounds = [], 0, 0
    while pulls < 6_000:
        workers = [Noting(str(path), f"worker {number}", 6_000) for number in range(3)]
        everyone += workers
        while not all(worker.acknowledged or not worker.thread.is_alive() for worker in workers):
            time.sleep(0.01)  # until all have opened it
        while any(worker.thread.is_alive() for worker in workers):
            time.sleep(rng.uniform(0.01, 0.1))
            for ending in rng.choice(GONE):
                with suppress(OSError):
                    path.with_name(f"{path.name}{ending}").unlink()
                    deleted += 1
        for worker in workers:
            worker.thread.join()
            worker.trouble = [error for error in worker.trouble if "-shm was deleted while" not in str(error)]
            assert worker.trouble == []
        saved = path.with_name(f"{path.name}-saved-1")
        path = saved if saved.exists() else path
        rounds += 1
        with open_study(path, "noted") as study:
            pulls = study.pulls
    COUNTS["deleted sidecars"] += deleted
    check_noted(path, everyone)
    assert (deleted >= 3, rounds >= 2) == (True, True)


@pytest.mark.parametrize("seed", range(2))
def test_no_flipped_byte_and_no_changed_cell_gives_a_traceback_or_another_answer(tmp_path, monkeypatch, seed):
    source = tmp_path / "source.db"
    make(source, monkeypatch)
    attack = Attack(source, seed)
    for _ in range(100):
        wrong = attack.strike()
        COUNTS["flips"] += 1
        COUNTS["tracebacks"] += sum("traceback" in text for text in wrong)
        assert wrong == []


def test_runs_that_read_their_folder_and_are_killed_lose_nothing(tmp_path):
    """Three runs of four threads read every file of their folder; one of them at a time is killed and started again."""
    rng = random.Random(10)
    command = [sys.executable, HERE / "folder_readers.py", tmp_path, "3000"]

    def start():
        COUNTS["folder readers"] += 1
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    runs = [start() for _ in range(3)]
    kills = 0
    while any(run.poll() is None for run in runs):
        time.sleep(rng.uniform(0.3, 1.0))
        place = rng.randrange(3)
        if kills < 30 and runs[place].poll() is None:
            os.kill(runs[place].pid, signal.SIGKILL)
            runs[place].communicate()
            runs[place] = start()
            kills += 1
    COUNTS["kills"] += kills
    said = [run.communicate()[1] for run in runs]
    COUNTS["tracebacks"] += sum("Traceback" in text for text in said)
    assert [run.returncode for run in runs] == [0, 0, 0], said
    with open_study(tmp_path / "run.db") as study:
        told = Counter(entry.event.ticket for entry in study.events() if isinstance(entry.event, Told))
        COUNTS["doubled"] += sum(times > 1 for times in told.values())
        assert (study.pulls, study.open, set(told.values())) == (3_000, 0, {1})
    assert kills >= 3


def test_results_through_a_proxy_that_loses_what_the_server_says_of_commits(server, database):
    rng, rounds = random.Random(5), 400
    proxy = Cutting(server.folder)
    served = Listening(database.replace(str(server.folder), proxy.folder))
    try:
        with RemoteStudy(served.url("s"), served.key, arms=20) as study:
            for number in range(rounds):
                if rng.random() < 0.5:
                    proxy.arm()
                study.observe(number % 20, 0.5)
            pulls = {arm.label: arm.pulls for arm in study.arms()}
    finally:
        served.close()
        proxy.close()
    lost = sum(max(0, rounds // 20 - count) for count in pulls.values())
    doubled = sum(max(0, count - rounds // 20) for count in pulls.values())
    COUNTS.update({"cut commits": proxy.cuts, "lost": lost, "doubled": doubled})
    assert proxy.cuts > rounds / 4
    assert (lost, doubled) == (0, 0)


@pytest.mark.parametrize("how", [(), ("reopens",)])
def test_forks_while_a_thread_writes(tmp_path, how):
    forks = 40
    command = [sys.executable, HERE / "forks.py", str(tmp_path / "s.db"), str(forks), *how]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    failed, difference = map(int, ended.stdout.split())
    COUNTS.update({"forks": forks, "tracebacks": failed})
    COUNTS["lost" if difference < 0 else "doubled"] += abs(difference)
    assert (failed, difference, ended.stderr) == (0, 0, "")
