"""How the tests give `boxthirding run`, and the programs that it runs."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from invoking import invoke

import boxthirding

PYTHON = shlex.quote(sys.executable)

GOOD = {"--arms": "arms.txt", "--command": f"{PYTHON} score.py {{arm}}", "--budget": "9"}

SCORE = """
import pathlib, sys
arm = sys.argv[1]
with pathlib.Path("calls").open("a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
print("scoring", arm)
print(sum(map(ord, arm)) / 100)
print()
"""

FILES = {
    "score.py": SCORE,
    "arms.txt": "ann\n\nbob\n  zoe  \n",
    "arms.csv": 'name,rate,note\nann,0.1,"a, b"\nbob,0.9,c\nzoe,0.5,\n',
    "named.csv": "rate,arm\n0.1,ann\n0.9,bob\n",
    "examples.txt": "easy\nhard\nodd\n",
    "examples.csv": "id,example\n1,easy\n2,hard\n",
}
"""A program, and a few files of arms and examples."""


def words(options):
    """Return options as they stand on a command line; one that is None is left out."""
    return [word for pair in options.items() if pair[1] is not None for word in pair]


def run(*arguments):
    return invoke("run", *arguments)


def inline(code):
    """Return a command that runs this code with the arm as argument."""
    return f"{PYTHON} -c {shlex.quote(code)} {{arm}}"


def result(*arguments, exit_code=0):
    done = run(*arguments, "--json")
    assert done.exit_code == exit_code, done.output
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def calls():
    return Path("calls").read_text(encoding="utf-8").splitlines()


def journal():
    """Return the journal of the study in run.db as text."""
    ended = invoke("study", "export", "run.db", "--format", "jsonl")
    assert ended.exit_code == 0
    return ended.stdout


def started(*arguments, sigint="default_int_handler", stdout=subprocess.PIPE):
    """Start it as its user does, in a process of its own."""
    begin = f"import signal; signal.signal(signal.SIGINT, signal.{sigint}); "  # a shell may have ignored it
    source = str(Path(boxthirding.__file__).parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-c", begin + "from boxthirding.cli import main; main()", "run", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def stop(process, sent):
    """Send a signal, Ctrl-C twice: the first one waits for what is under way. Return what it says to that."""
    process.send_signal(sent)
    if sent != signal.SIGINT:
        return ""
    said = next(line for line in process.stderr if line.startswith("Waiting for "))
    process.send_signal(sent)
    return said


def wait_for(look, process):
    """Return what is looked for, once it is there; a process that ends before has failed."""
    while not (found := look()):
        assert process.poll() is None
        time.sleep(0.005)
    return found


def gone(pid):
    """Wait until a process has ended, also one whose parent has not collected it yet; return whether it has."""
    for _ in range(6000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)  # a process that was killed takes its time to die
    return False
