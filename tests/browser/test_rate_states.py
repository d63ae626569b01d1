"""What the rating page says when there is nothing to rate or no way in, and that captions are text, never markup."""

import re

import pytest
from playwright.sync_api import expect
from rating_page import PHONE, Tab, new_link, stored
from served import Process, violations, watched

pytestmark = pytest.mark.soak  # `make test` has the screens, and the rating page as most people use it


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Process(tmp_path_factory.mktemp("rate") / "server.db") as one:
        yield one


@pytest.fixture
def context(browser):
    one = browser.new_context(**PHONE)
    yield one
    one.close()


HOSTILE = [
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'><b>bold</b> &amp; {{ 7 * 7 }} ${window.hacked = 3}",
    "</p></section></main><h1>out</h1>",
    "הוא יותר טיפוס של חתולים, באמת! \u202etxt.exe",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏿 é z̴̢̛͝a̵l̶g̷o̸",
    "word " * 1999 + "fin. ",
    "x" * 10_000,
    "two\nlines\tand   spaces",
    "javascript:window.hacked = 4",
    "\u200b",
]


def test_hostile_captions_are_shown_as_text(server, context):
    evil = "<script>window.hacked = 5</script><i>evil</i>"
    scale = [{"label": f"{evil} {reward}", "reward": reward} for reward in range(2)]
    about = dict.fromkeys(["question", "description", "instructions", "consent", "thanks"], evil)
    url = new_link(server, "hostile", arms=HOSTILE, scale=scale, sitting=len(HOSTILE), **about)
    tab = Tab(context, url)
    tab.says(evil)
    tab.check()
    tab.page.get_by_role("button", name="I agree, begin").click()
    seen = []
    for _ in HOSTILE:
        seen.append(tab.shown())
        tab.page.evaluate("scrollTo(0, document.body.scrollHeight)")
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360
        assert tab.page.locator("#arm :is(script, img, b, i, h1)").count() == 0
        tab.press("2")
    tab.page.get_by_role("button", name="Finish").click()
    tab.says("Done")
    assert sorted(seen) == sorted(HOSTILE)
    assert tab.page.evaluate("window.hacked") is None
    tab.check()
    assert len(stored(server, "hostile")) == len(HOSTILE)


@pytest.mark.parametrize(("caption", "direction"), [(HOSTILE[3], "rtl"), ("left to right", "ltr")])
def test_text_runs_in_its_own_direction(server, context, caption, direction):
    tab = Tab(context, new_link(server, direction, arms=[caption, caption + "!"]))
    tab.shown()
    assert tab.text.evaluate("text => getComputedStyle(text).direction") == direction


@pytest.mark.parametrize("width", [360, 1280, 2560])
def test_ten_thousand_characters_scroll_and_the_answers_stay_in_sight(server, browser, width):
    context = browser.new_context(viewport={"width": width, "height": 800})
    tab = Tab(context, new_link(server, f"long{width}", arms=["word " * 2000 + "1", "word " * 2000 + "2"]))
    tab.shown()
    height = tab.page.evaluate("document.documentElement.scrollHeight")
    assert height > 1000
    for place in (0, height // 2, height):
        tab.page.evaluate(f"scrollTo(0, {place})")
        for name in ("bad", "good", "Skip"):
            expect(tab.page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    tab.press("1")
    assert tab.page.evaluate("scrollY") == 0
    tab.check()
    context.close()


def test_a_link_that_is_unknown_is_answered_by_a_page_that_says_so(server, browser):
    page = browser.new_page()
    wrong = watched(page)
    reply = page.goto(f"{server.address}/rate/link_of_no_one")
    assert reply.status == 403
    expect(page.get_by_role("heading", name="This link does not work")).to_be_visible()
    expect(page.get_by_text("Ask the person who sent it for a new one.")).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []
    assert [said for said in wrong if "403" not in said] == []
    page.close()


def is_refused(tab, heading, detail):
    """The page says why it ends, and its console holds nothing but the server's refusal."""
    tab.says(heading)
    expect(tab.page.get_by_text(re.compile(detail))).to_be_visible()
    refused = [said for said in tab.wrong if "status of 403" in said]
    assert refused
    assert tab.wrong == refused
    tab.wrong.clear()
    tab.check()


@pytest.mark.parametrize("how", ["revoked", "deleted"])
def test_a_link_that_ends_meanwhile_says_so_and_that_a_rating_was_not_sent(server, context, how):
    tab = Tab(context, new_link(server, how))
    tab.shown()
    with tab.page.expect_response("**/next"):  # fetched ahead, while there is a study
        tab.press("1")
    if how == "revoked":
        (link,) = server.call("GET", f"/studies/{how}/links")["links"]
        server.call("DELETE", f"/studies/{how}/links/{link['id']}")
    else:
        server.call("DELETE", f"/studies/{how}")
    tab.pass_time(5)
    tab.says("This link does not work")
    expect(tab.page.get_by_text("What you rated last could not be sent.")).to_be_visible()
    is_refused(tab, "This link does not work", "unknown, has expired or was revoked")


def test_a_link_that_is_used_up_says_so(server, browser, context):
    url = new_link(server, "full", link={"raters": 1})
    Tab(context, url).shown()
    other = browser.new_context()
    is_refused(Tab(other, url), "This link is used up", "it is for one rater")
    other.close()


def test_a_browser_that_refuses_the_cookie_is_told_to_allow_it(server, context):
    def without_cookie(route):
        reply = route.fetch()
        headers = {name: value for name, value in reply.headers.items() if name != "set-cookie"}
        context.clear_cookies()
        route.fulfill(response=reply, headers=headers)

    context.route("**/sitting", without_cookie)
    is_refused(Tab(context, new_link(server, "cookie")), "A cookie is needed", "Allow cookies for this page")


def test_a_cookie_that_was_deleted_makes_another_rater_who_goes_on(server, context):
    tab = Tab(context, new_link(server, "no-cookie"))
    tab.press("1")
    tab.send()
    context.clear_cookies()
    tab.press("2")
    tab.pass_time(5)
    expect(tab.notice).to_have_text(re.compile("A rating was not taken: this browser has deleted the cookie"))
    tab.press("3")
    tab.send()
    assert len({row[2] for row in stored(server, "no-cookie")}) == 2


def test_a_study_that_is_paused_goes_on_by_itself(server, context):
    tab = Tab(context, new_link(server, "paused"))
    tab.shown()
    server.call("POST", "/studies/paused/pause")
    tab.press("1")
    tab.press("2")
    tab.send()
    tab.says("A short break")
    tab.check()
    server.call("POST", "/studies/paused/resume")
    tab.pass_time(10)
    tab.press("3")
    tab.send()
    assert [row[1] for row in stored(server, "paused")] == ["bad", "fair", "good"]


def test_a_study_that_is_finished_says_so(server, context):
    tab = Tab(context, new_link(server, "finished"))
    tab.press("1")
    tab.send()
    server.call("POST", "/studies/finished/finish")
    tab.press("2")
    tab.send()
    tab.says("Thank you")
    tab.page.get_by_text("This study is finished. You can close this page.").wait_for()
    expect(tab.notice).to_have_text("A rating was not taken: the study was finished before it arrived.")
    tab.check()
    assert [row[1] for row in stored(server, "finished")] == ["bad"]


def test_a_rater_who_has_rated_all_is_told_and_given_what_is_added(server, context):
    tab = Tab(context, new_link(server, "few", arms=["a", "b"]))
    tab.press("1")
    tab.press("2")
    tab.says("That was the last one for now")
    tab.page.get_by_role("button", name="Go on").click()
    tab.says("Nothing left to rate")
    tab.check()
    server.call("POST", "/studies/few/arms", {"arms": ["c"]})
    tab.page.get_by_role("button", name="Look again").click()
    assert tab.press("3") == "c"
    tab.send()
    assert [row[0] for row in stored(server, "few")][-1] == "c"


def test_a_scale_that_changes_meanwhile_is_shown_and_the_arm_again(server, context):
    tab = Tab(context, new_link(server, "rescaled"))
    first = tab.press("1")
    server.call("PATCH", "/studies/rescaled", {"scale": [{"label": "no", "reward": 0}, {"label": "yes", "reward": 1}]})
    tab.pass_time(5)
    expect(tab.notice).to_have_text(re.compile("A rating was not taken: the answer is 'bad'"))
    second = tab.click("yes")
    third = tab.click("no")
    tab.send()
    assert sorted(row[:2] for row in stored(server, "rescaled")) == sorted([(second, "yes"), (third, "no")])
    assert third == first


def test_a_study_without_a_scale_says_that_it_is_not_ready(server, context):
    tab = Tab(context, new_link(server, "no-scale", scale=[]))
    tab.says("Not ready yet")
    tab.check()
