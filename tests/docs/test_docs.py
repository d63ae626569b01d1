"""The documentation is true: its code runs, prints what it says, and leaves nothing out."""

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib

import click
import pytest
from pages import BESIDE, DRAWN, PAGES, ROOT, blocks, name_of, run_page

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
    ".lab",
    ".session",
    ".testing",
)
LONG = {"docs/howto/plan.md", "docs/howto/reproduce.md"}  # a quarter of a minute each


def shown():
    """Return the pages that show code or commands, those that take long for the soak."""
    for page in PAGES:
        if blocks(page) and page not in BESIDE:
            yield pytest.param(page, marks=[pytest.mark.soak] if name_of(page) in LONG else [], id=name_of(page))


@pytest.mark.parametrize("page", [*shown()])
def test_what_a_page_shows_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    run_page(page, tmp_path, monkeypatch)


@pytest.mark.soak
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


def test_the_architecture_names_files_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:/|\.py))`", text))
    package = ROOT / "src" / "boxthirding"
    there = {path.name for path in package.rglob("*.py")}
    assert [one for one in named if not ((package / one).exists() or (ROOT / one).exists() or one in there)] == []
    assert len(named) > 40


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "howto").glob("*.md")), ids=name_of)
def test_every_how_to_has_a_picture(page):
    assert re.search(r"^!\[[^\]]+\]\(\S+\)$", page.read_text(encoding="utf-8"), re.MULTILINE)


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


def test_the_readme_says_first_which_algorithm_is_which_with_the_figures_that_were_measured():
    first = (ROOT / "README.md").read_text(encoding="utf-8").partition("![")[0]
    said = dict(
        re.findall(r"\*\*\[`(\w+)`\]\(docs/\w+\.md\), the (?:default|paper's algorithm): ([\d.]+)\.\*\*", first)
    )
    page = (ROOT / "docs" / "chase.md").read_text(encoding="utf-8")
    to_prose, to_paper = (
        float(re.search(rf"^\| noisy cells, relative to {policy} \| ([\d.]+) ", page, re.MULTILINE)[1])
        for policy in ("`prose` told σ", "`b3`")
    )
    assert said == {"chase": f"{to_prose:.2f}", "b3": f"{to_prose / to_paper:.2f}"}


def test_pages_speak_only_of_what_a_result_and_a_session_have():
    found = boxthirding.find_best(3, float, budget=5, progress=False)
    there = {"found": found, "session": found.session}
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    spoken = set(re.findall(r"`(found|session)\.(\w+)", text))
    assert len(spoken) > 20
    assert [f"{thing}.{name}" for thing, name in sorted(spoken) if not hasattr(there[thing], name)] == []


def test_every_extra_is_in_the_table_of_the_install_page():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    table = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "install.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(table) == sorted(extras)
    (every,) = extras["all"]
    assert sorted(table[: table.index("all")]) == sorted(
        re.search(r"\[(.*)\]", every)[1].split(",")
    )  # "the four above"


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
    if not module.name.endswith("__main__") and not module.name.startswith("boxthirding.integrations.")  # there
]


@pytest.mark.parametrize("kind", [boxthirding.Session, boxthirding.Study, boxthirding.RemoteStudy])
def test_every_verb_says_what_it_does_here_or_in_what_it_extends(kind):
    verbs = [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]
    reads = [name for name, _ in inspect.getmembers(kind, lambda value: isinstance(value, property))]
    assert [name for name in verbs + reads if not inspect.getdoc(getattr(kind, name))] == []


@pytest.mark.parametrize("module", ["boxthirding", *MODULES])
def test_examples_in_docstrings_run(module):
    failed, _ = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert failed == 0
