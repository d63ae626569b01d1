"""Servers that listen."""

import pytest
from processes import Listening, Process


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return a server in this process, for all tests of a file."""
    one = Listening(tmp_path_factory.mktemp("served") / "studies.db")
    yield one
    one.close()


@pytest.fixture
def process(tmp_path):
    """Return a server in a process of its own."""
    with Process(tmp_path / "studies.db") as one:
        yield one
