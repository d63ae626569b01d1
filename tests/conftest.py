"""What every test begins with."""

import signal

import pytest
from counting import summary

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # the environment of the integrations does without
    pass
else:  # the same examples every time, and none fails because the machine is busy
    settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("steady")


@pytest.fixture(autouse=True)
def ctrl_c():
    """Have Python's own Ctrl-C: a shell may have ignored it, and a program that a test starts would ignore it too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    """Say in the last line what the attacks of the soak tests came to."""
    result = yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and (line := summary()):
        reporter.write_line(line, bold=True)
    return result
