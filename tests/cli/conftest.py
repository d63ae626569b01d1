import math

import pytest
from running import FILES

from boxthirding import _progress


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Start in an empty folder, on a screen of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def programs(folder):
    """Start in a folder with a program that `boxthirding run` can run, and a few files of arms."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _no_lines_now_and_then():
    """What is printed on stderr must not depend on how busy the machine is; test_simulate.py sees the lines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_progress, "EVERY", math.inf)
        yield
