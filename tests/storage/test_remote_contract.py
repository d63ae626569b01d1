"""A study over HTTP keeps the contract of `AskTell` when its server is on PostgreSQL, too."""

from itertools import count

import pytest
from processes import Listening

from boxthirding import RemoteStudy
from boxthirding.testing import AskTellContract

numbers = count()

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def listening(server):
    """Return a server in this process, for all tests of the file."""
    one = Listening(server.url)
    yield one
    one.close()


class TestRemoteStudy(AskTellContract):
    @pytest.fixture(autouse=True)
    def _server(self, listening):
        self.server = listening

    def make(self, arms, **settings):
        return RemoteStudy(self.server.url(f"remote {next(numbers)}"), self.server.key, arms=arms, **settings)
