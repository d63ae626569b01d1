"""A server for each test."""

import pytest
from serving import Server


@pytest.fixture
def server():
    one = Server()
    yield one
    one.close()
