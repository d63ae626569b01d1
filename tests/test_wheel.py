"""The wheel that users install: built from a copy of the tree, run where neither `src` nor this repository is found."""

import doctest
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from pages import blocks

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "boxthirding"
TREE = [".gitignore", "LICENSE", "README.md", "pyproject.toml"]  # with src, all that a wheel is made of
DATA = [
    "py.typed",
    "find/numbers.js",
    "find/report_locale.js",
    "service/static/index.js",
    "service/templates/index.html",
    "lab/caption_means_by_rank.csv",
    "lab/paper/page.html",
]

# Neither the user's packages nor the .pth files of an editable install: only what PYTHONPATH names.
PYTHON = [sys.executable, "-S", "-s", "-P"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return the folder that the wheel was installed to."""
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    tree = folder / "tree"
    shutil.copytree(PACKAGE, tree / "src" / "boxthirding", ignore=shutil.ignore_patterns("__pycache__"))
    for name in TREE:
        shutil.copy(ROOT / name, tree)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=tree, check=True, capture_output=True)
    shutil.rmtree(tree)
    (wheel,) = (folder / "dist").iterdir()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    options = ["--disable-pip-version-check", "--target", str(folder / "installed")]
    subprocess.run([*pip, *options, str(wheel)], cwd=folder, check=True, capture_output=True)
    return folder / "installed"


@pytest.fixture
def run(installed, tmp_path):
    """Return a function that runs Python outside the repository, on what is installed and on its dependencies."""

    def run_python(*arguments, path=installed):
        dependencies = sysconfig.get_path("purelib")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment["PYTHONPATH"] = os.pathsep.join([str(path), dependencies])
        environment["BOXTHIRDING_CACHE"] = str(tmp_path / "cache")
        command = [*PYTHON, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)

    return run_python


def printed(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_the_wheel_that_is_imported(run, installed):
    file = Path(printed(run("-c", "import boxthirding; print(boxthirding.__file__)")).strip())
    assert file == installed / "boxthirding" / "__init__.py"


def test_without_the_wheel_there_is_nothing_to_import(run, tmp_path):
    assert "No module named 'boxthirding'" in run("-c", "import boxthirding", path=tmp_path).stderr


def test_every_file_of_the_package_is_in_it(installed):
    def files(folder):
        found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return sorted(path.relative_to(folder).as_posix() for path in found)

    assert files(installed / "boxthirding") == files(PACKAGE)
    assert set(DATA) <= set(files(PACKAGE))


def test_nothing_else_is_installed(installed):
    names = {path.name.partition("-")[0] for path in installed.iterdir()}
    assert names <= {"boxthirding", "bin", "Scripts"}


# What a new user does, in the order of the README


@pytest.fixture(scope="module")
def fresh(installed, tmp_path_factory):
    """Return the Python of a new environment that has the wheel, NumPy and tqdm, and nothing else: not even pip."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    for part in [
        *installed.iterdir(),
        *Path(sysconfig.get_path("platlib")).glob("numpy*"),
        *Path(sysconfig.get_path("purelib")).glob("tqdm*"),
    ]:
        (packages / part.name).symlink_to(part)
    return Path(sysconfig.get_path("scripts", vars={"base": str(folder)})) / "python"


def alone(python, *arguments, folder):
    """Run a Python of a new environment, without a variable that could lead it elsewhere."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "BOXTHIRDING"))}
    return subprocess.run(
        [python, *arguments], cwd=folder, env=environment, check=False, capture_output=True, text=True
    )


def test_the_new_environment_has_numpy_tqdm_and_nothing_else(fresh, tmp_path):
    for missing in ("click", "rich", "matplotlib", "numba", "pip", "pytest"):
        assert f"No module named '{missing}'" in alone(fresh, "-c", f"import {missing}", folder=tmp_path).stderr


def test_the_example_of_the_readme_prints_what_the_readme_says(fresh, tmp_path):
    example = next(block for block in blocks(ROOT / "README.md") if block.kind == "python")
    (tmp_path / "example.py").write_text(example.text, encoding="utf-8")
    shown = printed(alone(fresh, "example.py", folder=tmp_path))
    assert doctest.OutputChecker().check_output(example.output, shown, doctest.ELLIPSIS), shown


def test_make_demo_names_chase_as_the_best_and_draws_its_picture():
    environment = Path(sys.prefix)
    here = ["make", "--no-print-directory", "demo", f"VENV={environment}", "--old-file", str(environment / ".runtime")]
    (ROOT / "build" / "demo.png").unlink(missing_ok=True)
    shown = printed(subprocess.run(here, cwd=ROOT, check=False, capture_output=True, text=True))
    assert "* lowest mean regret after 10,000 pulls: chase\n" in shown
    assert "Plot of regret against pulls: build/demo.png\n" in shown
    assert "Three commands to try next:" in shown
    assert (ROOT / "build" / "demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "program",
    [
        "from boxthirding.lab import captions; print(captions().n_arms)",
        'from boxthirding.lab.paper import page; print(page._resource("page.css"))',
        "import boxthirding; print(*(getattr(boxthirding, name) for name in boxthirding.__all__))",
    ],
)
def test_its_data_and_all_its_names_are_found(run, program):
    assert printed(run("-c", program)).strip()


def test_the_command_line_says_what_it_can_do(run):
    pytest.importorskip("click")
    pytest.importorskip("rich")
    assert "simulate" in printed(run("-m", "boxthirding", "--help"))
