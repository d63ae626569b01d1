"""The live parts of a study's page: boxes or ladder move, the answer changes, the curves grow."""

import base64
import random
import re
import urllib.parse

import pytest
from playwright.sync_api import expect
from served import API, Process, violations, watched

pytestmark = pytest.mark.soak  # `make test` has the screens, and the rating page as most people use it

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WIDTHS = (360, 1280, 2560)
LARGEST = 300_000  # bytes of a reply
COUNT_MOVES = """() => {
  window.moves = 0;
  const animate = Element.prototype.animate;
  Element.prototype.animate = function (...given) { window.moves += 1; return animate.apply(this, given); };
}"""


class Contest:
    """A study on a server, and what tells its results."""

    def __init__(self, server, name="captions", arms=60, **settings):
        self.server, self.path, self.draws = server, f"/studies/{name}", random.Random(1)
        if isinstance(arms, int):
            self.worth = {f"Caption {number}": number / arms for number in range(arms)}
            arms = list(self.worth)
        about = {"question": "How funny?"}  # without a scale, as programs tell any number
        body = {"name": name, "arms": arms, "about": about, "seed": 3, **settings}
        server.call("POST", "/studies", body)

    def tell(self, times, worth=None, *, noise=0.0, batch=8):
        """Let some results come in, each the worth of its arm and some noise."""
        worth = self.worth if worth is None else worth
        while times > 0:
            body = {"n": min(times, batch), "holder": "bob"}
            asked = self.server.call("POST", f"{self.path}/tickets", body)["tickets"]
            assert asked
            rewards = [worth[one["label"]] + self.draws.gauss(0, noise) for one in asked]
            results = [{"ticket": one["id"], "reward": reward} for one, reward in zip(asked, rewards, strict=True)]
            self.server.call("POST", f"{self.path}/results", {"results": results, "together": True})
            times -= len(asked)

    def get(self, what=""):
        return self.server.call("GET", f"{self.path}{what}")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Process(tmp_path_factory.mktemp("live") / "server.db") as one:
        yield one


@pytest.fixture(scope="module")
def rated(server):
    """Return a study that has come some way, and is left as it is."""
    contest = Contest(server, "rated", arms=300, policy="b3")
    contest.tell(1000)
    return contest


@pytest.fixture(scope="module")
def chased(server):
    """Return one whose policy has no boxes."""
    contest = Contest(server, "chased", arms=1000, policy="chase")
    contest.tell(700, noise=0.3)
    return contest


@pytest.fixture
def visit(browser, server):
    """Return what opens a study as an operator sees it."""
    contexts = []

    def opened(contest, *, without=None, **settings):
        context = browser.new_context(locale="en-US", **settings)
        contexts.append(context)
        assert context.request.post(f"{server.address}{API}/session", data={"secret": server.key}).ok
        page = context.new_page()
        page.wrong = watched(page)
        if without is not None:  # what never arrives
            page.route(without, lambda _: None)
        page.goto(f"{server.address}{contest.path}")
        page.locator("#answer h2").wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()


FOCUSED_IS = "which => document.activeElement.matches(which)"


def press(page, button):
    """Hold the mouse down on a button."""
    button.scroll_into_view_if_needed()
    button.hover()
    page.mouse.down()


def expect_redrawn(page, contest, times, **how):
    """Let results come in, and wait until the boxes or the ladder show them."""
    contest.tell(times, **how)
    expect(page.locator(".board")).to_have_attribute("data-seq", str(contest.get("/grid")["seq"]))


def sizes(page):
    """Return the bytes of every reply that a page has read."""
    read = "() => performance.getEntriesByType('resource').map(one => [one.name, one.decodedBodySize])"
    return [size for name, size in page.evaluate(read) if API in name]


class TestBoxes:
    def test_the_grid_moves_when_a_rating_arrives(self, server, visit):
        contest = Contest(server, "moving", arms=300, policy="b3")
        contest.tell(80)
        page = visit(contest)
        page.locator(".arm").first.wait_for()
        page.evaluate(COUNT_MOVES)
        pool = page.locator("[data-pool]").inner_text()
        before = {one["level"]: one["pile"] for one in contest.get("/grid")["levels"]}
        contest.tell(24)
        expect(page.locator("[data-pool]")).not_to_have_text(pool)
        expect(page.locator(".moves")).to_have_text(re.compile("^Just now: “Caption"))
        after = {one["level"]: one["pile"] for one in contest.get("/grid")["levels"]}
        assert after != before
        for level, pile in after.items():
            expect(page.locator(f"[data-pile='{level}'] .amount")).to_have_text(str(pile))
        assert page.evaluate("window.moves") > 0
        assert page.wrong == []

    def test_nothing_travels_where_less_motion_is_wanted(self, server, visit):
        contest = Contest(server, "calm", arms=300, policy="b3")
        contest.tell(80)
        page = visit(contest, reduced_motion="reduce")
        page.locator(".arm").first.wait_for()
        page.evaluate(COUNT_MOVES)
        contest.tell(24)
        expect(page.locator(".moves")).to_have_text(re.compile("^Just now"))
        assert page.evaluate("window.moves") == 0

    def test_it_shows_what_the_library_has(self, rated, visit):
        page = visit(rated)
        page.locator(".arm").first.wait_for()
        grid = rated.get("/grid")
        assert [one["upper"] for one in grid["levels"]][:5] == [True] * 4 + [False]
        for level in grid["levels"]:
            row = page.locator(f"[data-row='{level['level']}']")
            assert row.locator(".pile .amount").inner_text() == (str(level["pile"]) if level["pile"] else "")
            for box in level["boxes"]:
                cell = row.locator(f"[data-box='{level['level']}-{box['deferment']}']")
                assert cell.locator(".arm").count() == len(box["arms"])
                if not level["open"]:
                    assert cell.locator(".amount").inner_text().startswith(str(box["size"]))
        assert page.locator(".arm.is-answer").first.get_attribute("aria-label").endswith("the answer now")
        assert "better" in page.locator(".legend").get_attribute("aria-label")

    def test_a_lower_level_opens(self, rated, visit):
        page = visit(rated)
        level = next(one for one in rated.get("/grid")["levels"] if not one["upper"])
        button = page.get_by_role("button", name=re.compile(f"^Level {level['level']} "))
        expect(button).to_have_attribute("aria-expanded", "false")
        row = page.locator(f"[data-row='{level['level']}']")
        assert row.locator(".arm").count() == 0
        button.click()
        expect(button).to_have_attribute("aria-expanded", "true")
        assert row.locator(".arm").count() == sum(min(6, box["size"]) for box in level["boxes"])
        button.click()
        expect(button).to_have_attribute("aria-expanded", "false")

    def test_a_pile_is_listed_by_pages(self, rated, visit):
        page = visit(rated)
        level = rated.get("/grid")["levels"][-1]
        assert level["pile"] > 50
        page.locator(f"[data-pile='{level['level']}']").click()
        members = page.locator("dialog .members li")
        expect(members).to_have_count(50)
        page.get_by_role("button", name="Show more").click()
        expect(members).to_have_count(min(100, level["pile"]))
        assert violations(page) == []

    def test_an_arm_says_what_it_is_to_pointer_and_keyboard(self, rated, visit):
        page = visit(rated)
        first, second = page.locator(".arm").nth(0), page.locator(".arm").nth(1)
        first.hover()
        tip = page.get_by_role("tooltip")
        expect(tip).to_contain_text(first.locator(".words").inner_text())
        page.keyboard.press("Escape")
        expect(tip).to_be_hidden()
        first.focus()
        page.keyboard.press("ArrowRight")
        expect(second).to_be_focused()
        expect(tip).to_contain_text("rating")
        assert page.locator(".arm[tabindex='0']").count() == 1

    def test_the_focus_and_what_an_arm_says_stay_as_ratings_come_in(self, server, visit):
        contest = Contest(server, "focused", arms=300, policy="b3")
        contest.tell(200)
        page = visit(contest)
        page.locator(".arm").first.focus()
        place = page.evaluate("document.activeElement.dataset.place")
        tip = page.get_by_role("tooltip")
        for _ in range(3):
            expect_redrawn(page, contest, 16)
            assert page.evaluate("document.activeElement.dataset.place") == place
            arm = page.locator(f'[data-place="{place}"]')
            said = arm.get_attribute("aria-label").removesuffix(", the answer now").rsplit(", ", 1)[1]
            expect(tip).to_contain_text(said)

    @pytest.mark.parametrize("which", [".pile:enabled", "[data-level]"])
    def test_a_button_that_is_held_down_while_a_rating_arrives_acts(self, server, visit, which):
        contest = Contest(server, f"held-{which[1:5]}", arms=300, policy="b3:reuse=topup")
        contest.tell(1000)
        page = visit(contest)
        button = page.locator(f"#boxes {which}").last
        press(page, button)
        expect_redrawn(page, contest, 24)
        assert page.evaluate(FOCUSED_IS, which)
        page.mouse.up()
        if which == "[data-level]":
            expect(button).to_have_attribute("aria-expanded", "true")
        else:
            page.locator("dialog .members li").first.wait_for()

    def test_a_level_that_was_opened_stays_where_it_is_on_the_screen(self, server, visit):
        contest = Contest(server, "opened", arms=300, policy="b3")
        contest.tell(600)
        page = visit(contest, viewport={"width": 360, "height": 740}, reduced_motion="reduce")
        button = page.locator("[data-level='0']")
        button.scroll_into_view_if_needed()
        button.click()
        expect(button).to_have_attribute("aria-expanded", "true")
        top = button.bounding_box()["y"]
        for _ in range(4):
            expect_redrawn(page, contest, 24)
            assert button.bounding_box()["y"] == pytest.approx(top, abs=40)

    def test_withdrawn_arms_neither_wait_nor_count_as_tried(self, server, visit):
        contest = Contest(server, "withdrawn", arms=6, policy="b3")
        contest.tell(3)
        for arm in contest.get("/arms?brief=true")["arms"][:2]:
            server.call("DELETE", f"{contest.path}/arm?key={urllib.parse.quote(arm['key'])}")
        page = visit(contest)
        expect(page.locator("[data-pool]")).to_have_text("Waiting outside: 3 of 4 arms, not tried yet.")
        page.goto(server.address)
        row = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="withdrawn"))
        expect(row.locator(".facts")).to_contain_text("1 of 4")

    def test_a_policy_that_counts_afresh_at_each_level_says_so(self, server, visit):
        contest = Contest(server, "afresh", arms=12, policy="b3")
        page = visit(contest)
        page.get_by_text("The number on a card is the mean of the ratings at its level").wait_for()

    def test_known_results_are_no_boxes_and_no_ladder(self, server, visit):
        contest = Contest(server, "known", arms=4, policy="b3", known=[{"label": "Caption 1", "reward": 1}])
        page = visit(contest)
        page.get_by_text("The first ratings put arms into the boxes.").wait_for()
        assert page.get_by_role("heading", name="The ladder").count() == 0


class TestLadder:
    """What a policy without boxes shows."""

    def test_it_shows_what_the_library_has(self, chased, visit):
        page = visit(chased)
        page.locator(".rung .arm").first.wait_for()
        ladder = chased.get("/grid")["ladder"]
        assert len(ladder) > 4
        assert page.locator(".rung").count() == len(ladder)
        for place, rung in enumerate(ladder):
            row = page.locator(f"[data-rung='{rung['fewest']}']")
            assert row.get_attribute("data-rung") == page.locator(".rung").nth(place).get_attribute("data-rung")
            assert row.locator(".arm").count() == len(rung["arms"])
            words = row.locator(".rung-size").inner_text()
            assert words.startswith(f"{rung['size']} arm" if rung["size"] else "no arm")
            assert ("the leader" in words) == any(arm["standing"] == "leads" for arm in rung["arms"])
            assert row.locator(".keeps-up").count() == sum(arm["standing"] == "keeps up" for arm in rung["arms"])
            assert ("keep" in words) == (rung["keep_up"] > 0)
        assert page.locator(".arm.is-answer").count() == 1
        assert page.get_by_role("link", name="Ladder").get_attribute("href") == "#boxes"
        for part in ("#answer", "#boxes"):
            assert "level" not in page.locator(part).inner_text().lower()
        assert page.wrong == []

    def test_arms_that_keep_up_are_said_to(self, server, visit):
        contest = Contest(server, "keeping-up", arms=300, policy="chase")
        contest.tell(60, dict.fromkeys(contest.worth, 0.2), noise=0.1)
        page = visit(contest)
        page.locator(".rung .arm").first.wait_for()
        contest.tell(40, dict.fromkeys(contest.worth, 0.6), batch=40)
        lowest = page.locator("[data-rung='1']")
        expect(lowest.locator(".standing")).to_contain_text("keep up")
        first = lowest.locator(".arm").first
        expect(first).to_have_attribute("aria-label", re.compile("keeps up with the leader$"))
        expect(first.locator(".value")).to_have_text(re.compile("^▲ "))
        lowest.locator(".rung-size").click()
        listed = page.locator("dialog .members li").filter(has_text="keeps up with the leader")
        expect(listed).to_have_count(contest.get("/grid")["ladder"][-1]["keep_up"])

    def test_nothing_is_said_of_boxes_before_it_is_known_that_there_are_any(self, chased, visit):
        page = visit(chased, without="**/grid*")
        expect(page.get_by_role("heading", name="The ladder")).to_be_visible()
        assert page.get_by_role("link", name="Ladder").get_attribute("href") == "#boxes"
        assert "box" not in page.locator("#boxes").inner_text().lower()

    def test_arms_climb_as_ratings_come_in_and_rungs_stay_where_they_are(self, server, visit):
        contest = Contest(server, "climbing", arms=300, policy="chase")
        contest.tell(400, noise=0.2)
        page = visit(contest, viewport={"width": 360, "height": 740}, reduced_motion="reduce")
        lowest = page.locator("[data-rung='1']")
        lowest.scroll_into_view_if_needed()
        top, height = lowest.bounding_box()["y"], lowest.bounding_box()["height"]
        for _ in range(4):
            expect_redrawn(page, contest, 24, noise=0.2)
            assert lowest.bounding_box()["height"] == height
            assert lowest.bounding_box()["y"] == pytest.approx(top, abs=40)
        expect(page.locator(".moves")).to_have_text(re.compile("has climbed to|leads now"))

    def test_a_narrow_screen_shows_the_best_arm_of_each_rung_in_full(self, server, visit):
        arms = {f"The {k}th caption says that it would rather stay on the list for a while": k / 60 for k in range(60)}
        contest = Contest(server, "narrow", list(arms), policy="chase")
        contest.tell(300, arms, noise=0.3)
        page = visit(contest, viewport={"width": 360, "height": 740}, reduced_motion="reduce")
        page.locator(".rung .arm").first.wait_for()
        best = [rung["arms"][0]["text"] for rung in contest.get("/grid")["ladder"] if rung["size"]]
        shown = page.locator(".rung .whole:visible")
        assert shown.all_inner_texts() == best
        cut = (
            "all => all.filter(one => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight).length"
        )
        assert page.locator(".rung .arm:visible, .rung .whole:visible").evaluate_all(cut) == 0
        assert contest.get("/grid")["ladder"][-1]["size"] > 1
        page.locator(".rung .arm:visible").last.focus()
        page.keyboard.press("ArrowUp")  # past the arms that a narrow screen hides
        assert best[-2] in page.evaluate("document.activeElement.ariaLabel")
        page.keyboard.press("ArrowDown")
        assert best[-1] in page.evaluate("document.activeElement.ariaLabel")

    def test_a_rung_is_listed_by_pages(self, chased, visit):
        page = visit(chased)
        rung = chased.get("/grid")["ladder"][-1]
        assert rung["size"] > 50
        page.locator("[data-rung='1'] .rung-size").click()
        members = page.locator("dialog .members li")
        expect(members).to_have_count(50)
        page.get_by_role("button", name="Show more").click()
        expect(members).to_have_count(min(100, rung["size"]))
        assert violations(page) == []

    def test_a_number_that_is_held_down_while_a_rating_arrives_lists_the_rung(self, server, visit):
        contest = Contest(server, "held-rung", arms=300, policy="chase")
        contest.tell(300, noise=0.2)
        page = visit(contest)
        press(page, page.locator(".rung-size:enabled").last)
        expect_redrawn(page, contest, 24, noise=0.2)
        page.mouse.up()
        page.locator("dialog .members li").first.wait_for()

    def test_other_policies_have_it_without_arms_that_keep_up(self, server, visit):
        contest = Contest(server, "plain", arms=12, policy="us")
        page = visit(contest)
        page.get_by_text("The first ratings put arms on the ladder.").wait_for()
        contest.tell(40)
        page.locator(".rung .arm").first.wait_for()
        page.get_by_text("The higher an arm stands, the more ratings it has.").wait_for()
        assert page.get_by_text("keep").count() == 0
        assert page.wrong == []

    @pytest.mark.parametrize("theme", ["light", "dark"])
    @pytest.mark.parametrize("width", WIDTHS)
    def test_nothing_is_wrong_at_any_width_in_either_theme(self, chased, visit, width, theme):
        page = visit(chased, viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce")
        page.locator(".rung .arm").first.wait_for()
        assert (page.wrong, violations(page)) == ([], [])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


class TestAnswer:
    def test_it_changes_as_ratings_come_in(self, server, visit):
        contest = Contest(server, "changing", arms=6)
        page = visit(contest)
        expect(page.locator("#answer")).to_contain_text("There is no answer before the first rating")
        contest.tell(60)
        winner = page.locator("#answer .winner")
        expect(winner).to_have_text("Caption 5")
        expect(page.locator("#answer .ranking tbody tr")).to_have_count(6)
        turned = {label: 1 - worth for label, worth in contest.worth.items()}
        while contest.get("/answer")["answer"]["text"] == "Caption 5":
            contest.tell(40, turned)
        answer = contest.get("/answer")["answer"]
        expect(winner).to_have_text(answer["text"])
        expect(page.locator("#answer .facts")).to_contain_text("The answer for")
        assert page.wrong == []

    def test_it_says_how_far_to_believe_it(self, rated, visit):
        page = visit(rated)
        said = rated.get("/answer")
        expect(page.locator("#answer .belief")).to_have_text(said["words"])
        expect(page.locator("#answer .facts")).to_contain_text(said["screening"]["percent"].replace(" %", "%"))
        assert page.locator("#answer .ranking tbody th").all_inner_texts()[0].startswith(said["answer"]["text"])

    def test_arms_that_begin_alike_are_shown_by_what_tells_them_apart(self, server, visit):
        arms = {60 * "long " + name: worth for name, worth in (("one", 0.2), ("two", 0.5), ("three", 0.8))}
        contest = Contest(server, "alike", list(arms))
        contest.tell(12, arms)
        page = visit(contest)
        expect(page.locator("#answer .ranking .text")).to_have_count(3)
        for place in ("#answer .ranking .text", ".arm .words"):
            assert {*page.locator(place).all_inner_texts()} == {"…one", "…two", "…three"}
        assert page.locator("#answer .ranking .text").first.get_attribute("title").startswith("long long ")
        contest.tell(60, {arm: 1 - worth for arm, worth in arms.items()}, batch=1)
        expect(page.locator("body")).to_contain_text(re.compile(r"Just now: “…(one|two|three)”"))
        assert page.wrong == []

    def test_pictures_are_shown_wherever_an_arm_is(self, server, visit, browser):
        upload = browser.new_context().request.post(
            f"{server.address}{API}/pictures", data=DOT, headers={"Authorization": f"Bearer {server.key}"}
        )
        picture = upload.json()["id"]
        arms = [{"label": name, "text": f"Drawing {name}", "picture": picture} for name in "abc"]
        contest = Contest(server, "pictures", arms)
        contest.tell(20, dict.fromkeys("abc", 0.5))
        page = visit(contest)
        for place in ("#answer .winner", "#answer .ranking tr", ".arm"):
            image = page.locator(f"{place} img").first
            image.scroll_into_view_if_needed()
            page.wait_for_function("one => one.complete && one.naturalWidth > 0", arg=image.element_handle())
        assert (page.wrong, violations(page)) == ([], [])


class TestCurves:
    def test_they_grow_and_say_what_they_show(self, server, visit):
        contest = Contest(server, "growing")
        contest.tell(40)
        page = visit(contest)
        page.locator("#curves").scroll_into_view_if_needed()
        tried = page.get_by_role("img", name=re.compile("^Arms tried"))
        expect(tried).to_have_attribute("aria-label", re.compile("with 40 ratings"))
        contest.tell(24)
        expect(tried).to_have_attribute("aria-label", re.compile("with 64 ratings"))
        for name in ("The mean of the answer", "Ratings over time"):
            expect(page.get_by_role("img", name=re.compile(f"^{name}"))).to_be_visible()
        expect(page.locator("#curves")).to_contain_text("No response times yet")

    def test_few_ratings_are_counted_in_whole_numbers(self, server, visit):
        contest = Contest(server, "few", arms=9)
        contest.tell(3)
        page = visit(contest)
        page.locator("#curves").scroll_into_view_if_needed()
        for name in ("Arms tried", "Ratings over time"):
            picture = page.get_by_role("img", name=re.compile(f"^{name}"))
            up = picture.locator("text[text-anchor='end']").all_text_contents()
            assert up == ["0", "1", "2", "3"]
        along = page.get_by_role("img", name=re.compile("^Arms tried")).locator("text[text-anchor='middle']")
        assert along.all_text_contents() == ["0", "1", "2", "3", "ratings"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wrong_at_any_width_in_either_theme(rated, visit, width, theme):
    page = visit(rated, viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce")
    page.locator("#curves svg").nth(2).wait_for()
    page.locator(".arm").first.wait_for()
    assert (page.wrong, violations(page)) == ([], [])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert max(sizes(page)) < LARGEST


def test_a_part_that_is_far_from_view_asks_for_nothing(server, visit):
    contest = Contest(server, "far", arms=300)
    contest.tell(80)
    page = visit(contest, viewport={"width": 1280, "height": 200})
    page.locator("#curves svg").first.wait_for()
    asked = []
    page.on("request", lambda one: asked.append(one.url.rsplit("/", 1)[1].partition("?")[0]))
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    with page.expect_response(lambda one: one.url.endswith("/answer")):
        contest.tell(24)
    assert not {"grid", "history"} & set(asked)
    pool = page.locator("[data-pool]").inner_text()
    page.locator("#boxes").scroll_into_view_if_needed()
    expect(page.locator("[data-pool]")).not_to_have_text(pool)
