"""An operator's pages, in a browser: make a study, share it, watch it, mend it, take the answer away."""

import base64
import csv
import io
import random
import urllib.error
import urllib.parse
import urllib.request

import pytest
from playwright.sync_api import expect
from rating_page import Tab, stored
from served import API, Process, Rater, signed_in, violations, watched

pytestmark = pytest.mark.soak  # `make test` has the screens, and the rating page as most people use it

SCALE = [{"label": "unfunny", "reward": 0}, {"label": "funny", "reward": 1}]
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
YES = ("no", "yes")
TALL = {"width": 1280, "height": 4000}  # so that every part of a study's page is in view, and follows what happens
DECODED = "image => image.decode().then(() => image.naturalWidth)"
LOADED = "Failed to load resource"  # what a browser says of an answer with a status of 400 and more


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Return a server for all tests that leave it running."""
    with Process(tmp_path_factory.mktemp("shared") / "server.db") as one:
        yield one


@pytest.fixture
def server(shared):
    """Return that server without any study."""
    yield shared
    for study in shared.call("GET", "/studies")["studies"]:
        shared.call("DELETE", f"/studies/{urllib.parse.quote(study['name'])}")


@pytest.fixture
def fresh(tmp_path):
    """Return a server of one's own."""
    with Process(tmp_path / "server.db") as one:
        yield one


@pytest.fixture
def operator(browser, server):
    """Return a page of an operator who is signed in, and what goes wrong on it."""
    context = signed_in(browser, server, viewport=TALL)
    page = context.new_page()
    page.wrong = watched(page)
    yield page
    context.close()


def made(server, name="captions", arms=("good", "bad", "dull", "flat", "plain"), **settings):
    server.call("POST", "/studies", {"name": name, "arms": list(arms), "about": {"scale": SCALE}, **settings})


def tell(server, holder, times, best, name="captions"):
    """Let a program tell results: 1 for one arm, 0 for the others."""
    for _ in range(times):
        asked = server.call("POST", f"/studies/{name}/tickets", {"holder": holder})
        results = [{"ticket": one["id"], "reward": float(one["label"] == best)} for one in asked["tickets"]]
        server.call("POST", f"/studies/{name}/results", {"results": results})


def opened(page, server, name="captions"):
    page.goto(f"{server.address}/studies/{name}")
    page.get_by_role("heading", name=name, level=1).wait_for()
    return page


def focused_row(page):
    return page.evaluate("document.activeElement.closest('tr')?.dataset.key")


def best(server, name="captions"):
    return server.call("GET", f"/studies/{name}")["recommendation"]["label"]


def test_a_newcomer_gets_from_an_empty_server_to_a_rated_contest_and_its_export(browser, fresh):
    context = browser.new_context(locale="en-US", viewport=TALL)
    page = context.new_page()
    wrong = watched(page)
    page.goto(f"{fresh.address}/#code={fresh.code}")
    page.get_by_text("There are no studies here yet.").wait_for()
    page.get_by_role("link", name="New study").click()
    captions = [f"Caption {number}." for number in range(12)]
    page.get_by_label("One arm on each line").fill("\n".join([*captions, "", captions[0]]))
    page.get_by_text("12 arms; 1 repeated line left out").wait_for()
    page.get_by_label("Question").fill("How funny is it?")
    page.get_by_label("Answers").select_option(label="No or yes")
    preview = page.get_by_role("complementary", name="What raters see")
    assert "Caption 0." in preview.inner_text()
    assert [one.inner_text().split()[-1] for one in preview.locator(".arm-answer").all()] == ["no", "yes"]
    page.get_by_label("Name of the study").fill("my contest")
    page.get_by_role("button", name="Make the study").click()
    url = page.get_by_label("Rating link", exact=True).input_value()
    page.get_by_text("It works on this computer only.").wait_for()
    assert page.get_by_alt_text("The rating link as a QR code").evaluate(DECODED) > 100
    page.get_by_role("link", name="Go to the study").click()
    page.get_by_text("No one has rated yet.").wait_for()
    one = Tab(context, url)  # on the rating page, in the same browser
    for _ in range(3):
        one.click("yes" if one.shown() == captions[7] else "no")
    one.send()
    one.page.close()
    rated = 3 + sum(Rater(fresh, url).rate(12, lambda arm: YES[arm["text"] == captions[7]]) for _ in range(3))
    page.get_by_text("4 raters").wait_for()
    page.locator("#arms").get_by_role("row").nth(1).get_by_text(captions[7]).wait_for()
    page.get_by_text("Export").click()
    page.keyboard.press("Escape")
    assert not page.get_by_role("link", name="Every rating").is_visible()
    page.get_by_text("Export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Every rating").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert len(rows) == rated >= 12
    assert {row["answer"] for row in rows if row["arm"] == captions[7]} == {"yes"}
    page.get_by_role("button", name="Finish").click()
    page.get_by_role("dialog").get_by_role("button", name="Finish").click()
    page.get_by_text("finished", exact=True).wait_for()
    assert wrong == one.wrong == []
    context.close()


def test_finish_says_that_nothing_changes_the_answer_and_takes_away_what_would(operator, server):
    made(server)
    tell(server, "ann", 3, "good")
    page = opened(operator, server)
    changing = page.get_by_role("button", name="Exclude").or_(page.get_by_role("button", name="Pause"))
    expect(changing).to_have_count(2)
    page.get_by_role("button", name="Finish").click()
    page.get_by_role("dialog", name="Finish this study?").get_by_text(
        "Nothing changes the answer after that"
    ).wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Finish").click()
    page.get_by_text("finished", exact=True).wait_for()
    expect(changing).to_have_count(0)
    page.locator("#arms tbody button.link").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Its ratings").wait_for()
    assert dialog.get_by_role("button", name="Correct").or_(page.get_by_role("button", name="Withdraw")).count() == 0
    assert page.wrong == []


def test_an_excluded_rater_changes_the_answer_as_the_preview_said_and_comes_back(operator, server):
    made(server)
    tell(server, "careful", 15, "good")
    tell(server, "careless", 60, "bad")
    assert best(server) == "bad"
    page = opened(operator, server)
    row = page.locator("#raters").get_by_role("row").filter(has_text="careless")
    row.get_by_role("button", name="Exclude").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("The answer would change from “bad” to “good”.").wait_for()
    tell(server, "careful", 1, "good")
    page.locator("#raters tr").filter(has_text="careful").get_by_text("16").wait_for()
    page.keyboard.press("Escape")
    assert focused_row(page) == "careless"  # though the rows were made anew
    page.keyboard.press("Enter")
    assert best(server) == "bad"  # a preview changes nothing
    dialog.get_by_role("button", name="Exclude").click()
    row.get_by_text("excluded").wait_for()
    assert best(server) == "good"
    page.locator("#arms").get_by_role("row").nth(1).get_by_text("good").wait_for()
    row.get_by_role("button", name="Include").click()
    dialog.get_by_text("The answer would change from “good” to “bad”.").wait_for()
    dialog.get_by_role("button", name="Include").click()
    row.get_by_role("button", name="Exclude").wait_for()
    assert best(server) == "bad"
    assert focused_row(page) == "careless"
    assert page.wrong == []


def test_what_a_rater_holds_is_released(operator, server):
    made(server)
    tell(server, "gone", 1, "good")
    server.call("POST", "/studies/captions/tickets", {"holder": "gone"})
    page = opened(operator, server)
    page.get_by_role("button", name="Release 1 arm").click()
    page.get_by_text("1 arm goes to the next rater.").wait_for()
    assert server.call("GET", "/studies/captions")["holders"] == {}


def test_a_button_of_a_table_that_is_held_down_while_ratings_come_in_acts_and_keeps_the_focus(operator, server):
    made(server)
    tell(server, "bob", 3, "good")
    page = opened(operator, server)
    page.get_by_text(
        "Ratings by 1 rater; 1 at work in the last minute.", exact=True
    ).wait_for()  # and no median, without times
    button = page.locator("#raters").get_by_role("button", name="Exclude")
    button.focus()
    page.keyboard.down("Space")
    tell(server, "bob", 2, "good")
    server.call("POST", "/studies/captions/tickets", {"holder": "bob"})  # a button more
    expect(page.locator("#raters td[data-name='Ratings']")).to_have_text("5")
    page.locator("#raters").get_by_role("button", name="Release 1 arm").wait_for()
    expect(button).to_be_focused()
    page.keyboard.up("Space")
    dialog = page.get_by_role("dialog", name="Exclude bob?")
    expect(dialog).to_contain_text("This rater’s 5 ratings")
    assert page.wrong == []


def test_two_operators_at_once_see_the_same(browser, operator, server):
    made(server)
    other = browser.new_context(locale="de-DE", viewport=TALL)
    second = other.new_page()
    wrong = watched(second)
    second.goto(server.address)
    second.get_by_label("Key").fill(server.key)
    second.get_by_role("button", name="Sign in").click()
    second.get_by_role("link", name="captions").click()
    page = opened(operator, server)
    page.get_by_role("button", name="Pause").click()
    second.get_by_text("paused", exact=True).wait_for()
    second.get_by_role("button", name="Resume").click()
    page.get_by_text("running", exact=True).wait_for()
    tell(server, "program", 8, "good")
    (first,) = server.call("GET", "/studies/captions/arms?count=1")["arms"]
    for one, mean in ((page, "1.000"), (second, "1,000")):  # each in its reader's locale
        row = one.locator("#arms tbody tr").first
        expect(row).to_have_text(f"{first['label']}{mean}{first['pulls']}–")
    assert (page.wrong, wrong) == ([], [])
    other.close()


def test_a_csv_file_with_semicolons_keeps_its_cells(operator, server):
    sheet = 'Getränk;Preis;Notiz\nEspresso;2,50;klein\nMélange;4,20;"Wien; groß"\nTee;3,00;\n'
    page = operator
    page.goto(f"{server.address}/new")
    page.get_by_role("radio", name="A CSV file").check()
    page.locator("#sheet").set_input_files(
        {"name": "karte.csv", "mimeType": "text/csv", "buffer": sheet.encode("utf-8-sig")}
    )
    page.get_by_text("karte.csv: 3 rows, 3 columns.").wait_for()
    assert page.get_by_label("The column that raters see").input_value() == "Getränk"
    assert page.get_by_role("cell", name="2,50").count() == 1
    page.get_by_label("Question").fill("Wie gut?")
    page.get_by_label("Answers").select_option(label="Your own answers")
    page.get_by_label("Reward of answer 2").fill("0,75")
    page.get_by_label("Name of the study").fill("Karte")
    page.get_by_role("button", name="Make the study").click()
    page.get_by_text("Karte is ready").wait_for()
    arm = server.call("GET", "/studies/Karte/arm?label=M%C3%A9lange")
    assert arm["payload"] == {"Preis": "4,20", "Notiz": "Wien; groß"}
    assert server.call("GET", "/studies/Karte")["about"]["scale"][1]["reward"] == 0.75
    assert page.wrong == []


def test_a_file_that_is_no_csv_is_refused_in_words_and_another_can_be_chosen(operator, server):
    page = operator
    page.goto(f"{server.address}/new")
    page.get_by_role("radio", name="A CSV file").check()
    page.locator("#sheet").set_input_files(
        {"name": "a.csv", "mimeType": "text/csv", "buffer": b"PK\x03\x04 a workbook"}
    )
    page.get_by_text("save its sheet as CSV UTF-8").wait_for()
    page.locator("#sheet").set_input_files(
        {"name": "old.csv", "mimeType": "text/csv", "buffer": "Getränk\nTee\n".encode("cp1252")}
    )
    page.get_by_text("is not UTF-8 text (byte 4 is 0xe4): save it as CSV UTF-8").wait_for()
    page.locator("#sheet").set_input_files({"name": "b.csv", "mimeType": "text/csv", "buffer": b"label,size\na,1\n"})
    page.get_by_text("b.csv: 1 row").wait_for()
    assert [text for text in page.wrong if LOADED not in text] == []


def test_pictures_are_arms(operator, server):
    page = operator
    page.goto(f"{server.address}/new")
    page.get_by_role("radio", name="Pictures").check()
    files = [{"name": f"{name}.png", "mimeType": "image/png", "buffer": DOT} for name in ("cat", "dog")]
    page.locator("#pictures").set_input_files(files)
    page.get_by_text("2 pictures.").wait_for()
    page.locator("#pictures").set_input_files({"name": "x.svg", "mimeType": "image/svg+xml", "buffer": b"<svg/>"})
    page.get_by_text("X.svg is no PNG, JPEG, WebP or GIF: save it as one of these, and add it again.").wait_for()
    assert page.locator("#pictures-shown img").count() == 2
    page.get_by_label("Question").fill("How nice?")
    page.get_by_label("Name of the study").fill("pets")
    page.get_by_role("button", name="Make the study").click()
    rater = Rater(server, page.get_by_label("Rating link", exact=True).input_value())
    (arm,) = rater.post("next")["arms"]
    assert (arm["text"], len(arm["picture"])) == ("", 32)
    assert rater.rate(2, lambda _: "funny") == 2
    opened(page, server, "pets")
    assert page.locator("#answer .winner").text_content() in ("cat", "dog")
    thumb = page.locator("#arms img").first
    thumb.wait_for()
    assert thumb.evaluate(DECODED) == 1
    assert page.wrong == []


def test_what_is_missing_or_wrong_in_the_form_is_said_in_words(operator, server):
    page = operator
    page.goto(f"{server.address}/new")
    page.get_by_label("One arm on each line").fill("one\ntwo")
    make = page.get_by_role("button", name="Make the study")
    make.click()
    page.get_by_text("write a question, such as “How funny is this caption?”.").wait_for()
    page.get_by_label("Question").fill("How good?")
    page.get_by_label("Name of the study").fill("a/b")
    make.click()
    page.get_by_text("The name is “a/b”: write one without a slash.").wait_for()
    expect(page.get_by_label("Name of the study")).to_be_focused()
    page.get_by_label("Name of the study").fill("good")
    for label, wrong, said in (
        ("Ratings of one rater, at most", "2.5", "write a whole number, 1 or more."),
        ("Ratings of one rater, at most", "0", "The number of ratings of one rater is “0”"),
        ("Ratings of one rater, at most", "200000", "write at most 100,000."),
        ("Where raters go at the end", "nonsense", "write an address that begins with https://, or nothing."),
    ):
        field = page.locator("details").get_by_label(label)
        field.evaluate("(one, text) => { one.value = text; }", wrong)  # also in a part that is closed
        make.click()
        page.locator("#problem").get_by_text(said).wait_for()
        expect(field).to_be_focused()
        field.fill("")
    page.get_by_role("radio", name="Pictures").check()
    page.locator("#pictures").set_input_files({"name": "fake.png", "mimeType": "image/png", "buffer": b"no picture"})
    make.click()
    page.get_by_text("The picture fake.png cannot be used: the upload of 10 bytes is no PNG").wait_for()
    page.get_by_role("radio", name="A CSV file").check()
    page.locator("#sheet").set_input_files({"name": "twice.csv", "mimeType": "text/csv", "buffer": b"caption\na\na\n"})
    page.locator("#sheet-shown table").wait_for()
    assert page.get_by_text("The other columns are kept").count() == 0
    make.click()
    page.get_by_text("delete one of the two rows, or choose another column as the label.").wait_for()
    assert [text for text in page.wrong if LOADED not in text] == []


def test_own_answers_are_not_cut_on_a_phone(operator, server):
    operator.set_viewport_size({"width": 360, "height": 800})
    operator.goto(f"{server.address}/new")
    operator.get_by_label("Answers").select_option(label="Your own answers")
    cut = "() => [...document.querySelectorAll('.scale-row input')].filter((one) => one.scrollWidth > one.clientWidth)"
    assert operator.evaluate(f"({cut})().length") == 0


@pytest.mark.parametrize("path", ["/nothing", "/studies/nothing"])
def test_an_address_that_leads_nowhere_leads_home(operator, server, path):
    page = operator
    page.goto(server.address + path)
    page.get_by_role("link", name="Go to the start page").wait_for()
    assert violations(page) == []
    page.get_by_role("link", name="Go to the start page").click()
    page.get_by_role("heading", name="Studies").wait_for()


def test_answers_that_are_numbers_have_their_own_digits_as_keys(operator, server):
    page = operator
    page.goto(f"{server.address}/new")
    page.get_by_label("One arm on each line").fill("one\ntwo\nthree\nfour")
    page.get_by_label("Question").fill("How good?")
    page.get_by_label("Answers").select_option(label="0 to 10")
    keys = page.locator("#preview button").evaluate_all("all => all.map(one => one.getAttribute('aria-keyshortcuts'))")
    assert keys == [*map(str, range(10)), None]
    assert page.locator("#preview kbd").count() == 0  # the label says it
    page.get_by_label("Name of the study").fill("numbers")
    page.get_by_role("button", name="Make the study").click()
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Open it as a rater").click()
    popup.value.close()
    one = Tab(page.context, page.get_by_label("Rating link", exact=True).input_value())
    shown = [(one.press("7"), "7"), (one.click("10"), "10")]
    one.send()
    assert [row[:2] for row in stored(server, "numbers")] == shown
    assert page.wrong == one.wrong == []


def test_an_arm_tells_its_climb_and_its_ratings_are_corrected_and_it_is_withdrawn(operator, server):
    made(server, arms=["good", *[f"other {number}" for number in range(20)]], policy="b3")
    tell(server, "program", 60, "good")
    page = opened(operator, server)
    page.locator("#arms").get_by_label("Search arms").fill("GOO")
    page.locator("#arms tbody tr").nth(1).wait_for(state="detached")
    page.get_by_role("button", name="good", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("img", name="The climb in").wait_for()
    assert dialog.locator("svg text").filter(has_text="lifted").count() >= 1
    before = server.call("GET", "/studies/captions/arm?label=good")["mean"]
    dialog.get_by_role("button", name="Correct").first.click()
    dialog.get_by_label("The right answer").select_option(label="unfunny")
    page.keyboard.press("Escape")  # which leaves the rating as it is, and the dialog open
    expect(dialog.get_by_role("button", name="Correct").first).to_be_focused()
    dialog.get_by_role("button", name="Correct").first.click()
    dialog.get_by_label("The right answer").select_option(label="unfunny")
    dialog.get_by_role("button", name="Save").click()
    page.get_by_text("Corrected.").wait_for()
    arm = server.call("GET", "/studies/captions/arm?label=good")
    assert arm["mean"] < before == 1
    expect(dialog).to_contain_text(f"Mean {arm['mean']:.3f} of {arm['pulls']} ratings.")
    expect(dialog.locator("details")).to_contain_text(f"Now: {arm['place']}.")
    dialog.get_by_role("button", name="Withdraw this arm").click()
    page.get_by_role("dialog").last.get_by_role("button", name="Withdraw", exact=True).click()
    page.get_by_role("dialog").first.wait_for(state="detached")
    page.locator("#arms").get_by_text("withdrawn").wait_for()
    assert best(server) != "good"
    assert page.wrong == []


CLIMB = """async (count) => {
  const { climb } = await import("/static/climb.js");
  const steps = Array.from({ length: count }, (_, level) => (
    { level, outcome: "lifted", pulls: 9, mean: 1, rivals: [] }));
  document.querySelector("main").replaceChildren(climb(steps));
}"""


@pytest.mark.parametrize(("steps", "is_cut"), [(5, False), (12, True)])
def test_on_a_phone_a_short_climb_fits_and_a_long_one_says_that_it_scrolls(operator, server, steps, is_cut):
    operator.goto(server.address)
    operator.set_viewport_size({"width": 360, "height": 800})
    operator.evaluate(CLIMB, steps)
    operator.get_by_role("img", name=f"The climb in {steps} steps").wait_for()
    scrolls = operator.locator(".scroll").evaluate("one => one.scrollWidth > one.clientWidth")
    assert (scrolls, operator.get_by_text("Scroll the picture sideways").is_visible()) == (is_cut, is_cut)
    assert operator.evaluate("document.documentElement.scrollWidth") == 360


def test_an_outlier_is_named_and_corrected(operator, server):
    server.call("POST", "/studies", {"name": "captions", "arms": [f"arm {number}" for number in range(20)]})
    draw = random.Random(4)
    for number in range(20):
        asked = server.call("POST", "/studies/captions/tickets", {"n": 20, "holder": "machine"})["tickets"]
        results = [{"ticket": one["id"], "reward": draw.gauss(0, 1)} for one in asked]
        results[0]["reward"] = 1e6 if number in (12, 15) else 0.0
        server.call("POST", "/studies/captions/results", {"results": results})
    rows = server.call("GET", "/studies/captions")["outliers"]
    assert len(rows) == 2
    page = opened(operator, server)
    page.locator("#arms tbody tr").first.wait_for()
    part = page.locator("#outliers")
    assert part.get_by_role("heading").inner_text() == "2 outliers excluded"
    first = part.get_by_role("listitem").first
    assert first.inner_text().split() == [*rows[1]["label"].split(), "1,000,000", "by", "machine", "Correct"]
    assert violations(page) == []
    first.get_by_role("button", name="Correct").click()
    part.get_by_label("The right reward").fill("")
    part.get_by_role("button", name="Save").click()
    part.get_by_text("There is no number yet").wait_for()
    part.get_by_label("The right reward").fill("0.5")
    part.get_by_role("button", name="Save").click()
    part.get_by_text("1 outlier excluded").wait_for()
    assert server.call("GET", "/studies/captions")["outliers"] == rows[:1]
    assert page.wrong == []


def test_links_and_keys_are_shown_once_and_revoked(operator, server):
    made(server)
    page = opened(operator, server)
    page.get_by_role("button", name="New link").click()
    page.get_by_label("What it is for").fill("one friend")
    page.get_by_label("How many raters").fill("1")
    page.get_by_role("button", name="Make the link").click()
    url = page.get_by_label("Rating link", exact=True).input_value()
    page.get_by_role("button", name="Close").click()
    Rater(server, url).rate(1, lambda _: SCALE[0]["label"])  # who begins takes the place
    with pytest.raises(urllib.error.HTTPError, match="403"):
        Rater(server, url)
    page.locator("#share").get_by_role("row").filter(has_text="one friend").get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    page.get_by_text("no one can rate yet").wait_for()
    page.get_by_role("button", name="New key").click()
    page.get_by_label("What it may do").select_option("reader")
    page.get_by_role("button", name="Make the key").click()
    secret = page.get_by_role("dialog").get_by_label("Key", exact=True).input_value()
    assert secret.startswith("key_")
    page.get_by_role("button", name="Close").click()
    assert secret not in page.content()
    assert [key["scope"] for key in server.call("GET", "/keys")["keys"]][-1] == "reader"
    assert page.wrong == []


def test_a_reader_sees_the_study_and_nothing_to_change_it_with(browser, server):
    made(server)
    tell(server, "program", 3, "good")
    key = server.call("POST", "/keys", {"scope": "reader", "study": "captions"})["secret"]
    page = browser.new_page()
    wrong = watched(page)
    page.goto(server.address)
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="captions").wait_for()
    assert not page.get_by_role("link", name="New study").is_visible()
    page.get_by_role("link", name="captions").click()
    page.locator("#raters").get_by_text("program").wait_for()
    names = [one.inner_text() for one in page.locator("button:visible").all()]
    assert not {"Pause", "Finish", "Delete", "Exclude", "Add arms", "New link", "New key"} & set(names)
    assert wrong == []
    page.close()


def test_a_study_is_deleted_when_its_name_was_typed_and_pages_that_show_it_say_so(operator, server):
    made(server)
    page = opened(operator, server)
    second = operator.context.new_page()
    opened(second, server)
    page.get_by_role("button", name="Delete").click()
    yes = page.get_by_role("button", name="Delete for good")
    assert yes.is_disabled()
    page.get_by_label("Type “captions” to confirm").fill("captions")
    yes.click()
    page.get_by_text("There are no studies here yet.").wait_for()
    second.get_by_text("This study was deleted").wait_for()
    assert second.locator("#sections").get_attribute("inert") is not None
    assert page.wrong == []


def test_a_page_goes_on_when_the_server_was_started_again_and_when_the_browser_slept(browser, fresh):
    made(fresh)
    context = signed_in(browser, fresh, viewport=TALL)
    page = opened(context.new_page(), fresh)
    fresh.kill()
    page.get_by_text("The server cannot be reached.").wait_for()
    fresh.start()
    page.get_by_text("The server cannot be reached.").wait_for(state="hidden")
    tell(fresh, "program", 4, "good")
    page.locator("#raters").get_by_text("program").wait_for()
    with page.expect_request(f"**{API}/studies/captions/stream*"):
        page.evaluate("() => { const now = Date.now; Date.now = () => now() + 3_600_000; }")  # an hour later, at once
    fresh.call("POST", "/studies/captions/pause")
    page.get_by_text("paused", exact=True).wait_for()
    context.close()


def test_a_browser_that_is_signed_out_is_told_how_to_get_in(operator, server):
    made(server)
    page = opened(operator, server)
    second = operator.context.new_page()
    second.goto(server.address)
    second.get_by_role("button", name="Sign out").click()
    second.get_by_role("heading", name="Sign in").wait_for()
    page.get_by_text("You are not signed in").wait_for()
    second.goto(f"{server.address}/studies/captions")
    second.get_by_text("boxthirding serve PLACE --new-key").wait_for()


def test_long_texts_are_not_cut_at_any_width(operator, server):
    made(server, arms=[f"caption {number}, " + "which is long " * 8 for number in range(40)])
    link = server.call("POST", "/studies/captions/links", {"name": "first"})["url"]
    Rater(server, link, id="a-rater-with-a-rather-long-id-of-another-service").rate(12, lambda _: "funny")
    page = opened(operator, server)
    page.locator("#share").get_by_text("first").first.wait_for()
    for width in (360, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
    assert violations(page) == []
    assert page.wrong == []


def test_the_words_of_answers_can_be_changed_and_what_they_count_as_cannot(operator, server):
    made(server)
    tell(server, "ann", 3, "good")
    page = opened(operator, server)
    page.get_by_role("button", name="What raters see").click()
    dialog = page.get_by_role("dialog", name="What raters see")
    dialog.get_by_text("What they count as cannot be changed once there are ratings.").wait_for()
    dialog.get_by_label("The answer that counts as 1", exact=True).fill("brilliant")
    dialog.get_by_role("button", name="Save").click()
    page.get_by_text("Saved. Raters see it from now on.").wait_for()
    scale = server.call("GET", "/studies/captions")["about"]["scale"]
    assert [answer["reward"] for answer in scale] == [answer["reward"] for answer in SCALE]
    assert [answer["label"] for answer in scale if answer["reward"] == 1] == ["brilliant"]
    assert page.wrong == []
