"""The table of a study's arms, in a browser: sorted on the server by its headings; the report beside the exports."""

import pytest
from playwright.sync_api import expect
from served import Process, Rater, signed_in, violations, watched

pytestmark = pytest.mark.soak

SCALE = [{"label": "unfunny", "reward": 0}, {"label": "funny", "reward": 1}]
QUARTERS = [{"label": f"{number}/4", "reward": number / 4} for number in range(5)]


@pytest.fixture(scope="module")
def contest(tmp_path_factory):
    """Return a server with a study of 60 arms that is under way."""
    with Process(tmp_path_factory.mktemp("table") / "server.db") as server:
        arms = [f"Caption {number:02}" for number in range(60)]
        server.call(
            "POST", "/studies", {"name": "captions", "arms": arms, "about": {"scale": QUARTERS}, "policy": "b3"}
        )
        for number in range(6):
            asked = server.call("POST", "/studies/captions/tickets", {"holder": "program", "n": 40})["tickets"]
            results = [{"ticket": one["id"], "reward": (int(one["label"][-2:]) + number) % 5 / 4} for one in asked]
            server.call("POST", "/studies/captions/results", {"results": results})
        yield server


@pytest.fixture
def page(browser, contest):
    context = signed_in(browser, contest, viewport={"width": 1280, "height": 4000})
    one = context.new_page()
    one.wrong = watched(one)
    one.goto(f"{contest.address}/studies/captions")
    one.locator("#arms tbody tr").first.wait_for()
    yield one
    context.close()


def test_a_heading_sorts_all_arms_in_both_directions(page, contest):
    heads = page.locator("#arms thead")
    for name, field in (("Mean", "mean"), ("Ratings", "pulls"), ("Level", "level"), ("Arm", "label")):
        orders = (field, f"-{field}") if name == "Arm" else (f"-{field}", field)
        for order in orders:
            with page.expect_response(f"**/arms?*order={order}*"):
                heads.get_by_role("button", name=name).click()
            direction = "descending" if order.startswith("-") else "ascending"
            expect(heads.locator("[aria-sort]")).to_have_text(name)
            expect(heads.locator("[aria-sort]")).to_have_attribute("aria-sort", direction)
            expect(page.get_by_label("Order of the arms")).to_have_value(order)
            found = contest.call("GET", f"/studies/captions/arms?count=25&order={order}")["arms"]
            expect(page.locator("#arms td[data-name='Arm']")).to_have_text([arm["label"] for arm in found])
    page.get_by_role("button", name="Next").last.click()
    expect(page.locator("#arms")).to_contain_text("26 to 50")
    page.get_by_label("Order of the arms").select_option(label="Best first")
    expect(heads.locator("[aria-sort]")).to_have_count(0)
    expect(page.locator("#arms")).to_contain_text("1 to 25")
    assert (page.wrong, violations(page)) == ([], [])


def test_on_a_phone_arms_are_sorted_too(page):
    page.set_viewport_size({"width": 360, "height": 800})
    page.get_by_label("Order of the arms").select_option(label="Fewest ratings first")
    expect(page.locator("#arms td[data-name='Ratings']").first).to_have_text("1")
    page.locator("#arms thead").get_by_role("button", name="Ratings").click()
    expect(page.get_by_label("Order of the arms")).to_have_value("-pulls")
    expect(page.locator("#arms td[data-name='Ratings']").first).not_to_have_text("1")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert violations(page) == []


def test_the_report_is_beside_the_exports(page, tmp_path):
    page.get_by_text("Export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="A report to hand on").click()
    assert download.value.suggested_filename == "captions-report.html"
    download.value.save_as(tmp_path / "report.html")
    report = page.context.new_page()
    wrong = watched(report)
    report.route("http*://**", lambda route: route.abort())
    report.goto((tmp_path / "report.html").as_uri())
    expect(report.get_by_role("heading", name="What may be believed")).to_be_visible()
    assert [text for text in wrong if not text.startswith("file:")] == []
    assert page.wrong == []


def test_raters_and_arms_of_many_pages_are_told_apart(page, contest):
    for number in range(21):
        asked = contest.call("POST", "/studies/captions/tickets", {"holder": f"worker {number}"})["tickets"]
        contest.call("POST", "/studies/captions/results", {"results": [{"ticket": asked[0]["id"], "reward": 0.5}]})
    page.reload()
    for what in ("raters", "arms"):
        expect(page.get_by_role("navigation", name=f"Pages of {what}")).to_be_visible()
    assert violations(page) == []


def test_a_policy_without_boxes_has_no_levels(browser, server):
    server.call("POST", "/studies", {"name": "plain", "arms": [*"abc"], "policy": "us", "about": {"scale": SCALE}})
    link = server.call("POST", "/studies/plain/links", {})["url"]
    Rater(server, link).rate(3, lambda _: SCALE[0]["label"])
    context = signed_in(browser, server)
    page = context.new_page()
    page.goto(f"{server.address}/studies/plain")
    expect(page.locator("#arms tbody tr")).to_have_count(3)
    assert page.locator("#arms thead th:visible").all_inner_texts() == ["Arm", "Mean", "Ratings"]
    assert not [text for text in page.locator("#arms option:not([hidden])").all_inner_texts() if "level" in text]
    context.close()
