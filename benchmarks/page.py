"""The page of a large study in a browser: how long it takes to open, and from a rating to what is seen of it.

A study of 20,000 arms and 100,000 pulls on SQLite, a server in a process of its own, Chromium. A page is open when its
answer and its boxes are there: right after the server has started, and again. Nothing is measured without Chromium.
"""

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from boxthirding import open_study

ARMS, PULLS, BATCH = 20_000, 100_000, 1_000
ROUNDS = 5
NAME = "large"
_SEEN = """() => new Promise(done => {
  new MutationObserver((_, watch) => { watch.disconnect(); done(Date.now() / 1000); })
    .observe(document.querySelector(".board"), { childList: true });
})"""


def measure() -> Iterator[dict[str, Any]]:
    """Yield the times in milliseconds."""
    path = shutil.which("chromium")
    if path is None:
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only where there is a browser

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        place = Path(folder, "studies.db")
        build(place)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        with _Server(place) as server:
            cold, page = _opened(browser, server)
            warm = statistics.median(_opened(browser, server)[0] for _ in range(ROUNDS))
            seen = statistics.median(_until_seen(page, server) for _ in range(ROUNDS))
        browser.close()
    yield {"what": "open the page, the server just started", "milliseconds": cold, "at most": 2_000}
    yield {"what": "open the page again", "milliseconds": warm, "at most": 2_000}
    yield {"what": "from a rating to what is seen of it", "milliseconds": seen, "at most": 1_000}


def build(place: Path) -> None:
    """Make the study, told in large batches."""
    draws = np.random.default_rng(0)
    arms = [f"Caption {number}: what the cat said to the committee" for number in range(ARMS)]
    means = dict(zip(arms, draws.beta(2, 5, ARMS), strict=True))
    with open_study(str(place), NAME, arms=arms) as study:
        for _ in range(PULLS // BATCH):
            tickets = study.ask(BATCH)
            study.tell_all([(ticket, float(draws.random() < means[ticket.label])) for ticket in tickets])


class _Server:
    """`boxthirding serve` over a file."""

    def __init__(self, place: Path) -> None:
        command = [sys.executable, "-m", "boxthirding", "serve", str(place), "--port", "0"]
        self._running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  # of ours
        lines: Any = self._running.stdout
        said = "".join(lines.readline() for _ in range(3))
        self.address = re.findall(r"http://127\.0\.0\.1:\d+", said)[0]
        self.key = re.findall(r"this once: (\S+)", said)[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.terminate()
        self._running.wait()

    def post(self, path: str, body: object) -> Any:
        """Call the API."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        url = f"{self.address}/api/v1/studies/{NAME}{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310  # of ours
        with urllib.request.urlopen(request) as reply:  # noqa: S310
            return json.load(reply)


def _opened(browser: Any, server: _Server) -> tuple[float, Any]:
    context = browser.new_context()
    context.request.post(f"{server.address}/api/v1/session", data={"secret": server.key})
    page = context.new_page()
    began = time.perf_counter()
    page.goto(f"{server.address}/studies/{NAME}")
    page.locator("#answer .winner").wait_for()
    page.locator(".board .arm").first.wait_for()
    return round(1000 * (time.perf_counter() - began), 1), page


def _until_seen(page: Any, server: _Server) -> float:
    """Tell a result; return the milliseconds until the boxes were drawn with it."""
    (ticket,) = server.post("/tickets", {"n": 1})["tickets"]
    page.wait_for_timeout(2_000)  # until that is drawn
    page.evaluate(f"() => {{ window.seen = ({_SEEN})(); }}")
    began = time.time()
    server.post("/results", {"results": [{"ticket": ticket["id"], "reward": 1.0}]})
    return round(1000 * (page.evaluate("() => window.seen") - began), 1)
