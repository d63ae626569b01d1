"""Programs that work on a study of a server, each in a process of its own; they print what they did as JSON."""

import json
import subprocess
import sys
import time

ARMS = {f"arm {number}": {"quality": number} for number in range(30)}


def score(arm):
    time.sleep(0.002)
    return float(arm["quality"])


def search(url, budget):
    """Search within a budget of the whole study; the first evaluation waits for the end of what is read."""
    from boxthirding import find_best

    def when_told(arm):
        sys.stdin.readline()  # none is left: go on
        return score(arm)

    found = find_best(ARMS, when_told, budget=int(budget), study=url, progress=False)
    return {"best": found.best, "label": found.label, "stopped": found.stopped, "results": found.spending.pulls}


def pull(url, pulls):
    """Make pulls in a plain loop."""
    from boxthirding import RemoteStudy

    told = []
    with RemoteStudy(url) as study:
        holder = study.worker()
        while len(told) < int(pulls):
            for ticket in study.ask(holder=holder):
                study.tell(ticket, float(ticket.label % 10), holder=holder)
                told.append(ticket.id)
    return {"told": told}


def start(what, url, number, key, reads=subprocess.DEVNULL):
    """Start a program, for a test."""
    command = [sys.executable, __file__, what, url, str(number)]
    return subprocess.Popen(command, stdin=reads, stdout=subprocess.PIPE, text=True, env=environment(key))


def environment(key):
    import os

    return {**os.environ, "BOXTHIRDING_KEY": key}


def result(process):
    """Wait for a program, and return what it printed."""
    text, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(text)


if __name__ == "__main__":
    print(json.dumps({"search": search, "pull": pull}[sys.argv[1]](*sys.argv[2:])))  # noqa: T201  # to the test
