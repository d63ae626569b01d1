"""What is asked of every page, and a server to ask."""

import http.cookiejar
import json
import re
import urllib.request

from axe_playwright_python.sync_playwright import Axe
from processes import API, Process

__all__ = ["API", "Process", "Rater", "signed_in", "violations", "watched"]


def watched(page):
    """Collect what goes wrong on a page: errors in its console, and requests to another host."""
    wrong = []
    host = re.compile(r"^(https?://127\.0\.0\.1:\d+/|data:|blob:)")
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: None if host.match(asked.url) else wrong.append(asked.url))
    return wrong


def violations(page):
    """Return what axe-core finds on a page, a line each."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['html']}" for one in found for node in one["nodes"]]


def signed_in(browser, server, **settings):
    """Return a browser of its own that has an operator's cookie."""
    context = browser.new_context(**{"locale": "en-US", **settings})
    assert context.request.post(f"{server.address}{API}/session", data={"secret": server.key}).ok
    return context


class Rater:
    """What the rating page does, without the page."""

    def __init__(self, server, url, **claims):
        self._server, self._path = server, url.rsplit("/", 1)[1]
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._open = urllib.request.build_opener(jar).open
        self.post("sitting", **claims)

    def post(self, what, **body):
        address = f"{self._server.address}{API}/rating/{self._path}/{what}"
        headers = {"Content-Type": "application/json", "Origin": self._server.address}
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)  # noqa: S310  # of ours
        with self._open(request) as answer:
            return json.load(answer)

    def rate(self, times, answer_to):
        """Rate up to so many arms; return how many there were."""
        for done in range(times):
            arms = self.post("next")["arms"]
            if not arms:
                return done
            rating = {"ticket": arms[0]["ticket"], "answer": answer_to(arms[0]), "seconds": 1.5}
            self.post("ratings", ratings=[rating])
        return times
