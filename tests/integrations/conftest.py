"""What the tests of the integrations share."""

import gc

import pytest


@pytest.fixture
def tidy():
    """Collect what inspect_ai leaves behind while its warnings are ignored, and not in the middle of another test."""
    yield
    gc.collect()
