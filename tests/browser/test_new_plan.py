"""How many ratings a new study will take, on the page on which it is made."""

import json

import pytest
from playwright.sync_api import expect
from served import signed_in, violations, watched

pytestmark = pytest.mark.soak

SIMULATED = 400_000  # milliseconds: the first plan on a machine compiles the simulator
LOADED = "Failed to load resource"  # what a browser says of an answer with a status of 400 and more


@pytest.fixture
def form(browser, server):
    """Return the form of an operator who is signed in, what goes wrong on it, and the plans that it asks for."""
    context = signed_in(browser, server, viewport={"width": 1280, "height": 2000})
    page = context.new_page()
    page.wrong, page.asked = watched(page), []
    page.on("request", lambda one: page.asked.append(one.post_data) if one.url.endswith("/plan") else None)
    page.goto(f"{server.address}/new")
    yield page
    context.close()


def arms(page, number):
    page.get_by_label("One arm on each line").fill("\n".join(f"Caption {one}." for one in range(number)))


def test_it_follows_the_arms_the_scale_and_the_guesses(form):
    plan = form.locator("#plan")
    expect(plan).to_contain_text("once there are two arms")
    arms(form, 60)
    expect(plan.get_by_role("progressbar")).to_be_visible()
    rows = plan.get_by_role("row")
    expect(rows).to_have_count(8, timeout=SIMULATED)
    assert rows.nth(0).inner_text().split("\t") == [
        *("Ratings", "The answer, on average", "In 9 of 10 contests"),
    ]
    assert [row.split("\t")[0] for row in rows.all_inner_texts()[1:]] == [
        *("10", "20", "50", "100", "200", "500", "1,000"),
    ]
    expect(plan).to_contain_text("of 60 arms")
    assert violations(form) == []
    form.get_by_label("Answers", exact=True).select_option(label="1 to 5")
    expect(plan.get_by_role("table")).to_be_hidden()
    assert plan.get_by_label("Raters of one and the same arm").locator("option").all_inner_texts()[1] == (
        "differ somewhat (by 1)"
    )
    plan.get_by_label("A good arm").select_option(index=2)
    expect(rows).to_have_count(8, timeout=SIMULATED)
    assert [json.loads(one)["spread"] for one in form.asked] == [0.06, 1.0]  # the one between was replaced in time
    assert form.wrong == []


def test_it_can_be_stopped_and_begun_again(form):
    plan = form.locator("#plan")
    arms(form, 50)
    plan.get_by_role("button", name="Stop").click()
    expect(plan).to_contain_text("Stopped.")
    plan.get_by_role("button", name="Simulate again").click()
    expect(plan.get_by_role("table")).to_be_visible(timeout=SIMULATED)
    assert len(form.asked) == 1


def test_a_scale_or_a_server_that_cannot_be_planned_with_is_said_in_words(form, server):
    plan = form.locator("#plan")
    form.get_by_label("Answers", exact=True).select_option(label="Your own answers")
    form.get_by_label("Reward of answer 2").fill("much")
    expect(plan).to_contain_text("needs a number")
    for number in (1, 2, 3):
        form.get_by_label(f"Reward of answer {number}").fill("1")
    expect(plan).to_contain_text("All answers count the same")
    form.get_by_label("Reward of answer 3").fill("2")
    server.kill()
    arms(form, 30)
    expect(plan.get_by_role("alert")).to_contain_text("The server cannot be reached")
    server.start()
    plan.get_by_role("button", name="Simulate again").click()
    expect(plan.get_by_role("table")).to_be_visible(timeout=SIMULATED)
    assert [text for text in form.wrong if "ERR_CONNECTION" not in text and LOADED not in text] == []
