"""The pages of the documentation, cut into what can be run: Python, commands, files, and what they print."""

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from boxthirding.cli.commands import cli

ROOT = Path(__file__).resolve().parents[2]
DRAWN = "_pictures"  # the folder that the build draws into
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if DRAWN not in page.parts),
]

BESIDE = sorted((ROOT / "docs" / "integrations").glob("*.md"))
"""Pages whose code needs the packages of `make integrations`, which runs it."""

CHECKER = doctest.OutputChecker()
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
CAPTION = re.compile(r"\A(:[a-z-]+:[^\n]*\n)*?:caption: (?P<file>\S+)\n(:[a-z-]+:[^\n]*\n)*\n?")


@dataclass(frozen=True)
class Block:
    """A fenced block: what kind it is, what stands in it, and where."""

    kind: str  # python, console, file, or anything else
    text: str
    line: int
    file: str = ""  # the name of a file that the page shows
    output: str | None = None  # what must be printed, if the page says so


def blocks(page):
    """Return the fenced blocks of a page; a block `text` right after Python or a command is what that prints."""
    source = page.read_text(encoding="utf-8")
    found = []
    end = 0
    for fence in FENCE.finditer(source):
        info, body = fence["info"].strip(), fence["body"]
        line = source.count("\n", 0, fence.start()) + 1
        between = source[end : fence.start()].strip()
        end = fence.end()
        caption = CAPTION.match(body) if info.startswith("{code-block}") else None
        if info == "text" and not between and found and found[-1].kind in ("python", "console"):
            last = found.pop()
            found.append(Block(last.kind, last.text, last.line, output=body))
        elif caption:
            found.append(Block("file", body[caption.end() :], line, file=caption["file"]))
        else:
            found.append(Block("console" if info == "sh" else info, body, line))
    return found


def commands(block):
    """Return the commands of a console block, each with the output that follows it: lines that begin with `$ `."""
    found = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif found and found[-1][0].endswith("\\"):
            found[-1][0] = found[-1][0][:-1] + line.removeprefix("> ").strip()
        elif found:
            found[-1][1] += line + "\n"
    return [(command, output or None) for command, output in found]


def name_of(page):
    return str(page.relative_to(ROOT))


def run_page(page, folder, monkeypatch):
    """Run what a page shows, in a folder of its own, and compare what it prints."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    namespace = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{name_of(page)}:{block.line}"
        if block.kind == "file":
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block.text, where, "exec"), namespace)  # noqa: S102  # that is what this is for
            check(block.output, printed.getvalue(), where)
        elif block.kind == "console":
            for command, output in commands(block):
                if command.startswith("boxthirding "):
                    run(command, output or block.output, where)


def run(command, output, where):
    ended = CliRunner().invoke(cli, shlex.split(command)[1:])
    assert ended.exit_code == 0, f"{where}: {command}\n{ended.stderr}"
    check(output, ended.stdout, f"{where}: {command}")


def check(want, got, where):
    """Compare an output with the page's, in which three dots stand for anything, and spaces are spaces."""
    assert want is None or CHECKER.check_output(want, got, LENIENT), f"{where} prints\n{got}"
