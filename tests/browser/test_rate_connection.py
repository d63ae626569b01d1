"""The rating page when the connection is lost, an answer is lost, the server is killed, or the page is loaded again."""

import re

import pytest
from playwright.sync_api import expect
from rating_page import PHONE, Tab, new_link, stored
from served import Process

pytestmark = pytest.mark.soak  # `make test` has the screens, and the rating page as most people use it

KEPT = re.compile("Your ratings are kept here and will be sent")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Process(tmp_path_factory.mktemp("rate") / "server.db") as one:
        yield one


@pytest.fixture
def context(browser):
    one = browser.new_context(**PHONE)
    yield one
    one.close()


def rate_all(tab, keys):
    """Rate by keys; return the arms."""
    return [tab.press(key) for key in keys]


def stored_once(server, name, arms):
    """Every rating is stored once, in the order in which it was given, and by one rater."""
    rows = stored(server, name)
    assert [row[0] for row in rows] == arms
    assert len(set(arms)) == len(arms)
    assert len({row[2] for row in rows}) == 1


def goes_on(server, tab, name, arms):
    """Start the server again: what was held is sent once, and so are the ratings after it."""
    server.start()
    tab.pass_time(60)
    tab.is_sent()
    stored_once(server, name, arms)
    arms = arms + rate_all(tab, "12")
    tab.send()
    stored_once(server, name, arms)


def test_a_connection_that_is_lost_for_ten_seconds_loses_and_doubles_nothing(server, context):
    tab = Tab(context, new_link(server, "offline"))
    arms = rate_all(tab, "12")
    tab.has_ahead()
    context.set_offline(offline=True)
    arms += rate_all(tab, "3")  # the one that was fetched ahead is shown
    arms += rate_all(tab, "1")
    tab.says("No connection")
    expect(tab.notice).to_have_text(re.compile("You are offline"))
    expect(tab.notice).to_have_text(KEPT)
    tab.check()
    for _ in range(10):
        tab.pass_time(1)
    expect(tab.page.locator("body[data-unsent='0']")).not_to_be_attached()
    context.set_offline(offline=False)
    tab.is_sent()
    stored_once(server, "offline", arms)
    expect(tab.notice).to_be_empty()
    arms += rate_all(tab, "23")
    tab.send()
    stored_once(server, "offline", arms)
    tab.check()


def test_undo_works_without_a_connection(server, context):
    tab = Tab(context, new_link(server, "undo"))
    tab.has_ahead()
    context.set_offline(offline=True)
    first = tab.press("1")
    tab.page.keyboard.press("u")
    expect(tab.text).to_have_text(first)
    tab.press("3")
    context.set_offline(offline=False)
    tab.send()
    assert [row[:2] for row in stored(server, "undo")] == [(first, "good")]


def test_a_server_that_is_killed_and_started_again_has_every_rating_once(server, context):
    tab = Tab(context, new_link(server, "killed"))
    arms = rate_all(tab, "123")
    tab.has_ahead()
    server.kill()
    arms += rate_all(tab, "1")
    expect(tab.notice).to_have_text(re.compile("The server does not answer"))
    expect(tab.notice).to_have_text(KEPT)
    tab.check()
    goes_on(server, tab, "killed", arms)


@pytest.mark.parametrize("what", ["ratings", "next", "skips", "sitting"])
def test_an_answer_that_is_lost_doubles_nothing(server, context, what):
    url = new_link(server, f"lost-{what}")
    lost = []

    def lose(route):
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().ok)  # the server has done it
        route.abort()

    context.route(f"**/{what}", lose)
    tab = Tab(context, url)
    if what == "skips":
        tab.press("s")
    if what in ("sitting", "next"):
        expect(tab.notice).not_to_be_empty()
        tab.pass_time(2)
    arms = rate_all(tab, "12")
    if what in ("ratings", "skips"):
        expect(tab.notice).not_to_be_empty()
        tab.pass_time(2)
    tab.send()
    assert lost == [True]
    stored_once(server, f"lost-{what}", arms)


def test_a_reload_goes_on_and_sends_what_was_held(server, context):
    tab = Tab(context, new_link(server, "reload"))
    arms = rate_all(tab, "12")
    shown = tab.shown()
    tab.page.reload()
    assert tab.shown() == shown
    tab.is_sent()
    stored_once(server, "reload", arms)
    arms += rate_all(tab, "3")
    tab.send()
    stored_once(server, "reload", arms)


def test_a_reload_without_a_server_says_so_and_goes_on_when_it_is_back(server, context):
    tab = Tab(context, new_link(server, "away"))
    arms = rate_all(tab, "12")
    tab.is_kept()
    tab.has_ahead()
    server.kill()
    arms += rate_all(tab, "3")
    tab.page.reload()
    tab.says("No connection")
    tab.check()
    goes_on(server, tab, "away", arms)


def test_a_page_that_is_left_sends_what_was_held(server, context):
    tab = Tab(context, new_link(server, "left"))
    tab.shown()
    context.route("**/next", lambda _: None)  # a call that is on its way does not keep it back
    arms = rate_all(tab, "1")
    tab.page.goto("about:blank")
    assert any(stored(server, "left") for _ in range(500))  # it arrives, though the page is gone
    stored_once(server, "left", arms)


def test_a_page_that_is_left_sends_a_skip_that_was_held(server, context):
    tab = Tab(context, new_link(server, "skipped"))
    tab.shown()
    context.route("**/next", lambda _: None)
    arm = tab.press("s")
    tab.page.goto("about:blank")

    def skipped():
        (rater,) = server.call("GET", "/studies/skipped/raters")["raters"] or [{"skipped": 0}]
        return rater["skipped"]

    assert any(skipped() for _ in range(500))
    assert server.call("GET", f"/studies/skipped/arm?label={arm.replace(' ', '+')}")["skipped"] == 1


def test_a_page_that_is_hidden_sends_what_was_held(server, context):
    tab = Tab(context, new_link(server, "hidden"))
    arms = rate_all(tab, "1")
    tab.page.evaluate("""() => {
        Object.defineProperty(document, "hidden", { value: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }""")
    tab.is_sent()
    stored_once(server, "hidden", arms)


def test_ratings_outlive_a_browser_that_crashes(server, context):
    url = new_link(server, "crash")
    tab = Tab(context, url)
    tab.has_ahead()
    context.set_offline(offline=True)
    arms = rate_all(tab, "12")
    tab.says("No connection")
    kept = context.storage_state()
    tab.page.close()
    context.set_offline(offline=False)
    again = context.browser.new_context(storage_state=kept)
    tab = Tab(again, url)
    expect(tab.page.get_by_role("button", name="Undo")).to_be_enabled()  # it is held again
    tab.pass_time(60)
    tab.is_sent()
    stored_once(server, "crash", arms)
    assert tab.shown() not in arms
    again.close()


def test_two_tabs_of_one_rater_do_not_show_the_same_arm(server, context):
    url = new_link(server, "tabs")
    first = Tab(context, url)
    arms = rate_all(first, "1")
    second = Tab(context, url)
    second.shown()
    first.says("Open in another tab")
    first.check()
    second.page.keyboard.press("u")  # what the other tab held
    expect(second.text).to_have_text(arms[0])
    arms = rate_all(second, "23")
    first.page.get_by_role("button", name="Rate here instead").click()
    second.says("Open in another tab")
    arms += rate_all(first, "1")
    first.send()
    stored_once(server, "tabs", arms)


@pytest.mark.parametrize(("status", "said"), [(429, "The server is busy"), (502, "The server does not answer")])
def test_a_server_that_is_busy_or_fails_is_waited_for(server, context, status, said):
    url = new_link(server, f"busy-{status}")
    busy = [True]

    def refuse(route):
        if busy:
            route.fulfill(status=status, headers={"Retry-After": "7"}, body="<h1>Busy</h1>")
        else:
            route.continue_()

    context.route("**/ratings", refuse)
    tab = Tab(context, url)
    arms = rate_all(tab, "1")
    tab.pass_time(5)
    expect(tab.notice).to_have_text(re.compile(said))
    expect(tab.notice).to_have_text(KEPT)
    busy.clear()
    tab.pass_time(8)
    tab.is_sent()
    stored_once(server, f"busy-{status}", arms)


def test_a_clock_that_is_set_back_does_not_hold_a_rating_for_longer(server, context):
    tab = Tab(context, new_link(server, "clock"))
    tab.shown()
    tab.page.evaluate("() => { window.now = Date.now; Date.now = () => window.now() + 3_600_000; }")
    arm = tab.press("1")
    tab.page.evaluate("() => { Date.now = window.now; dispatchEvent(new Event('online')); }")
    tab.send()
    stored_once(server, "clock", [arm])
