"""The pictures of the documentation, drawn by the commands that the pages show: `make docs` calls `draw_all`.

They are drawn again when the code has changed. `python docs/pictures.py README` draws those that the README shows.
"""

import contextlib
import hashlib
import io
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from rich.console import Console
from rich.text import Text

import boxthirding as b3
from boxthirding.lab import Gaussian, Setting, captions, sweep
from boxthirding.lab.leaderboard.suites import SUITES
from boxthirding.lab.plots import log_spaced, plot_regret

if TYPE_CHECKING:
    from matplotlib.axes import Axes

mpl.use("agg")  # no window

DOCS = Path(__file__).parent
FOLDER = DOCS / "_pictures"
STAMP = FOLDER / "drawn-by.txt"
SCREENS = DOCS.parent / "tests" / "browser" / "test_screens.py"
SIX = ("chase", "b3", "us", "sh", "prose", "asha")


def draw_all() -> None:
    """Draw every picture, unless they were drawn by the code that is here now."""
    if STAMP.exists() and STAMP.read_text(encoding="utf-8") == _stamp():
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for draw in (
        quiet,
        crowd,
        comparison,
        leaderboard,
        reproduction,
        prompt,
        plate,
        timing,
        study,
        plan,
        shown,
        screens,
    ):
        draw()
    STAMP.write_text(_stamp(), encoding="utf-8")


def _stamp() -> str:
    """Return a digest of all that decides what the pictures show."""
    source = Path(b3.__file__).parent
    files = [
        Path(__file__),
        *sorted(file for kind in ("py", "js", "css", "html") for file in source.rglob(f"*.{kind}")),
    ]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _run(*arguments: str) -> None:
    """Run a command of ours in the folder of the pictures."""
    command = [sys.executable, "-m", "boxthirding", *arguments]
    subprocess.run(command, cwd=FOLDER, check=True, capture_output=True)  # noqa: S603  # our own


def readme() -> None:
    """Draw the pictures of the README and of the front page: six policies, 200 replicates; and a study, live."""
    policies = [word for spec in SIX for word in ("--policy", spec)]
    problem = ["--instance", "captions", "--rewards", "gaussian:0.25", "--budget", "10000"]
    FOLDER.mkdir(exist_ok=True)
    _run("simulate", *problem, *policies, "--replicates", "200", "--seed", "1", "--plot", str(DOCS / "regret.png"))
    shutil.rmtree(FOLDER / "screens", ignore_errors=True)
    screens()
    shutil.copy(FOLDER / "screens" / "live.png", DOCS / "live.png")


def quiet() -> None:
    """Draw what the default policy does without noise."""
    policies = [word for spec in ("chase", "b3", "us") for word in ("--policy", spec)]
    problem = ["--instance", "captions", "--rewards", "none", "--budget", "5000"]
    _run("simulate", *problem, *policies, "--replicates", "100", "--seed", "1", "--plot", "quiet.png")


def crowd() -> None:
    """Draw regret with 1, 8, 64 and 256 workers."""
    workers = (1, 8, 64, 256)
    settings = [
        Setting(captions(), Gaussian(0.25), "chase", 2_000, tuple(log_spaced(2_000)), 100, seed=1, workers=count)
        for count in workers
    ]
    names = [f"chase, {count} worker{'s' if count > 1 else ''}" for count in workers]
    runs = dict(zip(names, sweep(settings), strict=True))
    plot_regret(
        FOLDER / "workers.png",
        runs,
        title="How much many workers cost",
        subtitle="captions, noise 0.25, 100 replicates",
    )


def comparison() -> None:
    """Draw what the page on long comparisons saves."""
    policies = [word for spec in ("b3", "us", "sh", "bsh") for word in ("--policy", spec)]
    problem = ["--instance", "captions", "--arms", "500", "--rewards", "gaussian:0.25", "--budget", "1000"]
    _run("simulate", *problem, *policies, "--replicates", "150", "--results", "comparison.jsonl", "--json")
    _run("plot", "comparison.jsonl", "--out", "comparison.png")


def leaderboard() -> None:
    """Draw the leaderboard of every suite with few replicates; its page shows the standings, too."""
    for suite in SUITES:
        _run("leaderboard", "--suite", suite, "--replicates", "20", "--out", f"leaderboard-{suite}")


def reproduction() -> None:
    """Draw the figures of the reproduction with few replicates."""
    _run("reproduce", "--replicates", "20", "--out", "reproduction")


def prompt() -> None:
    """Draw how the answer came about on the page on prompts."""
    _save("prompt", _after("howto/prompt.md", "print(found)")["found"].plot())


def plate() -> None:
    """Draw the compounds of the page on plates by pulls and mean."""
    _save("plate", _after("howto/plate-of-96.md", "session.recommend()")["session"].plot("arms"))


def timing() -> None:
    """Draw the settings that the page on timings tried."""
    _save("timing", _after("howto/time-configurations.md", "b3.find_best(")["found"].plot("arms"))


def study() -> None:
    """Draw the arms of the study that the page on studies keeps."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _after("howto/durable-studies.md", "b3.open_study(")
        with b3.open_study("contest.db", "captions") as kept:
            _save("study", kept.plot("arms"))


def plan() -> None:
    """Draw the plan of the page on plans."""
    _run("plan", "--arms", "5000", "--noise", "20", "--spread", "10", "--plot", "plan.png")


def shown() -> None:
    """Draw a terminal with what `study show` says of a contest that is under way."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        captions_by_name = {f"caption {number}": number for number in range(1, 501)}
        draw = random.Random(7)  # made-up ratings
        b3.find_best(
            captions_by_name,
            lambda number: draw.gauss(number % 50 / 50, 0.5),
            budget=800,
            study="contest.db",
            progress=False,
        )
        _terminal("study", "show", "contest.db", "--top", "5")


def screens() -> None:
    """Let the test that looks at the server's pages take their pictures; without Chromium, say so instead."""
    folder = FOLDER / "screens"
    folder.mkdir()
    if shutil.which("chromium") is None:
        for page in DOCS.rglob("*.md"):
            for name in re.findall(r"_pictures/screens/([\w-]+\.png)", page.read_text(encoding="utf-8")):
                _write(folder / name, "This picture is taken where Chromium is installed.")
        return
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(SCREENS)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["BOXTHIRDING_SCREENS"] = str(folder)
    subprocess.run(command, cwd=DOCS.parent, check=True, capture_output=True, env=environment)  # noqa: S603  # our own


def _write(path: Path, words: str) -> None:
    """Draw a picture that only says something."""
    figure = Figure(figsize=(6, 1))
    figure.text(0.5, 0.5, words, ha="center", va="center")
    figure.savefig(path, dpi=100)


def _terminal(*arguments: str) -> None:
    """Draw a terminal in which a command of ours has run; it is kept as study-show.svg."""
    command = [sys.executable, "-m", "boxthirding", *arguments]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | {"COLUMNS": "90"})  # noqa: S603
    console = Console(record=True, width=90, file=io.StringIO())
    console.print(Text(f"$ boxthirding {' '.join(arguments)}", style="bold"))
    console.print(Text(said.stdout.rstrip()))
    drawn = console.export_svg(title="boxthirding")
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)  # fonts from another server
    (FOLDER / "study-show.svg").write_text(drawn, encoding="utf-8")


def _after(page: str, words: str) -> dict[str, Any]:
    """Run the Python of a page up to the block that has these words, and return its names."""
    names: dict[str, Any] = {}
    for code in re.findall(
        r"^```python\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exec(compile(code, page, "exec"), names)  # noqa: S102  # our own pages, which the tests run as well
        if words in code:
            return names
    raise LookupError(f"{page} has no Python with {words!r}")


def _save(name: str, axes: "Axes") -> None:
    axes.get_figure().savefig(FOLDER / f"{name}.png", dpi=150)


if __name__ == "__main__":
    readme() if sys.argv[1:] == ["README"] else draw_all()
