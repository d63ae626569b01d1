"""A study as one page: complete, escaped, without network."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from boxthirding.find.report import study_page
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Settings, Study

SCALE = [{"label": "unfunny", "reward": 0.0}, {"label": "funny", "reward": 1.0}]
DETAILS = {"rating": {"question": "How <b>funny</b> is it?", "scale": SCALE}}


class Page(HTMLParser):
    """What a page has in it."""

    def __init__(self, text):
        super().__init__()
        self.text, self.tags, self.words = text, [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def says(self, words):
        return words in " ".join(" ".join(self.words).split())


def made(arms=40, pulls=300, details=DETAILS, **settings):
    study = Study("contest", MemoryJournal(), Settings(arms=arms, details=details, **settings))
    draws = np.random.default_rng(2)
    worth = {}
    for done in range(pulls):
        (ticket,) = study.ask(holder=f"rater {done % 3}")
        mean = worth.setdefault(ticket.label, draws.random())
        study.tell(ticket, float(draws.random() < mean), details={"seconds": 1.2})
    return study


@pytest.fixture(scope="module")
def study():
    return made([f"<script>caption</script> {number}" for number in range(40)])


@pytest.fixture(scope="module")
def page(study):
    return Page(study_page(study))


def test_it_has_every_part(page):
    headings = re.findall(r"<h2>(.*?)</h2>", page.text)
    assert headings == [
        "The answer",
        "The best 10 of 40 arms tried",
        "The ladder",
        "The curves",
        "How it was collected",
        "What may be believed",
    ]
    figures = re.findall(r"<figcaption>(.*?)</figcaption>", page.text)
    assert figures == ["The mean of the answer", "Arms tried", "Ratings over time", "Response times"]


def test_the_answer_and_its_interval(study, page):
    best = study.recommend()
    assert page.says(str(best.label))
    found = re.search(r"Mean (\S+) over ([\d,]+) ratings, 95 % interval (\S+) to (\S+)\.", page.text)
    mean, pulls, low, high = [float(number.replace(",", "")) for number in found.groups()]
    assert (mean, pulls) == (pytest.approx(best.mean, rel=1e-3), best.pulls)
    assert 0 <= low <= mean <= high <= 1


def test_an_interval_stays_on_the_scale():
    scale = [{"label": str(reward), "reward": reward} for reward in range(8)]
    study = Study("rated", MemoryJournal(), Settings(arms=["a", "b"], details={"rating": {"scale": scale}}))
    study.observe_all([*(("a", reward) for reward in (7, 7, 7, 6)), *(("b", reward) for reward in range(8))])
    highest = max(float(high) for high in re.findall(r"95 % interval [\d.]+ to ([\d.]+)\.", study_page(study)))
    assert highest == 7


def test_where_scores_never_differ_there_is_no_interval():
    study = made(arms=5, pulls=0, details={})
    for _ in range(30):
        study.tell(study.ask()[0], 0.5)
    page = study_page(study)
    assert "did not differ in" in page
    assert "Mean 0.500 over" in page
    assert "interval 0.5" not in page
    assert page.count('<td class="span"><span class="soft">–</span></td>') == len(study.view().top)


def test_arms_of_the_ladder_that_begin_alike_are_shown_by_what_tells_them_apart():
    arms = [60 * "long " + name for name in ("one", "two", "three")]
    study = Study("long", MemoryJournal(), Settings(arms=arms))
    study.observe_all((arm, reward) for place, arm in enumerate(arms) for reward in place * [1.0] + [0.0])
    ladder = study_page(study).partition('b3-ladder">')[2].partition("</table>")[0]
    assert re.findall(r"…\w+", ladder) == ["…three", "…two", "…one"]


def test_how_it_was_collected(page):
    for words in (
        "unfunny (0), funny (1)",
        "40; 40 tried",
        "300",
        "chase, seed 0",
        "half under 1.2 seconds",
        "larger",
    ):
        assert page.says(words)
    assert re.search(r"Raters and workers</th><td>3</td>", page.text)


def test_outliers_are_named():
    study = Study("contest", MemoryJournal(), Settings(arms=[f"arm <{number}>" for number in range(12)]))
    draws = np.random.default_rng(2)
    for number in range(400):
        (ticket,) = study.ask()
        study.tell(ticket, 1e6 if number > 200 and number % 29 == 0 else float(draws.normal()))
    view, page = study.view(), Page(study_page(study))
    latest = view.outliers[-1]
    assert view.n_outliers > 0
    assert page.says(f"{view.n_outliers} outliers excluded: {latest.label} 1e+06")


def test_as_many_arms_are_counted_as_may_be_as_good_as_are_marked():
    study = made(arms=40, pulls=80)
    page = Page(study_page(study))
    marked = page.text.count("> may be as good</span>")
    assert marked > 5
    assert page.says(f"{'each' if marked == 9 else marked} of the next 9 arms")


def test_the_curves_say_how_many_results_count_where_some_do_not():
    study = made(arms=40, pulls=80)
    before = Page(study_page(study)).text
    assert "arms tried with 80 ratings" in before
    assert "ratings, with those that do not count" not in before
    study.exclude("rater 1")
    after = Page(study_page(study)).text
    assert f"{study.view().tried} arms tried with {study.pulls} ratings" in after
    assert "ratings, with those that do not count" in after
    assert study.pulls < 80


def test_what_may_be_believed(page):
    assert page.says("Winners look better than they are")
    assert page.says("still running when this page was made")


def test_text_of_others_is_text(page):
    assert [attrs for tag, attrs in page.tags if tag == "script"] == [{"type": "module"}]  # ours
    assert "<b>" not in page.text
    assert page.says("How <b>funny</b> is it?")


def test_it_needs_no_network(page):
    addresses = [value for _, attrs in page.tags for name, value in attrs.items() if name in ("src", "href")]
    assert addresses == []
    assert re.findall(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page.text) == []


def test_a_picture_is_in_the_page():
    study = made({"a": {"text": "A cat", "picture": "1" * 32}, "b": {"picture": "2" * 32}}, 30)
    page = Page(study_page(study, lambda key: ("image/png", key.encode())))
    image, *_ = [attrs for tag, attrs in page.tags if tag == "img"]
    assert image["src"].startswith("data:image/png;base64,")
    assert not [tag for tag, _ in Page(study_page(study)).tags if tag == "img"]


def test_pictures_without_a_text_go_by_their_labels_and_are_in_the_list_where_they_are_small():
    study = made({name: {"text": "", "picture": name * 32} for name in "abc"}, 12)
    page = Page(study_page(study, lambda key: ("image/png", key.encode() * (1 if key[0] != "c" else 100_000))))
    listed = [attrs["alt"] for tag, attrs in page.tags if tag == "img"]
    assert sorted(listed[1:]) == ["a", "b"]
    assert listed[0] == study.recommend().label
    assert re.findall(r'<p class="winner"><span translate="no">(.*?)</span>', page.text) == [listed[0]]


def test_without_a_result_it_says_so():
    page = Page(study_page(made(pulls=0)))
    assert page.says("No result yet, so there is no answer.")
    assert not page.says("First and last result")
    assert not page.says("What may be believed")


@pytest.mark.parametrize(
    ("policy", "said"),
    [("us", "The higher an arm stands"), ("chase", "all are in the final")],
)
def test_a_policy_without_boxes_has_a_ladder_and_no_levels(policy, said):
    study = made([f"<b>{number}</b>" for number in range(40)], policy=policy, pulls=200)
    page = Page(study_page(study))
    headings = re.findall(r"<h2>(.*?)</h2>", page.text)
    assert ("The ladder" in headings, "How it got there" in headings) == (True, False)
    assert page.says(said)
    assert "level" not in re.findall(r"<th[^>]*>(.*?)</th>", page.text)
    table = page.text.partition('b3-ladder">')[2].partition("</table>")[0]
    sizes = [int(size) for _, size in re.findall(r'<td class="b3-n">(.*?)</td><td class="b3-n">(.*?)</td>', table)]
    assert [size for size in sizes if size] == [rung.size for rung in reversed(study.ladder()) if rung.size]
    assert table.count("the leader") == 1
    assert "<b>" not in page.text


def test_empty_rungs_that_follow_each_other_share_a_row():
    study = made(["a", "b", "c"], policy="chase", pulls=0, details=None)
    study.observe_all([*(("a", 1.0) for _ in range(30)), ("b", 0.5), ("c", 0.5)])
    rows = re.findall(r'<td class="b3-n">(.*?)</td><td class="b3-n">(.*?)</td>', study_page(study))
    assert rows == [("27–40", "1"), ("2–26", "0"), ("1", "2")]


def test_a_report_says_how_many_arms_of_a_rung_keep_up():
    study = made(policy="chase", arms=400, pulls=60, details=None)
    for ticket in study.ask(40):
        study.tell(ticket, 1.5)
    (keep_up,) = {rung.keep_up for rung in study.ladder() if rung.fewest == 1}
    assert keep_up > 1
    assert Page(study_page(study)).says(f"; {keep_up} of these arms keep up")


def test_a_report_says_that_all_arms_are_in_the_final_once_every_arm_has_been_tried():
    study = made(policy="chase", arms=5, pulls=4)
    page = Page(study_page(study))
    assert page.says("While an arm keeps up with the leader, it is rated more and climbs")
    assert not page.says("final:")
    while study.view().untried:
        (ticket,) = study.ask()
        study.tell(ticket, 1.0)
    said = "Every arm has been tried, so all are in the final: those that could still be the best are rated in turn."
    assert Page(study_page(study)).says(said)


def test_a_policy_with_boxes_is_not_said_to_have_none_before_arms_have_met():
    page = Page(study_page(made(pulls=1, policy="b3")))
    assert "<h2>How it got there</h2>" in page.text
    assert page.says("It has met no other arm in a box yet.")
    assert page.says("contest , running")


def test_a_study_that_no_server_collected_has_no_question():
    page = Page(study_page(made(details=None, pulls=60)))
    assert page.says("contest")
    assert not page.says("Question")


def test_the_columns_of_the_answer_are_shown_unless_raters_did_not_see_them():
    arms = {f"c{number}": {"arm": f"c{number}", "x": "0.5", "<y>": 7, "note": "", "more": [1]} for number in range(9)}
    text = study_page(made(arms, pulls=30, details=None))
    assert re.search(r'<p class="winner">.*?c\d.*?</p><p class="soft">.*?x 0\.5, &lt;y&gt; 7<', text)
    assert "x 0.5" not in study_page(made(arms, pulls=30))


def test_arms_with_the_same_numbers_are_marked_alike():
    names = [f"arm {number}" for number in range(10)]
    study = Study("equal", MemoryJournal(), Settings(arms=names, known=dict.fromkeys(names, [0.0, 1.0] * 4)))
    assert study_page(study).count("may be as good</span>") == 9


def test_arms_that_were_withdrawn_are_not_among_those_tried():
    study = made(list("abcdef"), pulls=3)
    for arm in study.arms()[:2]:
        study.withdraw(arm.label)
    assert Page(study_page(study)).says("4; 1 tried; 2 more withdrawn")


def test_arms_that_are_not_in_the_order_of_their_means_say_why():
    known = {"many": [0.8, 0.9, 1.0] * 20, "few": [0.95], "bad": [0.0, 0.1, 0.2] * 9}
    study = Study("trusted", MemoryJournal(), Settings(arms=list(known), known=known))
    assert [arm.label for arm in study.top(3)] == ["many", "few", "bad"]
    assert Page(study_page(study)).says("a mean of few ratings is trusted less")
    study.withdraw("few")
    assert "trusted less" not in study_page(study)


def test_the_curve_is_the_mean_of_the_answer_at_every_rating():
    study = made(pulls=0, details=None)
    draws, heights = np.random.default_rng(2), []
    for _ in range(120):
        (ticket,) = study.ask()
        study.tell(ticket, float(draws.normal()))
        heights.append(study.recommend().mean)
    path = re.search(r'<path d="([^"]*)" class="b3-line"', study_page(study))[1]
    ys = [float(y) for y in re.findall(r"[V ]([\d.]+)", path)]
    changed = [mean for place, mean in enumerate(heights) if place == 0 or heights[place - 1] != mean]
    moments = [moment.mean for moment in study.history()]
    assert [mean for place, mean in enumerate(moments) if place == 0 or moments[place - 1] != mean] == changed
    assert np.corrcoef(ys, moments)[0, 1] < -0.9999  # upwards is less
    assert len({*ys}) > 10


def test_the_climb_ends_with_where_the_answer_stands():
    study = made(policy="b3")
    story = study.why(study.recommend().label)
    assert story.place.startswith("the answer; at level ")
    assert study_page(study).count(story.place) == 1


def test_results_left_out_are_named():
    study = made(pulls=60)
    study.exclude("rater 1")
    page = Page(study_page(study))
    assert page.says("Results of 1 rater were left out by hand.")
    assert page.says("40 of 60 told")


def test_known_results_make_the_chance_inexact():
    assert Page(study_page(made(pulls=30, known={3: 1.0}))).says("Known results put some arms first")
