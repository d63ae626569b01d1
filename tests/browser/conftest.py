"""Debian's Chromium for tests of the pages; where there is none they are skipped, unless it is required."""

import os
import shutil

import pytest
from playwright.sync_api import expect, sync_playwright
from served import Process

expect.set_options(timeout=60_000)  # milliseconds: a busy machine takes its time, and what is there is not waited for
REQUIRED = "chromium" in os.environ.get("BOXTHIRDING_REQUIRE", "").split(",")


@pytest.fixture(scope="module")
def browser():
    """Return a browser that runs; not for the whole session, as no test beside it could run a loop of its own."""
    path = shutil.which("chromium")
    if path is None:
        reason = "Chromium is not installed: there is no chromium"
        if REQUIRED:
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield one
        one.close()


@pytest.fixture
def server(tmp_path):
    """Return a server that runs in a process of its own, over a file."""
    with Process(tmp_path / "server.db") as one:
        yield one
