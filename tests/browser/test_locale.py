"""Numbers and dates as the reader writes them, on every page and in the report; words stay English."""

import random
import re

import pytest
from served import Process, Rater, signed_in, watched

ARMS = 5_000
OTHERS = [{"label": "very funny", "reward": 0.86}]
SCALE = [{"label": "not funny", "reward": 0}, {"label": "somewhat", "reward": 0.45}, {"label": "funny", "reward": 0.9}]
LETTERS = "abcdefghijklmnop"
LINES = "\n".join("".join(random.Random(number).sample(LETTERS, 12)) for number in range(1_200))
SIMULATED = 400_000  # milliseconds: the first plan on a machine compiles the simulator

# What is written as in English, though it is not read by English: 5,000 or 0.31 or 98%.
FOREIGN = {
    "de-DE": r"(?<![\d,])[1-9]\d{0,2},\d{3}(?!\d|\xa0%)|(?<![\d.])0\.\d|\d\.(?!\d{3}(?!\d))\d|\d ?%",
    "fr-FR": r"(?<![\d,])[1-9]\d{0,2},\d{3}(?!\d|\xa0%)|\d\.\d|\d ?%",
}
LOCALES = ["de-DE", pytest.param("fr-FR", marks=pytest.mark.soak)]
SEEN = """() => [
  document.body.innerText,
  ...[...document.querySelectorAll("svg text, title")].map((one) => one.textContent),
  ...[...document.querySelectorAll("[aria-label], [title]")].flatMap((one) => [one.ariaLabel ?? "", one.title]),
  ...[...document.querySelectorAll("input[type=text]")].map((one) => one.value),
].join("\\n")"""


@pytest.fixture(scope="module")
def contest(tmp_path_factory):
    """Return a server with a contest of 5,000 arms, 1,100 of them rated, and its rating link."""
    with Process(tmp_path_factory.mktemp("locale") / "server.db") as server:
        about = {"question": "How funny is it?", "scale": SCALE + OTHERS, "sitting": 1_500}
        arms = ["".join(random.Random(number).sample(LETTERS, 14)) for number in range(ARMS)]
        server.call("POST", "/studies", {"name": "captions", "arms": arms, "about": about, "policy": "b3"})
        link = server.call("POST", "/studies/captions/links", {"name": "the office"})["url"]
        draw, winner = random.Random(5), None
        for _ in range(11):
            asked = server.call("POST", "/studies/captions/tickets", {"holder": "program", "n": 100})["tickets"]
            winner = winner or asked[0]["label"]
            good, poor = (0.9, 0.86), (0, 0.45)
            worth = {one["id"]: draw.choice(good if one["label"] == winner else poor) for one in asked}
            results = [{"ticket": ticket, "reward": reward} for ticket, reward in worth.items()]
            server.call("POST", "/studies/captions/results", {"results": results})
        Rater(server, link).rate(3, lambda _: "funny")
        yield server, link


@pytest.fixture
def visit(browser, contest):
    """Return what opens a page in a language."""
    contexts = []

    def opened(locale, path):
        context = signed_in(browser, contest[0], locale=locale, viewport={"width": 1280, "height": 6000})
        contexts.append(context)
        page = context.new_page()
        page.wrong = watched(page)
        page.goto(path if path.startswith("http") else contest[0].address + path)
        return page

    yield opened
    for context in contexts:
        context.close()


def english(page, locale):
    """Return what is written as in English on a page, each with what stands around it."""
    text = re.sub(r"\d{1,2}\.\d{1,2}\.\d{4}|boxthirding [\d.]+", "", page.evaluate(SEEN))  # dates, our version
    return [text[max(0, one.start() - 30) : one.end() + 20] for one in re.finditer(FOREIGN[locale], text)]


def test_a_sentence_of_the_server_has_the_readers_numbers(visit):
    page = visit("de-DE", "/")
    sentences = {
        "4,293 of 5,000 arms: with probability 99.993 %.": "4.293 of 5.000 arms: with probability 99,993\xa0%.",
        "mean -0.310, level 3, box (2, 0)": "mean -0,310, level 3, box (2, 0)",
        "“5,000 reasons (0.5)” and “0.1” beat 1,000": "“5,000 reasons (0.5)” and “0.1” beat 1.000",
        "it is '1,000', or \"0.5\": the server's limit is 0.5": "it is '1,000', or \"0.5\": the server's limit is 0,5",
        "3.11.2 at 127.0.0.1:80, 2026-11-16, 14:05, plate-1.5": "3.11.2 at 127.0.0.1:80, 2026-11-16, 14:05, plate-1.5",
        "2.5e-05 or 12345 or v1.5": "2,5E-5 or 12345 or v1.5",
    }
    read = "async (texts) => texts.map((await import('/static/numbers.js')).localized)"
    assert dict(zip(sentences, page.evaluate(read, list(sentences)), strict=True)) == sentences
    assert visit("en-US", "/").evaluate(read, ["5,000 or 0.5 or 98 %"]) == ["5,000 or 0.5 or 98%"]


@pytest.mark.parametrize("locale", LOCALES)
def test_the_page_of_a_study(visit, locale):
    page = visit(locale, "/studies/captions")
    for part in (".arm", "#curves svg", "#raters tbody tr", "#arms tbody tr", "#share tbody tr"):
        page.locator(part).first.wait_for()
    assert "were not tried yet" in page.locator("#answer .belief").inner_text(), "a sentence of the server with a count"
    assert english(page, locale) == []
    thousand = {"de-DE": "5.000", "fr-FR": "5\u202f000"}[locale]
    assert f"of {thousand} arms" in page.locator("#boxes").inner_text()
    assert "95\xa0% interval" in page.locator("#answer").inner_text(), "as both write it"
    page.locator("#arms .link").first.click()
    page.locator("dialog details summary").click()
    assert english(page, locale) == []
    assert page.wrong == []


@pytest.mark.soak
def test_the_other_pages(visit, contest):
    page = visit("de-DE", "/")
    page.get_by_role("link", name="captions").wait_for()
    assert "1.103" in page.locator("#studies").inner_text()
    assert english(page, "de-DE") == []
    page = visit("de-DE", contest[1])
    page.get_by_role("button", name="somewhat").wait_for()
    assert page.locator("#count").inner_text() == "1 of 1.500"
    assert page.wrong == []


@pytest.mark.soak
def test_a_new_study(visit):
    page = visit("de-DE", "/new")
    page.get_by_label("One arm on each line").fill(LINES)
    page.get_by_label("Answers").select_option("own")
    assert page.get_by_label("Reward of answer 2").input_value() == "0,5"
    page.locator(".plan").wait_for(timeout=SIMULATED)
    assert "1.200 arms." in page.locator("#arms-count").inner_text()
    assert english(page, "de-DE") == []


@pytest.mark.parametrize("locale", LOCALES)
def test_the_report(browser, contest, tmp_path, locale):
    with signed_in(browser, contest[0], locale=locale) as context:
        reply = context.request.get(f"{contest[0].address}/api/v1/studies/captions/report.html")
        (tmp_path / "report.html").write_bytes(reply.body())
        assert "UTC</time>" in reply.text()
        page = context.new_page()
        wrong = []
        page.on("console", lambda said: wrong.append(said.text))
        page.goto(f"file://{tmp_path}/report.html")
        assert english(page, locale) == []
        assert {"de-DE": "5.000; ", "fr-FR": "5\u202f000; "}[locale] in page.locator("main").inner_text()
        assert wrong == []
