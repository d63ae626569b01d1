"""The documentation is true: its code runs, prints what it says, and leaves nothing out."""

import contextlib
import dataclasses
import doctest
import importlib
import io
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from pages import DRAWN, PAGES, ROOT, blocks, commands

import boxthirding
from boxthirding.cli.commands import cli
from boxthirding.policies import POLICIES

REFERENCE = ROOT / "docs" / "reference"
PUBLIC = (
    "",
    ".errors",
    ".find",
    ".planning",
    ".policies",
    ".report",
    ".rewards",
    ".session",
    ".sim",
    ".testing",
    ".theory",
)
CHECKER = doctest.OutputChecker()
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name_of(page):
    return str(page.relative_to(ROOT))


def check(want, got, where):
    """Compare an output with the page's, in which three dots stand for anything, and spaces are spaces."""
    assert want is None or CHECKER.check_output(want, got, LENIENT), f"{where} prints\n{got}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name_of)
def test_what_a_page_shows_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
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
                exec(compile(block.text, where, "exec"), namespace)  # noqa: S102  # that is what this test is for
            check(block.output, printed.getvalue(), where)
        elif block.kind == "console":
            for command, output in commands(block):
                if command.startswith("boxthirding "):
                    run(command, output or block.output, where)


def run(command, output, where):
    arguments = shlex.split(command)[1:]
    ended = subprocess.run(
        [sys.executable, "-m", "boxthirding", *arguments], capture_output=True, text=True, check=False, timeout=600
    )
    assert ended.returncode == 0, f"{where}: {command}\n{ended.stderr}"
    check(output, ended.stdout, f"{where}: {command}")


def test_the_site_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", tmp_path / "trees"]
    ended = subprocess.run([*command, ROOT / "docs", tmp_path / "site"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "site" / "index.html").exists()


def test_every_page_is_reached_from_the_index_or_is_the_readme():
    trees = re.findall(
        r"```\{toctree\}\n(.*?)```", "".join(page.read_text(encoding="utf-8") for page in PAGES), re.DOTALL
    )
    listed = {line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")}
    stems = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in PAGES[1:]}
    reached = {name for name in stems if name in listed or name.removeprefix("reference/") in listed}
    assert stems - reached == {"index"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    there = [target for target in targets if DRAWN not in target]  # a picture that is not drawn fails the build
    assert [target for target in there if not (page.parent / target).exists()] == []


# Nothing is left out


def section(page, title):
    """Return what stands under a heading of the second level."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    parts = dict(re.findall(r"^## (\S[^\n]*)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))
    assert title in parts, f"docs/reference/{page} has no section {title}"
    return parts[title]


def leaves(group, path=()):
    """Return the commands below a group by their full names."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


@pytest.mark.parametrize(("name", "command"), list(leaves(cli)), ids=[name for name, _ in leaves(cli)])
def test_every_command_and_every_option_is_documented(name, command):
    text = section("cli.md", name)
    options = [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
    assert [option for option in options if f"`{option}" not in text] == []


def test_no_option_is_documented_that_does_not_exist():
    for name, command in leaves(cli):
        known = {option for parameter in command.params for option in parameter.opts}
        headings = re.findall(r"^`(--[a-z-]+)", section("cli.md", name), re.MULTILINE)
        assert set(headings) <= known, name


@pytest.mark.parametrize("name", list(POLICIES))
def test_every_policy_and_every_key_is_documented(name):
    text = section("policies.md", name)
    keys = [field.name for field in dataclasses.fields(POLICIES[name])]
    assert [key for key in keys if not re.search(rf"^`{key}`$", text, re.MULTILINE)] == []


def documented():
    """Return every object that a directive of the reference names."""
    text = "".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    found = {}
    for path in re.findall(r"^\.\. (?:auto\w+|py:data):: (\S+)$", text, re.MULTILINE):
        module, _, name = path.rpartition(".")
        found[path] = getattr(importlib.import_module(module), name, None)
    return found


def test_the_reference_names_only_what_exists():
    assert [path for path, thing in documented().items() if thing is None] == []


def public_names():
    for suffix in PUBLIC:
        module = importlib.import_module(f"boxthirding{suffix}")
        for name in getattr(module, "__all__", ()):
            yield f"{module.__name__}.{name}"


@pytest.mark.parametrize("path", list(public_names()))
def test_every_public_name_is_documented(path):
    module, _, name = path.rpartition(".")
    thing = getattr(importlib.import_module(module), name)
    assert path in documented() or any(thing is other for other in documented().values())


# Docstrings


MODULES = [
    module.name
    for module in pkgutil.walk_packages(boxthirding.__path__, "boxthirding.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("module", ["boxthirding", *MODULES])
def test_examples_in_docstrings_run(module):
    failed, _ = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert failed == 0
