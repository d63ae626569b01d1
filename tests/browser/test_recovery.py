"""A study's page while things go wrong around it: it recovers by itself, or says what to do."""

import shutil

import pytest
from playwright.sync_api import expect
from served import API, Process, signed_in, watched

from boxthirding import open_study
from boxthirding.storage.opening import delete_study

pytestmark = pytest.mark.soak

SCALE = [{"label": "unfunny", "reward": 0}, {"label": "funny", "reward": 1}]
HOUR = 3_600_000  # milliseconds
AHEAD = "{{ const now = Date.now; Date.now = () => now() + {0}; }}"
LOADED = "Failed to load resource"  # what a browser says of an answer with a status of 400 and more


@pytest.fixture
def place(tmp_path):
    return tmp_path / "server.db"


@pytest.fixture
def server(place):
    with Process(place) as one:
        about = {"question": "How funny?", "scale": SCALE}
        one.call(
            "POST",
            "/studies",
            {"name": "captions", "arms": [f"caption {n}" for n in range(9)], "about": about, "policy": "b3"},
        )
        yield one


@pytest.fixture
def page(browser, server):
    context = signed_in(browser, server, viewport={"width": 1280, "height": 4000}, timezone_id="UTC")
    one = context.new_page()
    one.wrong = watched(one)
    with one.expect_response(f"**{API}/studies/captions/stream*"):
        one.goto(f"{server.address}/studies/captions")
    one.get_by_role("heading", name="captions", level=1).wait_for()
    yield one
    context.close()


def tell(server, times, reward=1.0):
    for _ in range(times):
        (ticket,) = server.call("POST", "/studies/captions/tickets", {"holder": "program"})["tickets"]
        server.call("POST", "/studies/captions/results", {"results": [{"ticket": ticket["id"], "reward": reward}]})


def test_what_another_process_writes_into_the_journal_is_shown(page, place):
    with open_study(str(place), "captions") as study:
        for _ in range(12):
            study.tell(study.ask(holder="a program with the file")[0], 1.0)
        expect(page.locator("#raters")).to_contain_text("a program with the file")
        expect(page.locator("#raters td[data-name='Ratings']").first).to_have_text("12")
        study.pause()
        expect(page.get_by_text("paused", exact=True)).to_be_visible()
    assert page.wrong == []


def test_a_study_that_another_process_deletes_is_said_to_be_gone(page, place):
    delete_study(str(place), "captions")
    banner = page.locator("#connection").get_by_role("alert")  # a section that is being read may complain beside it
    expect(banner).to_contain_text("This study was deleted", timeout=30_000)
    expect(banner).to_contain_text("the start page has the others")
    assert page.locator("#sections").get_attribute("inert") is not None
    assert [text for text in page.wrong if LOADED not in text] == []


def test_another_study_under_the_name_of_one_that_was_deleted_is_shown_afresh(page, server):
    tell(server, 9)
    expect(page.locator(".moves")).to_contain_text("Just now")
    server.call("DELETE", "/studies/captions")
    server.call("POST", "/studies", {"name": "captions", "arms": ["new"], "about": {"scale": SCALE}})
    expect(page.locator("#raters")).to_contain_text("No one has rated yet.")
    expect(page.locator(".moves")).to_be_empty()
    tell(server, 1)
    expect(page.locator("#answer .winner")).to_have_text("new")
    expect(page.locator("#raters td[data-name='Ratings']")).to_have_text("1")


@pytest.mark.parametrize("jump", [-24 * HOUR, -HOUR, 40 * 24 * HOUR], ids=["a day back", "an hour back", "ahead"])
def test_a_clock_that_jumps_stops_nothing_and_shows_no_time_that_cannot_be(page, server, jump):
    tell(server, 3)
    expect(page.locator("#raters")).to_contain_text("program")
    page.evaluate(f"() => {AHEAD.format(jump)}")
    tell(server, 4)
    expect(page.locator("#raters td[data-name='Ratings']").first).to_have_text("7")
    server.call("POST", "/studies/captions/pause")
    expect(page.get_by_text("paused", exact=True)).to_be_visible()
    assert not [
        text
        for text in page.locator("td[data-name='Made'], td[data-name='Last rating']").all_inner_texts()
        if text.startswith("in ")
    ]
    assert page.wrong == []


def test_a_browser_that_slept_for_an_hour_hears_what_it_missed(page, server):
    page.context.set_offline(True)
    tell(server, 6)
    with page.expect_request(f"**{API}/studies/captions/stream*"):
        page.evaluate(f"() => {AHEAD.format(HOUR)}")
        page.context.set_offline(False)
    expect(page.locator("#raters td[data-name='Ratings']").first).to_have_text("6")
    expect(page.locator("#connection")).to_be_hidden()


BACK_AND_FORTH = "--disable-back-forward-cache"  # what Playwright adds of itself


def test_a_page_that_is_come_back_to_by_the_back_button_goes_on(browser, server):
    with browser.browser_type.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox"], ignore_default_args=[BACK_AND_FORTH]
    ) as cached:
        page = signed_in(cached, server, viewport={"width": 1280, "height": 4000}).new_page()
        page.wrong = watched(page)
        with page.expect_response(f"**{API}/studies/captions/stream*"):
            page.goto(f"{server.address}/studies/captions")
        page.get_by_text("No one has rated yet.").wait_for()
        page.evaluate("window.kept = true")
        page.get_by_role("link", name="All studies").click()
        page.get_by_role("link", name="captions").wait_for()
        tell(server, 3)
        page.evaluate("history.back()")
        expect(page.locator("#raters td[data-name='Ratings']")).to_have_text("3")
        assert page.evaluate("window.kept")
        tell(server, 4)
        expect(page.locator("#raters td[data-name='Ratings']")).to_have_text("7")
        expect(page.locator("#connection")).to_be_hidden()
        assert page.wrong == []


SEEN = """(seen) => {
  Object.defineProperty(document, "hidden", { value: !seen, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_ten_tabs_of_one_browser_open_and_one_that_is_seen_again_hears_what_it_missed(page, server):
    for _ in range(9):  # a browser has six connections to a server that speaks HTTP/1.1
        page.context.pages[-1].evaluate(SEEN, False)
        another = page.context.new_page()
        another.goto(f"{server.address}/studies/captions")
        another.get_by_role("heading", name="captions", level=1).wait_for()
    tell(server, 6)
    expect(another.locator("#raters td[data-name='Ratings']").first).to_have_text("6")
    page.evaluate(SEEN, True)
    expect(page.locator("#raters td[data-name='Ratings']").first).to_have_text("6")
    expect(page.locator("#connection")).to_be_hidden()
    assert page.wrong == []
