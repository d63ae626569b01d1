"""Rating on the page: by touch, by keyboard, undo, skip, the sitting's end, who a rater is."""

import json

import pytest
from playwright.sync_api import expect
from rating_page import PHONE, SCALE, Tab, new_link, png, results, stored
from served import Process


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Process(tmp_path_factory.mktemp("rate") / "server.db") as one:
        yield one


@pytest.fixture
def tab(browser):
    """Return what opens a tab in a browser of its own."""
    contexts = []

    def opened(url, context=None, **settings):
        if context is None:
            context = browser.new_context(**settings)
            contexts.append(context)
        return Tab(context, url)

    yield opened
    for context in contexts:
        context.close()


def test_a_rater_rates_on_a_phone_by_touch(server, tab):
    one = tab(new_link(server, "touch"), **PHONE)
    rated = [(one.tap(answer), answer) for answer in ("good", "bad", "fair", "good")]
    one.check()
    one.send()
    assert [(arm, answer) for arm, answer, _ in stored(server, "touch")] == rated
    assert len({arm for arm, _ in rated}) == 4
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 360
    box = one.page.get_by_role("button", name="good").bounding_box()
    assert box["height"] >= 44
    assert box["y"] + box["height"] <= 740


def test_a_rater_rates_by_keyboard_alone(server, tab):
    one = tab(new_link(server, "keys"))
    rated = [(one.press(key), answer) for key, answer in (("1", "bad"), ("3", "good"), ("Numpad2", "fair"))]
    text = one.shown()
    assert one.page.evaluate("document.activeElement.textContent") == text  # a screen reader reads the new arm
    one.page.keyboard.press("Tab")
    assert one.page.evaluate("document.activeElement.textContent") == "1bad"
    one.page.keyboard.press("Tab")
    rated.append((one.press("Enter"), "fair"))
    one.send()
    assert [(arm, answer) for arm, answer, _ in stored(server, "keys")] == rated


def test_keys_are_shown_on_the_buttons_and_can_be_switched_off(server, tab):
    one = tab(new_link(server, "hints"))
    before = one.shown()
    shown = one.page.locator("button:visible kbd").all_text_contents()
    assert shown == ["1", "2", "3", "U", "S"]
    one.page.get_by_text("About this page").click()
    one.check()
    one.page.get_by_label("Answer with the keys").uncheck()
    one.pass_time(1)
    one.page.keyboard.press("1")
    one.page.keyboard.press("s")
    assert one.shown() == before


def test_the_second_tap_of_two_does_not_rate_the_next_arm(server, tab):
    one = tab(new_link(server, "twice"))
    one.click("good")
    after = one.shown()
    one.pass_time(0.2)
    one.page.keyboard.press("3")
    assert one.shown() == after
    one.press("3")


def test_undo_brings_the_arm_back_and_nothing_of_it_was_sent(server, tab):
    one = tab(new_link(server, "undo"))
    first = one.press("1")
    second = one.shown()
    one.page.keyboard.press("u")
    expect(one.text).to_have_text(first)
    expect(one.page.get_by_role("button", name="Undo")).to_be_disabled()
    one.pass_time(5)
    assert stored(server, "undo") == []
    assert one.click("good") == first
    assert one.shown() == second
    one.send()
    assert [row[:2] for row in stored(server, "undo")] == [(first, "good")]


def test_a_rating_is_sent_after_five_seconds_and_can_be_undone_until_then(server, tab):
    one = tab(new_link(server, "held"))
    first = one.press("3")
    button = one.page.get_by_role("button", name="Undo")
    one.pass_time(4.5)
    assert stored(server, "held") == []
    expect(button).to_be_enabled()
    one.pass_time(0.5)
    expect(button).to_be_disabled()
    one.is_sent()
    assert [row[:2] for row in stored(server, "held")] == [(first, "good")]


def test_the_seconds_until_an_answer_are_kept_and_go_on_after_undo(server, tab):
    one = tab(new_link(server, "seconds"))
    one.shown()
    one.pass_time(100)
    one.press("1")
    one.page.keyboard.press("u")
    one.pass_time(100)
    one.press("2")
    one.pass_time(1000)
    one.press("3")
    one.send()
    first, second = [float(row["seconds"]) for row in results(server, "seconds")]
    assert 200 < first < 300
    assert 1000 < second < 1100


def test_focus_is_not_lost_when_undo_is_no_longer_possible(server, tab):
    one = tab(new_link(server, "focus"))
    one.press("1")
    button = one.page.get_by_role("button", name="Undo")
    button.focus()
    one.pass_time(5)
    expect(button).to_be_disabled()
    expect(one.text).to_be_focused()


def test_a_skip_can_be_undone_and_then_goes_to_others(server, tab):
    one = tab(new_link(server, "skip"))
    first = one.press("s")
    one.page.get_by_role("button", name="Undo").click()
    expect(one.text).to_have_text(first)
    one.click("Skip")
    with one.page.expect_response("**/skips"):
        one.pass_time(5)
    assert server.call("GET", f"/studies/skip/arm?label={first.replace(' ', '%20')}")["skipped"] == 1
    assert stored(server, "skip") == []
    assert one.shown() != first


def test_one_arm_is_fetched_ahead_and_no_more(server, tab):
    one = tab(new_link(server, "ahead"))
    asked = []
    one.page.on("request", lambda request: request.method == "POST" and asked.append(request.url.rsplit("/", 1)[1]))
    one.shown()
    assert server.call("GET", "/studies/ahead")["open"] == 2
    asked.clear()
    with one.page.expect_response("**/next"):
        one.press("1")  # shown at once, and the next one is fetched
    assert server.call("GET", "/studies/ahead")["open"] == 3  # one of them is held here
    with one.page.expect_response("**/ratings"):
        one.press("2")
    assert server.call("GET", "/studies/ahead")["open"] == 3
    assert asked == ["next", "ratings"]


def test_two_raters_at_once_and_no_arm_twice_for_either(server, tab):
    url = new_link(server, "two", arms=6)
    raters = [tab(url), tab(url)]
    seen = [[], []]
    for key in ("1", "2", "3", "1"):
        for rater, arms in zip(raters, seen, strict=True):
            arms.append(rater.press(key))
    for rater in raters:
        rater.send()
    rows = stored(server, "two")
    assert len(rows) == 8
    names = list(dict.fromkeys(row[2] for row in rows))
    assert sorted([arm for arm, _, rater in rows if rater == name] for name in names) == sorted(seen)
    assert [len(set(arms)) for arms in seen] == [4, 4]


def test_a_sitting_ends_with_thanks_and_the_way_back(server, tab):
    about = {"sitting": 3, "thanks": "The winner is told on Friday.", "completion": "https://example.org/done?cc=1"}
    url = new_link(server, "sitting", **about)
    one = tab(url)
    one.shown()
    for place in ("1 of 3", "2 of 3", "3 of 3"):
        expect(one.count).to_have_text(place)
        one.press("3")
    one.says("That was the last one")
    one.page.keyboard.press("u")
    expect(one.count).to_have_text("3 of 3")
    one.press("2")
    one.page.get_by_role("button", name="Finish").click()
    one.says("Done")
    one.check()
    expect(one.page.get_by_text("The winner is told on Friday.")).to_be_visible()
    back = one.page.get_by_role("link", name="Complete")
    assert back.get_attribute("href") == "https://example.org/done?cc=1"
    assert [row[1] for row in stored(server, "sitting")] == ["good", "good", "fair"]
    one.page.reload()
    one.says("Done")


def test_the_last_rating_is_sent_by_itself(server, tab):
    one = tab(new_link(server, "last", sitting=1))
    one.press("1")
    one.says("That was the last one")
    one.check()
    one.send()
    one.says("Done")
    assert len(stored(server, "last")) == 1


def test_instructions_and_consent_come_first_and_no_arm_before(server, tab):
    texts = {"instructions": "Read it twice.\n\nThen rate it.", "consent": "We keep your ratings."}
    one = tab(new_link(server, "consent", **texts))
    one.page.get_by_text("We keep your ratings.").wait_for()
    one.check()
    one.page.keyboard.press("1")
    assert server.call("GET", "/studies/consent")["open"] == 0
    one.page.get_by_role("button", name="I agree, begin").click()
    first = one.shown()
    one.page.reload()
    assert one.shown() == first  # agreed is agreed
    server.call("PATCH", "/studies/consent", {"consent": "We keep more."})
    one.page.reload()
    one.page.get_by_text("We keep more.").wait_for()


PROLIFIC = "?PROLIFIC_PID=5f0c&STUDY_ID=s1&SESSION_ID=z9"


def test_prolifics_ids_are_kept_and_another_browser_goes_on_and_reads_nothing(server, tab):
    url = new_link(server, "prolific", sitting=4) + PROLIFIC
    one = tab(url)
    first = one.press("1")
    one.send()
    second = tab(url)
    assert second.shown() not in (first, one.shown())
    expect(second.count).to_be_hidden()  # how far the other one is
    rated = [second.press("2"), second.press("2")]
    assert len({first, one.shown(), *rated}) == 4
    second.send()
    assert server.call("GET", "/studies/prolific")["open"] == 4  # each has the one that is shown, and the next
    third = one.press("3")
    one.send()
    one.says("Done")
    assert [row[0] for row in stored(server, "prolific")] == [first, *rated, third]
    (rater,) = server.call("GET", "/studies/prolific/raters")["raters"]
    assert rater["claims"] == {"id": "5f0c", "study_id": "s1", "session_id": "z9"}


def test_the_next_person_at_the_same_browser_is_another_rater(server, tab):
    url = new_link(server, "shared")
    one = tab(url + "?PROLIFIC_PID=ann")
    one.press("1")
    two = tab(url + "?PROLIFIC_PID=bob", context=one.context)
    two.press("2")
    for rater in (one, two, one):  # both tabs are open, and neither takes the other's cookie
        rater.send()
        rater.press("3")
        rater.send()
        expect(rater.notice).to_be_empty()
    raters = server.call("GET", "/studies/shared/raters")["raters"]
    assert {rater["claims"]["id"]: rater["told"] for rater in raters} == {"ann": 3, "bob": 2}
    assert sorted(row[1] for row in stored(server, "shared")) == ["bad", "fair", "good", "good", "good"]


def test_a_signed_id_comes_with_the_address(server, tab):
    url = new_link(server, "signed", link={"signed": True})
    (link,) = server.call("GET", "/studies/signed/links")["links"]
    path = f"/studies/signed/links/{link['id']}/signatures"
    (signed,) = server.call("POST", path, {"ids": ["ann"]})["signatures"]
    assert tab(f"{url}?id=ann&signature={signed['signature']}").shown().startswith("caption")
    tab(f"{url}?id=bob&signature={signed['signature']}").says("This does not work")


def test_an_answer_that_came_second_from_another_browser_is_said_not_to_count(server, tab):
    url = new_link(server, "first-counts", link={"signed": True})
    (link,) = server.call("GET", "/studies/first-counts/links")["links"]
    body = {"ids": ["ann"]}
    (signed,) = server.call("POST", f"/studies/first-counts/links/{link['id']}/signatures", body)["signatures"]
    phone, desk = (tab(f"{url}?id=ann&signature={signed['signature']}") for _ in range(2))
    assert phone.shown() == desk.shown()
    phone.click("good")
    phone.send()
    desk.click("bad")
    desk.pass_time(5)
    expect(desk.notice).to_contain_text("A rating was not taken: it was rated before with another answer")
    assert [answer for _, answer, _ in stored(server, "first-counts")] == ["good"]


def test_pictures_of_the_study_and_of_its_arms_are_shown(server, tab):
    one_pixel = bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
        "0000000049454e44ae426082"
    )
    picture = json.loads(server.fetch("POST", "/pictures", one_pixel))["id"]
    arms = [{"label": f"a{number}", "text": f"logo {number}", "picture": picture} for number in range(3)]
    one = tab(new_link(server, "pictures", arms=arms, picture=picture))
    assert one.shown().startswith("logo")
    for name in ("The picture that the question is about", "The picture to rate"):
        image = one.page.get_by_role("img", name=name)
        expect(image).to_be_visible()
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    one.check()


def test_a_short_caption_below_a_picture_is_seen_whole_on_a_small_phone(server, tab):
    picture = json.loads(server.fetch("POST", "/pictures", png(630, 420)))["id"]
    about = {"picture": picture, "sitting": 7, "scale": [{**SCALE[0], "label": "somewhat funny"}, *SCALE[1:]]}
    arms = [f"A caption about a lift, number {number:02}: wrong floor." for number in range(9)]
    one = tab(new_link(server, "small", arms, **about), viewport={"width": 360, "height": 640}, has_touch=True)
    one.shown()
    one.page.wait_for_function("() => document.querySelector('.arm-study-picture').naturalWidth > 0")
    text, panel = (one.page.locator(part).bounding_box() for part in (".arm-text", ".arm-panel"))
    assert text["y"] + text["height"] <= panel["y"]
    expect(one.page.locator("body.covers")).to_have_count(0)
    one.tap("somewhat funny")
    said = one.page.locator("#last")
    expect(said).to_have_text("Rated: somewhat funny")
    assert said.evaluate("said => said.scrollHeight <= said.clientHeight && said.scrollWidth <= said.clientWidth")


def test_text_that_goes_on_below_the_answers_fades_out(server, tab):
    arms = ["which is long " * 25 + str(number) for number in range(9)]
    one = tab(new_link(server, "fade", arms), viewport={"width": 360, "height": 480})
    one.shown()
    expect(one.page.locator("body.covers")).to_have_count(1)
    one.page.mouse.wheel(0, 5000)
    expect(one.page.locator("body.covers")).to_have_count(0)


@pytest.mark.parametrize("count", [2, 9])
def test_two_to_nine_answers_fit_on_a_phone(server, tab, count):
    scale = [{"label": f"answer {number}", "reward": number} for number in range(1, count + 1)]
    one = tab(new_link(server, f"scale{count}", scale=scale), **PHONE)
    one.shown()
    buttons = one.page.locator(".arm-answer")
    assert buttons.count() == count
    boxes = [buttons.nth(place).bounding_box() for place in range(count)]
    assert all(box["height"] >= 44 and box["x"] >= 0 and box["x"] + box["width"] <= 360 for box in boxes)
    assert boxes[-1]["y"] + boxes[-1]["height"] <= 740
    one.press(str(count))
    one.send()
    assert [row[1] for row in stored(server, f"scale{count}")] == [f"answer {count}"]
