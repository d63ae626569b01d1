"""Every page at three widths in both themes: nothing is cut off, no rule of accessible pages is broken.

The pictures go to the folder that BOXTHIRDING_SCREENS names: the documentation shows them.
"""

import os
import random
from itertools import product
from pathlib import Path

import pytest
from served import Process, Rater, signed_in, violations, watched

WIDTHS = (360, 1280, 2560)
THEMES = ("light", "dark")
WHO = ("The cat", "My lawyer", "The moon", "Your mother", "The robot", "Our landlord", "The pigeon", "Management")
WHO += ("The ghost", "My therapist", "The bartender", "The other whale")
WHO += ("The dog", "My dentist", "The sun", "Your father", "The toaster", "My neighbour", "The raven", "Accounting")
DOES = (
    *("would like a word.", "has read the contract.", "asked for the window seat.", "only accepts cash."),
    *("says it was like that before.", "is working from home.", "has notes on your plan.", "misses the old carpet."),
    *("wants to see the manager.", "is not on the list.", "forgot the password again.", "blames the weather."),
)
CAPTIONS = [" ".join(words) for words in product(WHO, DOES)]
SCALE = [{"label": "not funny", "reward": 0}, {"label": "somewhat", "reward": 0.5}, {"label": "funny", "reward": 1}]
QUESTION = "How funny is this caption?"
SIMULATED = 400_000  # milliseconds: the first plan on a machine compiles the simulator


def funny(draw, label):
    """Answer as a rater would: some captions are better than others."""
    quality = random.Random(label).betavariate(1.5, 4)
    return SCALE[(draw.random() < quality) + (draw.random() < quality)]["label"]


@pytest.fixture(scope="module")
def contest(tmp_path_factory):
    """Return a server with a contest that is under way, and its rating link."""
    with Process(tmp_path_factory.mktemp("screens") / "server.db") as server:
        about = {"question": QUESTION, "scale": SCALE, "sitting": 25}
        server.call("POST", "/studies", {"name": "captions", "arms": CAPTIONS, "about": about})
        link = server.call("POST", "/studies/captions/links", {"name": "the office"})["url"]
        for number in range(12):  # while new arms are tried, and some keep up with the leader
            draw = random.Random(number)
            Rater(server, link).rate(25, lambda arm, draw=draw: funny(draw, arm["text"]))
        yield server, link


@pytest.fixture(scope="module")
def operator(browser, contest):
    context = signed_in(browser, contest[0])
    yield context
    context.close()


def pictures(name, page, tmp_path):
    """Look at a page at every width in both themes, and keep its pictures."""
    folder = Path(os.environ.get("BOXTHIRDING_SCREENS", tmp_path))
    wrong = []
    for width, theme in product(WIDTHS, THEMES):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.evaluate("() => scrollTo(0, 0)")
        page.wait_for_function("() => document.fonts.ready.then(() => true)")
        wide = page.evaluate("document.documentElement.scrollWidth")
        page.screenshot(path=folder / f"{name}-{width}-{theme}.png")
        wrong += [f"{width} {theme}: {one}" for one in violations(page)]
        if wide > width:
            wrong.append(f"{width} {theme}: the page is {wide} wide")
    return wrong


def test_the_studies(contest, operator, tmp_path):
    page = operator.new_page()
    wrong = watched(page)
    page.goto(contest[0].address)
    page.get_by_role("link", name="captions").wait_for()
    assert pictures("studies", page, tmp_path) == []
    assert wrong == []


def test_a_new_study(contest, operator, tmp_path):
    page = operator.new_page()
    wrong = watched(page)
    page.goto(f"{contest[0].address}/new")
    page.get_by_label("One arm on each line").fill("\n".join(CAPTIONS[:8]))
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_label("Name of the study").fill("office party")
    page.locator(".plan").wait_for(timeout=SIMULATED)
    assert pictures("new", page, tmp_path) == []
    assert wrong == []


def test_a_study(contest, operator, tmp_path):
    page = operator.new_page()
    wrong = watched(page)
    page.goto(f"{contest[0].address}/studies/captions")
    page.get_by_role("heading", name="captions", level=1).wait_for()
    page.get_by_text(", better").wait_for()  # the boxes are drawn
    assert pictures("study", page, tmp_path) == []
    page.set_viewport_size({"width": 1280, "height": 1500})
    page.emulate_media(color_scheme="light")
    page.screenshot(path=Path(os.environ.get("BOXTHIRDING_SCREENS", tmp_path)) / "live.png")
    assert wrong == []


def test_the_rating_page(browser, contest, tmp_path):
    context = browser.new_context(locale="en-US")
    page = context.new_page()
    wrong = watched(page)
    page.goto(contest[1])
    page.get_by_role("button", name="somewhat").wait_for()
    assert pictures("rate", page, tmp_path) == []
    assert wrong == []
    context.close()


@pytest.mark.parametrize(("name", "path"), [("locked", "/studies/captions"), ("refused", "/rate/no-such-link")])
def test_a_page_that_is_refused(browser, contest, tmp_path, name, path):
    page = browser.new_page()
    page.goto(contest[0].address + path)
    assert pictures(name, page, tmp_path) == []
    page.close()
