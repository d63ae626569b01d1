"""`find_best` on both databases: it resumes, and processes share a budget to the last pull."""

import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from boxthirding import find_best, open_study
from boxthirding.find.budget import Budget, BudgetTracker
from boxthirding.find.search import TicketSource
from boxthirding.storage.opening import open_journal

OPTIONS = {"examples": range(500), "seed": 4, "progress": False}

PROGRAM = """
import itertools, json, pathlib, sys, time
from test_shared_runs import OPTIONS, score
from boxthirding import find_best

url, log, last, options = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
calls = itertools.count(1)

def evaluate(arm, example):
    if 0 < last <= next(calls):  # the other worker hangs from then on, too: else it may use up the budget
        pathlib.Path(f"{log}-hangs").touch()
        time.sleep(3600)
    with open(log, "a") as file:
        file.write(f"{arm} {example}\\n")
    return score(arm, example)

found = find_best(300, evaluate, study=url, **{**OPTIONS, **options})
print(json.dumps([found.label, found.spending.pulls]))
"""

FORKING = """
import os, sys, time
from boxthirding.storage.opening import open_journal

names = open_journal(sys.argv[1], "main").names()
assert names.acquire("find_best-0")
child = os.fork()
if child == 0:
    sys.stdin.read()
    os._exit(0)
print(child, flush=True)
time.sleep(3600)
"""


def score(arm, example):
    """Return a noisy score that depends on the arm and the example alone."""
    return random.Random(f"{arm}/{example}").gauss(arm % 97 / 97, 0.3)


def started(url, log, last=0, environment=None, **options):
    """Start a process that writes down what it evaluates, and hangs from its call number `last` on."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, url, str(log), str(last), json.dumps(options)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **(environment or {})},
    )


@contextmanager
def hanging(url, log, last, environment, **options):
    """Start a process, wait until it hangs from its call number `last` on, and kill it in the end."""
    with started(url, log, last, environment, **options) as process:
        try:
            while not Path(f"{log}-hangs").exists():
                assert process.poll() is None
                time.sleep(0.005)
            yield
        finally:
            process.kill()


def ended(process):
    output, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(output)


def evaluated(*logs):
    return [line for log in logs if log.exists() for line in log.read_text(encoding="utf-8").splitlines()]


def holders(url):
    with open_study(url, "main") as study:
        return {entry.event.holder for entry in study.events() if getattr(entry.event, "holder", None)}


def other_spelling(url):
    if url.startswith("postgresql:"):
        return url.replace("postgresql:", "postgres:")
    path = Path(url)
    return f"sqlite:///{path.parent}/../{path.parent.name}/{path.name}"


def test_a_run_that_was_interrupted_resumes_as_if_it_had_not_been(url):
    calls = iter(range(1, 1000))

    def stopping(arm, example):
        if next(calls) in (1, 40):
            raise KeyboardInterrupt
        return score(arm, example)

    for pulls in (0, 38):
        found = find_best(300, stopping, budget=120, study=url, **OPTIONS)
        assert (found.stopped, found.session.pulls) == ("interrupted", pulls)
    found = find_best(300, stopping, budget=120, study=url, **OPTIONS)
    assert (found.spending.pulls, found.session.pulls, found.session.open) == (82, 120, 0)
    assert found.recommendation == find_best(300, score, budget=120, **OPTIONS).recommendation


def test_the_history_of_a_run_has_what_another_process_told_before_and_meanwhile(url, tmp_path):
    calls = itertools.count(1)

    def evaluate(arm, example):
        if next(calls) == 20:
            with hanging(url, tmp_path / "second", 30, None, budget=150):
                pass
        return score(arm, example)

    ended(started(url, tmp_path / "first", budget=40))
    found = find_best(300, evaluate, budget=150, study=url, **OPTIONS)
    assert found.spending.pulls == 110 - len(evaluated(tmp_path / "second")) == 110 - 29
    with open_study(url, "main") as study:
        history = study.history()
    for first, end in ((1, 40), (61, 88), (89, 150)):  # of the first process, the second, and of this one again
        assert any(first <= row.results <= end for row in history)
    changes = [row[:3] for place, row in enumerate(history) if place == 0 or history[place - 1].label != row.label]
    assert found.history == changes
    assert {*zip(*found.plot().get_lines()[0].get_data(), strict=True)} >= {(row.results, row.mean) for row in history}


def test_processes_share_a_budget_to_the_last_pull(url, tmp_path):
    """Whatever folder they have for temporary files, and however they write the URL."""
    logs = [tmp_path / f"log-{number}" for number in range(3)]
    urls = [url, other_spelling(url), url]
    workers = []
    for number, (log, spelling) in enumerate(zip(logs, urls, strict=True)):
        temporary = tmp_path / f"temporary-{number}"
        temporary.mkdir()
        workers.append(started(spelling, log, environment={"TMPDIR": str(temporary)}, budget=150, workers=2))
    answers = [ended(worker) for worker in workers]
    assert sum(pulls for _, pulls in answers) == 150
    assert len(evaluated(*logs)) == len(set(evaluated(*logs))) == 150
    assert len({label for label, _ in answers}) == 1
    with open_study(url, "main") as study:
        assert (study.pulls, study.open, study.recommend().label) == (150, 0, answers[0][0])


def test_a_process_that_lives_keeps_its_tickets(url, tmp_path):
    """Also from one with another folder for temporary files, and another way to write the URL."""
    with (
        hanging(url, tmp_path / "log", 3, {"TMPDIR": str(tmp_path)}, budget=60, workers=2),
        open_study(other_spelling(url)) as study,
    ):
        theirs = {ticket.id for holder in study.view().holders for ticket in study.held(holder)}
        assert theirs
        ours = TicketSource(study, BudgetTracker(Budget(pulls=60)))
        assert ours.holder not in study.view().holders
        assert theirs.isdisjoint(ticket.id for ticket in ours.ask(5))


@pytest.mark.parametrize("policy", ["b3", "sh"])
def test_a_process_that_is_killed_leaves_its_tickets_to_the_next(url, tmp_path, policy):
    """In another folder for temporary files and under another name of the machine, as in a new container."""
    logs = [tmp_path / f"log-{number}" for number in range(4)]
    for log, last in zip(logs, (1, 15, 10), strict=False):
        with hanging(url, log, last, {"TMPDIR": str(tmp_path)}, budget=60, policy=policy, workers=2):
            pass
    ended(started(other_spelling(url), logs[3], budget=60, policy=policy, workers=2))
    total = find_best(300, score, budget=60, policy=policy, **OPTIONS).spending.pulls  # sh may leave a few
    with open_study(url, "main") as study:
        assert (study.pulls, study.open) == (total, 0)
    calls = evaluated(*logs)
    assert len(set(calls)) == total
    assert len(calls) <= total + 3  # one that was told of and not to the study, at each kill


def test_the_name_of_a_run_depends_on_nothing_but_the_study(url, monkeypatch, tmp_path):
    monkeypatch.setattr("socket.gethostname", lambda: "another-machine")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    find_best(9, score, budget=5, study=other_spelling(url), **OPTIONS)
    assert holders(url) == {"find_best-0"}


def test_names_that_people_chose_are_never_taken_over(url):
    with open_study(url, "main", arms=50, holder="worker-0", examples=9) as study:
        study.ask(10)
    found = find_best(50, score, budget=30, study=url, examples=range(9), progress=False)
    assert (found.session.pulls, found.stopped) == (20, "waiting")


class TestServer:
    """What only a server can do: end sessions of its own accord."""

    @pytest.fixture
    def cut(self, database):
        """Return what ends every session in the database, and waits until they have ended."""
        import psycopg

        def cut():
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid != pg_backend_pid()"
                )

        return cut

    def test_a_name_is_taken_again_when_the_connection_was_cut(self, database, cut):
        journal = open_journal(database, "main")
        mine, theirs = journal.names(), journal.names()
        assert mine.acquire("find_best-0")
        cut()
        assert mine.acquire("find_best-0")
        assert not theirs.acquire("find_best-0")
        for each in (mine, theirs, journal):
            (each.close if each is journal else each.release)()

    def test_a_run_whose_name_was_lost_meanwhile_loses_nothing_and_counts_nothing_twice(self, database, cut):
        journal = open_journal(database, "main")
        other = journal.names()
        journal.close()
        calls = []

        def evaluate(arm, example):
            calls.append((arm, example))
            if len(calls) == 10:
                cut()
                assert other.acquire("find_best-0")
            return score(arm, example)

        found = find_best(300, evaluate, budget=40, study=database, **OPTIONS)
        assert (found.session.pulls, found.session.open, found.stopped) == (40, 0, "budget")
        assert len(calls) == len(set(calls)) == 40
        other.release()

    def test_a_run_continues_when_every_connection_was_cut(self, database, cut):
        calls, lock = [], threading.Lock()

        def evaluate(arm, example):
            with lock:
                calls.append((arm, example))
                if len(calls) in (10, 20):
                    cut()
            return score(arm, example)

        found = find_best(300, evaluate, budget=40, study=database, workers=3, **OPTIONS)
        assert (found.session.pulls, found.session.open, found.stopped) == (40, 0, "budget")
        assert len(calls) == len(set(calls)) == 40
        assert holders(database) == {"find_best-0"}

    def test_a_process_that_was_forked_does_not_keep_a_name_alive(self, database):
        with subprocess.Popen(
            [sys.executable, "-c", FORKING, database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            child = int(process.stdout.readline())
            process.kill()
            process.wait()
            journal = open_journal(database, "main")
            names = journal.names()
            while not names.acquire("find_best-0"):
                time.sleep(0.005)
            os.kill(child, 0)  # it is still there
            process.stdin.close()  # and ends
            names.release()
            journal.close()


def test_a_ticket_that_is_under_way_is_not_started_again(url, monkeypatch):
    with open_study(url, arms=9) as study:
        source = TicketSource(study, BudgetTracker(Budget(pulls=60)))
        (ticket,) = source.ask(1)
        monkeypatch.setattr(study, "ask", lambda *_, **__: [ticket])  # as when its lease has run out
        assert source.ask(2) == []
        source.tell(ticket, 0.5)
