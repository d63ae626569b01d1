"""What a notebook shows, looked at as pictures: the bar, the result and the plot, in a browser."""

import base64
import io
import os
from pathlib import Path

import numpy as np
import pytest
from notebooks import SETUP, executed
from PIL import Image

WIDTHS = (360, 900)
CELLS = (
    SETUP,
    "found = b3.find_best(list(quality), evaluate, budget=300)",
    "found",
    "found.plot()",
    "b3.find_best(list(quality), lambda prompt: 10_000 + evaluate(prompt), budget=300, progress=False)",
)
WRONG = """() => {
  const wrong = [], beside = (one, other) => one.right <= other.left + 1 || other.right <= one.left + 1
    || one.bottom <= other.top + 1 || other.bottom <= one.top + 1;
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) wrong.push(`the page is ${page.scrollWidth} wide`);
  for (const picture of document.querySelectorAll("svg")) {
    const frame = picture.getBoundingClientRect();
    const texts = [...picture.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    for (const [text, box] of texts)
      if (Math.min(box.left - frame.left, frame.right - box.right, box.top - frame.top, frame.bottom - box.bottom) < -1)
        wrong.push(`${text} is cut off`);
    texts.forEach(([text, box], place) => texts.slice(place + 1).forEach(([other, below]) => {
      if (!beside(box, below)) wrong.push(`${text} stands on ${other}`);
    }));
  }
  return wrong;
}"""
TICKS = """() => [...document.querySelectorAll("svg text[text-anchor=end]")].map((text) => text.textContent)"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Return what each cell shows, by its kind; run before there is a browser, as a kernel needs a loop of its own."""
    notebook, _ = executed(tmp_path_factory.mktemp("notebook"), *CELLS)
    return [{kind: data for output in cell.outputs for kind, data in output.data.items()} for cell in notebook.cells]


@pytest.fixture
def look(outputs, browser, tmp_path):
    """Return what puts a cell's output on a page of some width."""
    opened = []

    def show(cell, width, theme):
        page = browser.new_page(viewport={"width": width, "height": 700}, color_scheme=theme)
        opened.append(page)
        colours = "background:#111;color:#eee" if theme == "dark" else "background:#fff;color:#111"
        page.set_content(
            f"<body style='margin:8px;font-family:sans-serif;{colours}'>{outputs[cell]['text/html']}</body>"
        )
        folder = Path(os.environ.get("BOXTHIRDING_SCREENS", tmp_path))
        picture = page.screenshot(path=folder / f"notebook-{cell}-{width}-{theme}.png", full_page=True)
        return page, np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)

    yield show
    for page in opened:
        page.close()


def like(picture, colour):
    """Return which pixels of a picture have about this colour."""
    return np.abs(picture - np.array(colour)).sum(axis=2) < 30


BLUE, ORANGE = (59, 142, 234), (232, 131, 58)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_result_is_a_page_on_which_nothing_is_cut_off(look, width, theme):
    for cell in (2, 4):
        page, picture = look(cell, width, theme)
        assert page.evaluate(WRONG) == []
        *ticks, last = page.evaluate(TICKS)
        assert len(set(ticks)) == len(ticks) > 1
        assert last == "300 pulls"
        assert like(picture, BLUE).sum() > 200  # the line
        assert like(picture, ORANGE).sum() > 20  # the dot at its end


@pytest.mark.parametrize("width", WIDTHS)
def test_a_bar_that_is_full_goes_from_one_side_to_the_other(look, width):
    page, picture = look(1, width, "light")
    assert page.evaluate(WRONG) == []
    across = np.flatnonzero(like(picture, BLUE).any(axis=0))
    track = page.locator("[role=progressbar]").bounding_box()
    assert across[0] == pytest.approx(track["x"], abs=3)
    assert across[-1] == pytest.approx(track["x"] + track["width"], abs=3)


def test_a_plot_is_no_blank_picture(outputs):
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(outputs[3]["image/png"]))).convert("RGB")).astype(int)
    height, width, _ = picture.shape
    assert (width > 400, height > 250) == (True, True)
    assert 0.01 < (picture.sum(axis=2) < 3 * 200).mean() < 0.5
    for colour in ((0, 114, 178), (213, 94, 0)):  # the answer at each time, and the arm that it is now
        assert like(picture, colour).sum() > 50
