import re
from dataclasses import replace
from html.parser import HTMLParser

from synthetic import evidence

from boxthirding.lab.paper.claims import Claim, Finding, Measurement, Verdict
from boxthirding.lab.paper.evidence import Estimate
from boxthirding.lab.paper.figures import FigureTable, PaperFigure
from boxthirding.lab.paper.page import BESIDE, CLAIMS, Page, sections

VOID = {"meta", "img", "br"}


def claim(key, verdict, numbers=1):
    measured = tuple(Measurement(f"number {k}", Estimate(0.5, 0.01)) for k in range(numbers))
    told = Claim(key, f"Title <{key}>", "What it says & means", "section 1", "The rule", lambda _: None)
    return told, Finding(verdict, "Because.", measured)


PICTURE = PaperFigure("levels", "A title", "What to see.", ("a",), [[1]], lambda: None)
PAGE = Page(
    instance="The captions.",
    scale="Few.",
    findings=[claim("one", Verdict.HOLDS), claim("two", Verdict.HOLDS, 20), claim("three", Verdict.FAILS)],
    sections={"A part": [PICTURE]},
    drawn={"levels": b"<svg/>"},
    command="boxthirding reproduce --quick",
    made={"seed": "893"},
)


def test_too_few_replicates_are_counted_only_where_there_are():
    assert "too few" not in PAGE.html()
    few = replace(PAGE, findings=[*PAGE.findings, claim("four", Verdict.TOO_FEW)])
    assert '<li class="soft"><strong>1</strong>? claim too few to say</li>' in few.html()


def test_numbers_of_a_table_know_their_columns_where_these_do_not_fit():
    table = FigureTable(("Policy", "Ours", "25 % & more"), [("B3", "0.1", "–")], "A note.")
    html = replace(PAGE, sections={"A part": [replace(PICTURE, table=table)]}).html()
    assert '<tr><td>B3</td><td class="number" data-label="Ours">0.1</td>' in html
    assert '<td class="number" data-label="25 % &amp; more">–</td></tr>' in html


class Balanced(HTMLParser):
    """Fails on a tag that is not closed where it was opened."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], set(), set()

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        known = dict(attrs)
        self.ids.add(known.get("id"))
        if tag == "a":
            self.links.add(known["href"].removeprefix("#"))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_its_links_lead_somewhere_and_nothing_is_fetched():
    page = Balanced()
    page.feed(PAGE.html())
    assert page.open == []
    assert page.links <= page.ids
    assert not re.search(r"""(src|href)=["'](?!data:|\#)""", PAGE.html())
    assert "url(" not in PAGE.html()


def test_a_figure_stands_beside_the_first_claim_it_decides_and_later_ones_link_to_it():
    findings = [claim("candidate-orders", Verdict.HOLDS), claim("candidate-bounds", Verdict.HOLDS)]
    sections = {"A part": [replace(PICTURE, key="candidates")], "Another": [PICTURE]}
    page = replace(PAGE, findings=findings, sections=sections, drawn=dict.fromkeys(("candidates", "levels"), b""))
    first, second = page.html().split("<article")[1:]
    assert '<figure id="candidates">' in first
    assert '<a href="#candidates">A title</a>' in second
    assert page.html().count("<figure") == 2
    assert "A part" not in page.html()  # nothing is left to stand there


def test_figures_are_named_for_claims_that_exist_and_exist_themselves():
    assert set(BESIDE) <= {one.key for one in CLAIMS}
    known = {one.key for part in sections(evidence()).values() for one in part}
    assert {key for keys in BESIDE.values() for key in keys} <= known


def test_the_contents_list_every_claim_with_its_verdict_and_stay_in_view():
    contents = PAGE.html().partition("<nav")[2].partition("</nav>")[0]
    assert '<a href="#three"><span class="fails">✗</span> Title &lt;three&gt;</a>' in contents
    assert "nav { position: sticky; top: 0;" in PAGE.html()


def test_the_summary_counts_verdicts():
    page = PAGE.html()
    assert "<strong>2</strong>✓ claims hold<" in page
    assert "<strong>0</strong>◐ claims hold in part<" in page
    assert "<strong>1</strong>✗ claim does not hold<" in page


def test_text_is_escaped():
    assert "Title &lt;one&gt;" in PAGE.html()
    assert "says &amp; means" in PAGE.html()


def test_many_numbers_open_on_demand_and_few_are_shown():
    assert PAGE.html().count("<details>") == 1
    assert "The 20 numbers" in PAGE.html()
    assert PAGE.html().count("0.5000 ± 0.0100") == 22


def test_it_fits_a_phone_and_the_dark():
    page = PAGE.html()
    assert 'name="viewport" content="width=device-width' in page
    assert "prefers-color-scheme: dark" in page
    assert "overflow-x: auto" in page


def test_the_same_inputs_give_the_same_page():
    assert replace(PAGE).html() == PAGE.html()
    assert "boxthirding reproduce --quick" in PAGE.html()
    assert "893" in PAGE.html()
