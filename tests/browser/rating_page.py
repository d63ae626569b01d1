"""The rating page in a browser, as a rater uses it, and what the server has stored of it."""

import csv
import io
import re
import struct
import time
import zlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Error, expect
from served import violations, watched

SCALE = [{"label": label, "reward": reward} for label, reward in (("bad", 0), ("fair", 0.5), ("good", 1))]
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
LOST = re.compile(r"^Failed to load resource: net::ERR_")


def new_link(server, name, arms=30, link=None, **about):
    """Make a study, and return its rating link's address."""
    labels = [f"caption {number}" for number in range(arms)] if isinstance(arms, int) else arms
    about = {"question": "How good is it?", "scale": SCALE, **about}
    server.call("POST", "/studies", {"name": name, "arms": labels, "policy": "us", "about": about})
    return server.call("POST", f"/studies/{name}/links", link or {})["url"]


def png(width, height):
    """Return a grey picture of a size."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\x80" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def stored(server, name):
    """Return the results of a study as (arm, answer, rater), in their order."""
    return [(row["arm"], row["answer"], row["rater"]) for row in results(server, name)]


def results(server, name):
    """Return the results of a study by column, in their order."""
    text = server.fetch("GET", f"/studies/{name}/results.csv").decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


class Tab:
    """A rater's tab, whose clock stands still but for the time that a test lets pass."""

    def __init__(self, context, url):
        self.context = context
        self.page = context.new_page()
        self.wrong = watched(self.page)
        self.page.clock.install(time=NOON)
        self.page.clock.pause_at(NOON + timedelta(seconds=1))
        self.page.add_init_script("AbortSignal.timeout = () => new AbortController().signal")  # calls take no time here
        self.page.goto(url)
        self.text = self.page.locator(".arm-text")
        self.notice = self.page.locator("#notice")
        self.count = self.page.locator("#count")

    def pause(self):
        """Let the clock stand still again, a second from now, or later on a busy machine: it cannot go back."""
        for seconds in (1, 5, 30):
            now = datetime.fromtimestamp(self.page.evaluate("Date.now()") / 1000, UTC)
            with suppress(Error):
                self.page.clock.pause_at(now + timedelta(seconds=seconds))
                return
        raise AssertionError("the clock was never paused in time")

    def pass_time(self, seconds):
        """Let time pass, and a millisecond more: what is due at once when it was set on the way would wait for ever."""
        self.page.clock.fast_forward(round(seconds * 1000))
        self.page.clock.fast_forward(1)

    def shown(self):
        """Return the text of the arm that is shown, once one is."""
        expect(self.text).to_be_visible()
        return self.text.text_content()

    def has_ahead(self):
        """Wait until the page has the arm that is shown and the one after it: so far it gets without a server."""
        count = """() => Math.max(0, ...Object.entries(localStorage)
            .filter(([key]) => /^boxthirding-rater-/.test(key) && !/-tab$/.test(key))
            .map(([, kept]) => JSON.parse(kept).arms.length))"""
        ends = time.monotonic() + 60
        while self.page.evaluate(count) < 2:
            assert time.monotonic() < ends, "the next arm never came"
        self.shown()

    def decide(self, act):
        """Do something that decides the arm that is shown; return its text."""
        text = self.shown()
        ticket = self.page.locator("#arm").get_attribute("data-ticket")
        self.pass_time(0.4)  # a new arm takes no answer at once
        act()
        expect(self.page.locator(f"#arm[data-ticket='{ticket}']")).to_be_hidden()
        return text

    def click(self, label):
        return self.decide(lambda: self.page.get_by_role("button", name=label, exact=True).click())

    def tap(self, label):
        return self.decide(lambda: self.page.get_by_role("button", name=label, exact=True).tap())

    def press(self, key):
        return self.decide(lambda: self.page.keyboard.press(key))

    def is_kept(self):
        """The page and its files are in the browser, so that it can be loaded again without a server."""
        self.page.evaluate("navigator.serviceWorker.ready.then(() => null)")
        look = "caches.open('boxthirding-rate').then((kept) => kept.match(location.href)).then(Boolean)"
        for _ in range(10_000):
            if self.page.evaluate(look):
                return
        raise AssertionError("the page is not kept")

    def send(self):
        """Let the held rating be sent, and wait until all are."""
        self.pass_time(5)
        self.is_sent()

    def is_sent(self):
        """Wait until the server has acknowledged every rating."""
        expect(self.page.locator("body[data-unsent='0']")).to_be_attached()

    def says(self, heading):
        """Wait for a message."""
        expect(self.page.get_by_role("heading", name=heading, exact=True)).to_be_visible()

    def check(self):
        """No violation, light or dark, and nothing wrong in the console but for a lost connection. Time passes."""
        self.page.clock.resume()  # axe waits
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # no colour between two
            found = violations(self.page)
            assert not found, found
        self.pause()
        wrong = [said for said in self.wrong if not LOST.match(said)]
        assert not wrong, wrong
