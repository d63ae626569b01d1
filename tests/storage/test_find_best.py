"""`find_best` on both databases: it goes on where it was, and processes share a budget to the last pull."""

import json
import random
import subprocess
import sys

from boxthirding import find_best, open_study

OPTIONS = {"examples": range(500), "seed": 4, "progress": False}

PROGRAM = """
import json, sys
from test_find_best import OPTIONS, score
from boxthirding import find_best

found = find_best(300, score, budget=150, workers=2, study=sys.argv[1], **OPTIONS)
print(json.dumps([found.label, found.spending.pulls]))
"""


def score(arm, example):
    """Return a noisy score that depends on the arm and the example alone."""
    return random.Random(f"{arm}/{example}").gauss(arm % 97 / 97, 0.3)


def test_a_run_that_was_interrupted_goes_on_as_if_it_had_not_been(url):
    calls = iter(range(1, 1000))

    def stopping(arm, example):
        if next(calls) in (1, 40):
            raise KeyboardInterrupt
        return score(arm, example)

    for pulls in (0, 38):
        found = find_best(300, stopping, budget=120, study=url, **OPTIONS)
        assert (found.stopped, found.session.pulls) == ("interrupted", pulls)
    found = find_best(300, stopping, budget=120, study=url, **OPTIONS)
    assert (found.spending.pulls, found.session.pulls, found.session.waiting) == (82, 120, 0)
    assert found.recommendation == find_best(300, score, budget=120, **OPTIONS).recommendation


def test_processes_share_a_budget_to_the_last_pull(url, monkeypatch):
    monkeypatch.syspath_prepend(str(__file__).rpartition("/")[0])
    command = [sys.executable, "-c", PROGRAM, url]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(3)]
    answers = [json.loads(worker.communicate()[0]) for worker in workers]
    assert sum(pulls for _, pulls in answers) == 150
    assert len({label for label, _ in answers}) == 1
    with open_study(url, "main") as study:
        assert (study.pulls, study.waiting, study.recommend().label) == (150, 0, answers[0][0])
