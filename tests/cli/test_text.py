"""Labels of every kind on the command line: escaped on a screen in any encoding, and true in files."""

import csv
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from boxthirding import open_study
from boxthirding.cli.commands import cli

NOT_UTF8 = os.fsdecode(b"caf\xe9.txt")  # as os.listdir gives it
RED = "\x1b[31mred\x07\u202e"
END = b"\n--- end of a command ---\n"
COMMANDS = f"""
import ast, sys
from boxthirding.cli.commands import cli
for place, command in enumerate(ast.literal_eval(sys.argv[1])):
    if place:
        sys.stdout.write({END.decode()!r})
    cli(command, standalone_mode=False)
"""
BAR = re.compile(r"\r +\d+%\|[^\r\n]*|\r +\r")  # how tqdm draws its bar, and removes it
COLOURS = re.compile(r"\r?\x1b\[([0-9;]*[mK]|1A|\?25[lh])")  # that are rich's own, and how it moves a bar


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Start in a folder with a study of such labels, and files of arms."""
    monkeypatch.chdir(tmp_path)
    Path("turtle.txt").write_text("🐢\nb\n", encoding="utf-8")
    Path("red.csv").write_text(f'arm\n"{RED}"\n', encoding="utf-8")
    with open_study("study.db", arms=[NOT_UTF8, RED], policy="us") as study:
        for ticket in study.ask(4):
            study.tell(ticket, 1.0)
    return tmp_path


def invoke(*arguments, exit_code=0):
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == exit_code, (done.output, done.exception)
    return done


def printed_in(encoding, *commands):
    """Return what each of some commands prints, as bytes, in a process with that encoding."""
    ended = subprocess.run(
        [sys.executable, "-c", COMMANDS, repr(commands)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split(END)


def on_a_terminal(*arguments):
    """Return what a command of its own sends to a terminal, but for colours."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", "COLUMNS": "200"}
    with subprocess.Popen(
        [sys.executable, "-m", "boxthirding", *arguments], stdout=theirs, stderr=theirs, env=environment
    ):
        os.close(theirs)
        sent = b""
        try:
            while block := os.read(ours, 65536):
                sent += block
        except OSError:  # how Linux says that the other end is closed
            pass
        finally:
            os.close(ours)
    return sent.decode().replace("\r\n", "\n")


RUN = ("run", "--command", 'sh -c "echo 1 # {arm}"', "--budget", "4", "--arms")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_an_answer_is_printed_in_any_encoding(encoding):
    commands = {
        (*RUN, "turtle.txt"): b"\\U0001f422",
        (*RUN, "turtle.txt", "--study", "turtle.db"): b"\\U0001f422",
        ("study", "show", "turtle.db"): b"\\U0001f422",
        ("study", "show", "study.db"): b"caf\\udce9.txt",
        ("study", "export", "study.db"): b",caf\\udce9.txt,",
        ("study", "ask", "study.db", "-n", "2"): b",caf\\udce9.txt,",
    }
    for printed, words in zip(printed_in(encoding, *commands), commands.values(), strict=True):
        assert words in printed


def unseen_in(text):
    """Return the characters that a terminal would obey, but for ends of lines."""
    return [character for character in COLOURS.sub("", text) if not character.isprintable() and character != "\n"]


@pytest.mark.parametrize(
    "command",
    [
        (*RUN, "red.csv"),
        ("run", "--command", 'sh -c "exit 3 # {arm}"', "--budget", "4", "--on-error", "withdraw", "--arms", "red.csv"),
        ("study", "show", "study.db"),
        ("study", "list", "study.db"),
        ("study", "ask", "study.db"),
        ("study", "export", "study.db"),
        ("study", "withdraw", "study.db", RED),
        ("study", "withdraw", "study.db", f"no {RED}"),
        ("study", "correct", "study.db", "0", "2"),
        ("study", "add", "study.db", f"no {RED}.csv"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_terminal_gets_escapes_for_what_it_would_obey(command):
    sent = on_a_terminal(*command)
    assert "\x1b[31m" not in sent
    assert unseen_in(re.sub(BAR, "", sent)) == []


def test_files_keep_the_label_and_escape_what_they_cannot_hold():
    invoke("study", "export", "study.db", "--out", "all.csv")
    with Path("all.csv").open(encoding="utf-8", newline="") as file:
        arms = {row["arm"] for row in csv.DictReader(file)}
    assert arms == {"", RED, "caf\\udce9.txt"}
    invoke("study", "export", "study.db", "--out", "all.jsonl")
    events = [json.loads(line) for line in Path("all.jsonl").read_text(encoding="utf-8").splitlines()]
    assert events[0]["arms"] == [NOT_UTF8, RED]
    assert b"\x1b[31mred\x07" in printed_in("utf-8", ("study", "export", "study.db"))[0]  # into a pipe, which is a file


def test_plates_with_any_label_can_be_told():
    invoke("study", "ask", "study.db", "-n", "2", "--out", "plate.csv")
    Path("printed.csv").write_bytes(printed_in("ascii", ("study", "ask", "study.db", "-n", "2"))[0])
    for name in ("plate.csv", "printed.csv"):
        with Path(name).open(encoding="utf-8", newline="") as file:
            rows = [{**row, "reward": "0.5"} for row in csv.DictReader(file)]
        with Path(name).open("w", encoding="utf-8", newline="") as file:
            sheet = csv.DictWriter(file, rows[0])
            sheet.writeheader()
            sheet.writerows(rows)
        assert "2 results told" in invoke("study", "tell", "study.db", name).stdout
    with open_study("study.db") as study:
        assert study.pulls == 8


def test_formulas_are_escaped_in_every_file_and_plates_with_them_can_be_told():
    labels = ["=1+1", "-x", "@y", "-5", "\rz"]
    with open_study("odd.db", arms=labels, policy="us", name="=odd"):
        pass
    escaped = {"'=1+1", "'-x", "'@y", "-5", "'\rz"}
    invoke("study", "ask", "odd.db", "-n", "5", "--out", "plate.csv")
    with Path("plate.csv").open(encoding="utf-8", newline="") as file:
        rows = [{**row, "reward": "-0.5"} for row in csv.DictReader(file)]
    assert {row["arm"] for row in rows} == escaped
    with Path("plate.csv").open("w", encoding="utf-8", newline="") as file:
        sheet = csv.DictWriter(file, rows[0])
        sheet.writeheader()
        sheet.writerows(rows)
    assert "5 results told" in invoke("study", "tell", "odd.db", "plate.csv").stdout
    for command in ("results", "export"):
        invoke("study", command, "odd.db", "--out", f"{command}.csv")
        with Path(f"{command}.csv").open(encoding="utf-8", newline="") as file:
            assert {row["arm"] for row in csv.DictReader(file)} - {""} == escaped


def test_a_label_that_is_no_utf8_can_be_named():
    assert "caf\\udce9.txt is withdrawn." in invoke("study", "withdraw", "study.db", NOT_UTF8).stdout
