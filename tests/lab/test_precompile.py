import time

import pytest

from boxthirding.lab import Gaussian, Setting, equal
from boxthirding.lab import precompile as ahead
from boxthirding.lab.precompile import compiled_ahead, compiled_beside

SETTINGS = [Setting(equal(5), Gaussian(0.5), policy, budget=10, replicates=1) for policy in ("sh", "us")]


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """A cache in which nothing is compiled yet."""
    pytest.importorskip("numba")
    monkeypatch.setenv("BOXTHIRDING_CACHE", str(tmp_path))


@pytest.mark.usefixtures("cold")
def test_the_last_policies_are_compiled_in_another_process():
    assert not any(map(ahead._is_compiled, SETTINGS))
    with compiled_ahead(SETTINGS):
        while not ahead._is_compiled(SETTINGS[1]):
            time.sleep(0.05)
    assert not ahead._is_compiled(SETTINGS[0])  # the first ones are this process's own


@pytest.mark.usefixtures("cold")
def test_beside_something_else_all_are_compiled_by_its_end():
    with compiled_beside(SETTINGS) as left:
        assert left()
    assert all(map(ahead._is_compiled, SETTINGS))
    with compiled_beside(SETTINGS) as left:
        assert not left()


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("settings", [SETTINGS[:1], SETTINGS[1:] * 2, []], ids=["one", "one rule twice", "none"])
def test_no_process_is_started_where_there_is_nothing_to_share(monkeypatch, settings):
    monkeypatch.setattr(ahead, "ProcessPoolExecutor", lambda *_, **__: pytest.fail("a process was started"))
    with compiled_ahead(settings):
        pass


def test_without_numba_nothing_is_compiled(monkeypatch):
    monkeypatch.setattr(ahead._compile, "available", lambda: False)
    monkeypatch.setattr(ahead, "ProcessPoolExecutor", lambda *_, **__: pytest.fail("a process was started"))
    with compiled_ahead(SETTINGS):
        pass
