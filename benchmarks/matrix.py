"""`make matrix`: the built wheel on every Python that is supported, with the newest and the oldest packages allowed.

Each combination has an environment of its own below build/matrix, and runs the tests that depend on the interpreter, on
NumPy or on Numba. An interpreter that is not on this machine is named in the end, and does not count as a failure. With
arguments, such as 3.13-newest 3.11-oldest, only these are tested.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "matrix"
PYTHONS = ("3.11", "3.12", "3.13")
NEWEST = ("numpy", "numba")
OLDEST = {  # the lower ends in pyproject.toml; NumPy 2.0 has no wheel for 3.13
    "3.11": ("numpy==2.0.0", "numba==0.61.0"),
    "3.12": ("numpy==2.0.0", "numba==0.61.0"),
    "3.13": ("numpy==2.1.0", "numba==0.61.0"),
}
BESIDE = ("pytest", "pytest-xdist", "hypothesis", "matplotlib", "click", "rich")
TESTS = (
    "tests/test_import.py",
    "tests/test_compile.py",
    "tests/test_streams.py",
    "tests/golden",
    "tests/session/test_session.py",
    "tests/sim/test_simulator.py",
    "tests/report/test_plots.py",
)


def interpreter(version: str) -> str | None:
    """Return a Python of this version: on the path, or kept by pyenv; None where there is none."""
    name = f"python{version}"
    kept = Path.home().glob(f".pyenv/versions/{version}.*/bin/{name}")
    for found in filter(None, [shutil.which(name), *map(str, kept)]):
        asked = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
        if asked.stdout.startswith(f"Python {version}."):  # a shim may be there for a Python that is not
            return found
    return None


def built_wheel() -> Path:
    """Build the wheel of this tree, and return its path."""
    shutil.rmtree(BUILD / "dist", ignore_errors=True)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(BUILD / "dist")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (BUILD / "dist").iterdir()
    return wheel


def installed(python: str, folder: Path, packages: tuple[str, ...], wheel: Path) -> str:
    """Make an environment with these packages and the wheel, and return its Python."""
    subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True, capture_output=True)
    inside = str(folder / "bin" / "python")
    pip = [inside, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--only-binary", ":all:"]
    subprocess.run([*pip, *packages, *BESIDE, str(wheel)], check=True)
    return inside


def tested(python: str) -> tuple[bool, str]:
    """Run the tests in an environment; return whether they passed, and their last line."""
    ended = subprocess.run(
        [python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *TESTS],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = ended.stdout.strip().splitlines()
    if ended.returncode:
        print(ended.stdout, ended.stderr, sep="\n")
    return ended.returncode == 0, lines[-1].strip("= ") if lines else ended.stderr.strip()


def main() -> int:
    """Test every combination, print a line for each, and fail if one of them does."""
    wheel = built_wheel()
    good, missing = True, []
    for name in sys.argv[1:] or [f"{version}-{kind}" for version in PYTHONS for kind in ("newest", "oldest")]:
        version, _, kind = name.partition("-")
        packages = OLDEST[version] if kind == "oldest" else NEWEST
        python = interpreter(version)
        if python is None:
            missing.append(name)
            continue
        started = time.monotonic()
        passed, line = tested(installed(python, BUILD / name, packages, wheel))
        good &= passed
        words = f"Python {version}, {kind} ({', '.join(packages)}): {'passed' if passed else 'FAILED'}"
        print(f"{words} in {time.monotonic() - started:.0f} s: {line}", flush=True)
    if missing:
        print(f"Not on this machine, so not tested: {', '.join(missing)}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
