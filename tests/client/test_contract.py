"""A study over HTTP keeps the contract of `AskTell`: the same suite as sessions and studies pass."""

from itertools import count

import pytest

from boxthirding import RemoteStudy
from boxthirding.testing import AskTellContract

numbers = count()


class TestRemoteStudy(AskTellContract):
    @pytest.fixture(autouse=True)
    def _server(self, server):
        self.server = server

    def make(self, arms, **settings):
        return RemoteStudy(self.server.url(f"study {next(numbers)}"), self.server.key, arms=arms, **settings)
