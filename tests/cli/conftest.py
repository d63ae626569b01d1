import math

import pytest

from boxthirding import _progress


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Start in an empty folder, on a screen of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture(scope="session", autouse=True)
def _no_lines_now_and_then():
    """What is printed on stderr must not depend on how busy the machine is; test_watching.py sees the lines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_progress, "EVERY", math.inf)
        yield
