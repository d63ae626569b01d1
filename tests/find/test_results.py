"""A result as people read it: printed, as a page, as a table, as pictures."""

import bisect
import builtins
import itertools
import math
import pickle
import random
import re
import sys
from xml.etree import ElementTree as ET

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import boxthirding as b3
from boxthirding.errors import InvalidInput, MissingExtra
from boxthirding.find import find_best

QUIET = {"progress": False}


def noisy(means, deviation, seed=1):
    draw = random.Random(seed)
    return lambda arm: draw.gauss(means[arm], deviation)


@pytest.fixture(scope="module")
def found():
    means = {f"name {k}": k / 2_000 for k in range(2_000)}
    return find_best(list(means), noisy(means, 0.3), budget=600, **QUIET)


@pytest.fixture(scope="module")
def boxed():
    means = {f"name {k}": k / 2_000 for k in range(2_000)}
    return find_best(list(means), noisy(means, 0.3), budget=600, policy="b3", **QUIET)


@pytest.fixture(autouse=True)
def _without_a_screen():
    with mpl.rc_context({"backend": "Agg"}):
        yield
    plt.close("all")


# Printed


def test_it_says_what_won_how_far_to_trust_it_what_is_next_and_what_it_took(found):
    lines = [line for line in str(found).splitlines() if "not simply by mean" not in line]
    best, second, third, fourth = found.top(4)
    assert lines[0] == f"Best: {best.label!r}"
    mean, low, high = map(
        float, re.search(r"mean (\S+) over \d+ pulls, 95 % interval (\S+) to (\S+)$", lines[1]).groups()
    )
    assert low < mean < high
    assert high - low == pytest.approx(2 * 1.96 * 0.3 / best.pulls**0.5, rel=0.25)
    assert lines[2].startswith("  Winners look better than they are, and 'name ")
    assert lines[2].endswith(" may be as good or better.")
    assert lines[3] == "  found.confirm(4, pulls=50) re-evaluates them (200 more evaluations)."
    assert lines[4] == "  Next:"
    for line, arm in zip(lines[5:8], (second, third, fourth), strict=True):
        assert line.split("  mean ")[0].strip() == repr(arm.label)
        assert line.endswith(f"  mean {arm.mean:.4g} over {arm.pulls} pulls")
    assert re.fullmatch(
        r"  \d+ of 2,000 arms are in the race: one of the best 1 % is among them with probability [\d.]+ %\.", lines[8]
    )
    assert re.fullmatch(r"  Spent 600 of 600 pulls, 0 left, in \S+ s; the budget is spent\.", lines[9])
    assert len(lines) == 10


@pytest.mark.parametrize("above", [0, 1e4, -1e6, 1e7])
def test_scores_that_lie_close_together_far_from_zero_can_be_told_apart(above):
    draw = random.Random(1)
    found = find_best(range(200), lambda arm: above + arm / 200 + draw.gauss(0, 0.3), budget=800, policy="b3", **QUIET)
    text = str(found)
    means = re.findall(r"mean (\S+) over", text)
    ends = re.search(r"interval (\S+) to (\S+)", text).groups()
    assert "e+" not in text
    assert [float(mean.replace(",", "")) for mean in means] == pytest.approx(
        [arm.mean for arm in found.top(4)], abs=0.01
    )
    assert len({means[0], *ends}) == 3
    again = str(found.confirm(3, pulls=20))
    shown = re.findall(r"  (\S+) \((\S+) to (\S+)\), 20 pulls", again)
    assert len(shown) == 3
    assert all(len(set(interval)) == 3 for interval in shown)
    page = parsed(found._repr_html_())
    cells = [cell.text for cell in page.iterfind(".//td[@class='b3-n']")]
    assert cells[::2] == means
    ticks = [text for text in page.iter("{http://www.w3.org/2000/svg}text") if text.get("text-anchor") == "end"][:-1]
    assert len({tick.text for tick in ticks}) == len(ticks) > 1
    assert all(6 * len(tick.text) <= float(tick.get("x")) for tick in ticks)  # a letter is about 6 wide
    climb = page.find(".//ol")
    assert "e+" not in ET.tostring(climb, "unicode")
    story = str(found.session.why(found.label))
    assert not re.search(r"e\+|\de-", story)


def test_the_interval_goes_by_the_noise_of_the_arm_itself():
    draw = random.Random(3)
    found = find_best(
        [1, 2, 3], lambda arm: draw.gauss(arm, {1: 4.0, 2: 4.0, 3: 0.1}[arm]), budget=300, policy="us", **QUIET
    )
    low, high = map(float, re.search(r"interval (\S+) to (\S+)", str(found)).groups())
    alike = 2 * 1.98 * 0.1 / 10  # a hundred pulls
    assert (found.best, found.recommendation.pulls) == (3, 100)
    assert alike < high - low < 20 * alike
    assert high - low < 0.5  # 1.3 by the spread over all arms


def test_a_run_of_equal_scores_is_not_taken_for_certainty():
    draw = random.Random(3)
    found = find_best([0.5, 1.0], lambda arm: float(draw.random() < arm), budget=40, policy="us", **QUIET)
    low, high = map(float, re.search(r"mean 1 over 20 pulls, 95 % interval (\S+) to (\S+)", str(found)).groups())
    assert 0.05 < high - low < 0.4


def test_the_interval_leaves_out_outliers():
    clean = noisy(range(20), 1.0)
    scores = itertools.count()

    def evaluate(arm):
        return 1e6 if next(scores) == 49 else clean(arm)

    found = find_best(20, evaluate, budget=200, **QUIET)
    low, high = map(float, re.search(r"interval (\S+) to (\S+)", str(found)).groups())
    assert len(found.outliers) == 1
    assert high - low < 1


def test_the_interval_of_a_resumed_study_goes_by_all_its_results(tmp_path):
    evaluate = noisy(range(5), 1.0)
    find_best(5, evaluate, budget=100, study=tmp_path / "run.db", **QUIET)
    resumed = find_best(5, evaluate, budget=101, study=tmp_path / "run.db", **QUIET)
    assert "95 % interval" in str(resumed)


def test_a_clear_winner_is_called_one():
    printed = str(find_best(3, noisy([0.0, 5.0, 1.0], 0.1), budget=60, **QUIET))
    assert (
        "but this one leads the next 2 arms by more than noise explains.\n  found.confirm(1, pulls=50) re-evaluates it"
        in printed
    )
    assert "All 3 arms are in the race." in printed


def test_small_numbers_win_when_they_are_good():
    printed = str(find_best(3, noisy([0.0, 5.0, 1.0], 0.1), budget=60, direction="minimize", **QUIET))
    assert printed.startswith("Best: 0\n")
    assert "leads the next 2 arms by more than noise explains" in printed


def test_an_arm_without_rivals_leads_no_one():
    printed = str(find_best(["only"], noisy({"only": 0.0}, 1.0), budget=10, **QUIET))
    assert (
        "Winners look better than they are.\n  found.confirm(1, pulls=50) re-evaluates it (50 more evaluations)."
        in printed
    )


def test_without_noise_the_mean_is_exact_and_there_is_nothing_to_confirm():
    printed = str(find_best(3, float, budget=30, **QUIET))
    assert re.search(r"of the same arm did not differ in \d\d repeats: if they never do, its mean is exact\.", printed)
    assert "confirm" not in printed
    assert "interval" not in printed


def test_arms_that_were_withdrawn_are_counted():
    def evaluate(arm):
        if arm < 3:
            raise ValueError(arm)
        return float(arm)

    printed = str(find_best(5, evaluate, budget=30, on_error="withdraw", **QUIET))
    assert re.search(r"9 evaluations failed; the last: .*\.\n  3 arms are withdrawn\.$", printed)


def test_with_few_results_nothing_is_said_of_the_noise():
    printed = str(find_best(50, noisy(range(50), 3.0), budget=5, **QUIET))
    assert "interval" not in printed
    advice = "found.confirm(4, pulls=50) re-evaluates the best (200 more evaluations)."
    assert f"  Winners look better than they are.\n  {advice}" in printed
    assert "4 of 50 arms are in the race: the best of all is among them with probability 8 %." in printed


def test_arms_without_end_have_no_number():
    printed = str(find_best(itertools.count(), noisy(range(1000), 3.0), budget=9, **QUIET))
    assert re.search(
        r"\n  \d arms are in the race: one of the best 1 % is among them with probability \d\.?\d* %\.", printed
    )


@pytest.mark.parametrize(
    ("arms", "shown"),
    [
        ([{"rate": 0.1, "depth": 3}], "rate=0.1, depth=3 (arm 0)"),
        ([{"rate": 0.1, "depth": 0}], "rate=0.1, depth=0 (arm 0)"),
        ({"mild": {"rate": 0.1, "arm": "mild"}}, "'mild': rate=0.1"),
        (["plain"], "'plain'"),
        ([(1, 2)], "(1, 2) (arm 0)"),
        ({"x": 0.25}, "'x': 0.25"),
        ([7], "7"),
        (["long " * 40], "'long long long long long long…ng long long long long long '"),
        ([{"prompt": "long " * 40, "k": 1}], "prompt='long long long long…ng long long long ', k=1 (arm 0)"),
        ([{f"key {k}": k for k in range(50)}], None),
        ([{k: k * 30 for k in "abcd"}], f"a='{'a' * 30}', b='{'b' * 30}', … (arm 0)"),
        ([{"say": "it's " * 20}], "say=\"it's it's it's it's…'s it's it's it's \" (arm 0)"),
        (["two\nlines"], "'two\\nlines'"),
    ],
)
def test_arms_are_shown_as_themselves(arms, shown):
    first = str(find_best(arms, lambda _: 1.0, budget=2, **QUIET)).splitlines()[0]
    assert len(first) < 130
    assert shown is None or first == f"Best: {shown}"


def test_arms_that_begin_alike_are_shown_by_what_tells_them_apart():
    preamble = "You are a helpful assistant that answers customer questions politely, and "
    arms = [
        f"{preamble}{task} {style}, and number {number}."
        for task in ("invents no facts whatever it is asked about the product.", "cites the manual for every claim.")
        for style in ("Be brief", "Use formal language in every sentence")
        for number in range(75)
    ]
    found = find_best(arms, noisy({arm: k % 75 / 75 for k, arm in enumerate(arms)}, 0.3), budget=900, **QUIET)
    printed = str(found).splitlines()
    names = [re.match(r" *(?:Best: )?('.*')", line)[1] for line in printed if line.startswith(("Best", "    '"))]
    confirmed = [re.match(r"  ('.*')", line)[1] for line in repr(found.confirm(20, 2)).splitlines()[1:]]
    shown = [cell.text for cell in parsed(found._repr_html_()).iterfind(".//table[@class='b3-top']//td[1]")]
    drawn = [text.get_text() for text in found.plot("arms").texts]
    for texts, most in ((names, 60), (confirmed, 60), (shown, 60), (drawn, 24)):
        assert len({*texts}) == len(texts) >= 4
        assert max(map(len, texts)) <= most
    assert names == shown
    assert len(confirmed) == 20
    trust = next(line for line in printed if line.startswith("  Winners"))
    assert all(name in trust for name in names[1:]) or "leads" in trust


def test_long_values_of_arms_are_shown_by_what_tells_them_apart():
    prompt = "You are a helpful assistant that answers customer questions politely, and "
    arms = [{"prompt": f"{prompt}{end}", "rate": 0.1} for end in ("be brief", "be kind", "")]
    found = find_best(arms, lambda arm: float(len(arm["prompt"])), budget=12, **QUIET)
    confirmed = [line.strip().split("  ")[0] for line in repr(found.confirm(3, 2)).splitlines()[1:]]
    assert confirmed == [
        "prompt='…and be brief', rate=0.1 (arm 0)",
        "prompt='…and be kind', rate=0.1 (arm 1)",
        "prompt='…and ', rate=0.1 (arm 2)",
    ]


@pytest.mark.parametrize("are_numbered", [False, True])
def test_the_last_line_on_the_screen_names_the_best_arm_by_what_tells_it_from_the_next(capsys, are_numbered):
    prompts = [f"You are helpful, {10 * 'and kind, '}say {word}, {10 * 'and polite, '}end." for word in ("no", "yes")]
    arms = [{"prompt": prompt, "k": 1} for prompt in prompts] if are_numbered else prompts
    found = find_best(arms, lambda arm: float("yes" in str(arm)), budget=12, progress=True)
    said = next(line for line in capsys.readouterr().err.splitlines() if line.startswith("Best: "))
    assert said.partition(", mean")[0] == str(found).splitlines()[0]
    assert "…yes, and" in said


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize(
    ("policy", "why"),
    [("chase", "a mean of few pulls is trusted less"), ("b3", "arms of a higher level come first")],
)
def test_it_says_why_means_are_not_in_order(direction, policy, why):
    sentence = f"Best first, and not simply by mean: {why}."
    said = []
    for seed in range(8):
        found = find_best(
            200,
            noisy([k / 200 for k in range(200)], 1.0, seed),
            budget=400,
            direction=direction,
            policy=policy,
            **QUIET,
        )
        means = [arm.mean for arm in found.top(4)]
        in_order = means == sorted(means, reverse=direction == "maximize")
        assert str(found).count(f"\n  {sentence}\n") == found._repr_html_().count(sentence) == (not in_order)
        said.append(not in_order)
    assert len({*said}) == 2  # both happen


def test_numbered_arms_go_by_the_parameters_in_which_they_differ(capsys):
    draw = random.Random(4)
    arms = [{"model": "small", "rate": draw.random(), "depth": draw.randrange(9)} for _ in range(12)]
    found = find_best(arms, lambda arm: draw.gauss(arm["rate"], 2.0), budget=100)
    best, *others = found.top(4)
    named = [f"(rate={arms[arm.label]['rate']:.4g}, depth={arms[arm.label]['depth']})" for arm in others]
    trust = f"  Winners look better than they are, and {named[0]}, {named[1]} and {named[2]} may be as good or better."
    assert trust in str(found).splitlines()
    assert f"depth={arms[best.label]['depth']} (arm {best.label}), mean " in capsys.readouterr().err.splitlines()[-1]


def test_long_parameters_of_numbered_arms_are_shortened_but_told_apart():
    arms = [{"prompt": "You are a helpful assistant that answers politely. " * 3 + word, "k": 1} for word in "abcd"]
    draw = random.Random(1)
    found = find_best(arms, lambda _: draw.gauss(0, 1), budget=40, **QUIET)
    trust = next(line for line in str(found).splitlines() if line.startswith("  Winners"))
    assert len(trust) < 260
    assert all(
        f"…{arms[arm.label]['prompt'][-1]}'" in trust or f"{arms[arm.label]['prompt'][-8:]}'" in trust
        for arm in found.top(4)[1:]
    )
    assert "k=1" not in trust


def test_arrays_inside_an_arm_are_no_trouble():
    import numpy as np

    arms = [{"weights": np.arange(1000), "name": "a"}]
    assert "name='a' (arm 0)" in str(find_best(arms, lambda _: 1.0, budget=2, **QUIET))


def test_one_arm_in_the_race_is_not_said_to_be_several():
    found = find_best(range(100_000), float, budget=1, **QUIET)
    assert "1 of 100,000 arms is in the race: it is one of the best 1 % with probability 1 %." in str(found)
    assert str(found.session.screening(0.01)) == (
        "1 of 100,000 arms is in the race: it is one of the best 1 % with probability 1 %"
    )
    assert str(found.session.why(found.label)).splitlines() == [
        f"{found.label}: 1 pull, mean {found.label:,}; the answer",
    ]


def test_what_is_shown_without_print_is_the_same_text(found):
    story = found.session.why(found.label)
    assert repr(story) == str(story)
    assert repr(story).startswith(f"{found.label}: ")
    assert repr(found.session) == "<Session of 2,000 arms, policy chase, 600 pulls>"
    assert repr(b3.Session(iter("ab"))) == "<Session of arms from an iterator, policy chase, 0 pulls>"


def test_the_legend_of_a_plot_hides_neither_its_curve_nor_its_title():
    for arms in (["a name that is much too long for a picture", "b"], range(2_000)):
        axes = find_best(arms, lambda _: 1.0, budget=30, policy="b3", **QUIET).plot()
        axes.figure.canvas.draw()
        legend, title = axes.get_legend().get_window_extent(), axes._left_title.get_window_extent()
        assert legend.y0 >= axes.bbox.y1
        assert legend.x0 > title.x1
        assert legend.y1 <= axes.figure.bbox.y1


def test_nothing_found_says_so():
    found = find_best(3, lambda _: None, budget=4, on_error="withdraw", **QUIET)
    assert str(found).startswith("Nothing found: no evaluation gave a result\n  Spent 4 of 4 pulls")
    assert "Nothing found: no evaluation gave a result" in found._repr_html_()


# As a page


@pytest.mark.parametrize("shown", [repr, lambda found: found._repr_html_()], ids=["text", "page"])
def test_a_study_is_viewed_once_to_be_shown(found, shown, monkeypatch):
    views = []
    view = found.session.view
    monkeypatch.setattr(found.session, "view", lambda: views.append(view()) or views[-1])
    shown(found)
    assert len(views) == 1


def parsed(html):
    return ET.fromstring(html)  # noqa: S314  # our own


def test_a_winner_that_was_dropped_once_is_said_to_be_introduced_again_and_to_be_the_answer():
    draw = random.Random(11)
    quality = [draw.random() for _ in range(60)]
    seen = 0
    for seed in range(20):
        found = find_best(range(60), noisy(quality, 0.5, seed), budget=800, policy="b3", **QUIET)
        story = found.session.why(found.label)
        assert story.place.startswith("the answer; at level ")
        assert str(story).splitlines()[0].endswith(f"; {story.place}")
        rows = ["".join(row.itertext()) for row in parsed(found._repr_html_()).iterfind(".//ol/li")]
        assert rows[-1].endswith(f" over {found.recommendation.pulls} pulls; {story.place}")
        dropped = [place for place, row in enumerate(rows) if row.endswith("third of three, dropped from the boxes")]
        seen += len(dropped)
        assert all(rows[place + 1].endswith("introduced again") for place in dropped)
    assert seen


def test_one_function_says_where_an_arm_stands():
    session = b3.Session(400)
    find_best(None, noisy([k / 400 for k in range(400)], 0.3), budget=60, study=session, **QUIET)
    session.tell_all([(ticket, 1.5) for ticket in session.ask(40)])
    climbers = [arm for rung in session.ladder() for arm in rung.arms]
    words = {"leads": "the answer", "keeps up": "keeps up with the answer", "": ""}
    assert {arm.label: session.why(arm.label).place for arm in climbers} == {
        arm.label: words[arm.standing] for arm in climbers
    }
    assert {arm.standing for arm in climbers} == {*words}
    assert session.why(session.recommend().label).place == "the answer"


def test_a_page_has_the_curve_the_climb_and_the_runners_up(boxed):
    found = boxed
    page = parsed(found._repr_html_())
    text = " ".join(page.itertext())
    assert "The answer over time" in text
    assert "Its climb" in text
    for arm in found.top(4):
        assert repr(arm.label) in text
    curve = page.find(".//{http://www.w3.org/2000/svg}svg")
    dots = curve.findall("{http://www.w3.org/2000/svg}circle")
    assert len(dots) == len(found.history) + 1  # and where it is now


def test_a_page_has_the_ladder_of_a_policy_without_boxes_and_no_levels(found, boxed):
    page = parsed(found._repr_html_())
    page.find(".//style").clear()
    text = " ".join(page.itertext())
    assert "While an arm keeps up with the leader, it is pulled more and climbs" in text
    assert "level" not in text.lower()
    ladder = [rung for rung in reversed(found.session.ladder(count=1)) if rung.size]
    rows = [row for row in page.iterfind(".//table[@class='b3-top b3-ladder']/tbody/tr") if row[1].text != "0"]
    assert len(rows) == len(ladder) > 5
    for row, rung in zip(rows, ladder, strict=True):
        assert row[0].text == (f"{rung.fewest}" if rung.fewest == rung.most else f"{rung.fewest}–{rung.most}")
        assert (row[1].text, row[2][0].text) == (f"{rung.size:,}", repr(rung.arms[0].label))
    assert [row[2][1].text.endswith(", the leader") for row in rows].count(True) == 1
    assert "The ladder" not in boxed._repr_html_()


def test_a_page_says_that_all_arms_are_in_the_final_once_every_arm_has_been_tried():
    draw = random.Random(5)
    found = find_best(3, lambda _: draw.gauss(0, 1), budget=60, **QUIET)
    assert "Every arm has been tried, so all are in the final" in found._repr_html_()


def test_a_page_needs_nothing_from_elsewhere_and_no_script(found):
    html = found._repr_html_().replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|<script|@import|url\(", html)


@pytest.mark.parametrize("policy", ["chase", "b3", "us"])
def test_labels_are_text_in_a_page(policy):
    nasty = ["<script>alert(1)</script>", "a & b", '"><b>']
    html = find_best(nasty, len, budget=30, policy=policy, **QUIET)._repr_html_()
    parsed(html)
    assert "<script" not in html


def test_what_a_terminal_would_obey_is_an_escape_everywhere():
    arms = [{"text": "\x1b[31mred", "\x07": 1}, {"text": "caf\udce9"}]
    for given in (arms, ["\x1b[31mred", "caf\udce9"]):
        found = find_best(given, lambda _: 1.0, budget=20, **QUIET)
        for shown in (str(found), found._repr_html_()):
            assert shown.encode("utf-8").decode("utf-8").replace("\n", "").isprintable()
        found.plot("arms").figure.canvas.draw()


def test_a_curve_of_one_pull_and_one_of_equal_means_are_drawn():
    for budget in (1, 20):
        parsed(find_best(2, lambda _: 0.0, budget=budget, **QUIET)._repr_html_())


# As a table


def test_a_table_has_a_row_for_each_arm_tried(found):
    table = found.to_dataframe()
    assert list(table.columns) == ["label", "mean", "pulls", "level", "withdrawn"]
    assert len(table) == found.session.view().tried
    assert (table["pulls"].sum(), table["label"][0]) == (600, found.label)
    assert table["mean"][0] == found.recommendation.mean


def test_the_keys_of_arms_are_columns():
    arms = [{"rate": 0.1 * k, "mean": "theirs"} for k in range(5)]
    table = find_best(arms, lambda arm: arm["rate"], budget=30, **QUIET).to_dataframe()
    assert list(table.columns) == ["label", "rate", "arm_mean", "mean", "pulls", "level", "withdrawn"]
    assert table["rate"][0] == 0.4
    named = find_best({"a": 1.0, "b": 2.0}, lambda arm: arm, budget=30, **QUIET).to_dataframe()
    assert list(named["arm"]) == [2.0, 1.0]


def test_withdrawn_arms_are_in_the_table():
    table = find_best(3, lambda arm: 1 / (arm - 1), budget=30, catch=ZeroDivisionError, **QUIET).to_dataframe()
    assert set(table["label"]) == {0, 2}


def without(monkeypatch, package):
    real = builtins.__import__

    def imports(name, *rest):
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *rest)

    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", imports)


def test_without_pandas_it_says_what_to_install(found, monkeypatch):
    without(monkeypatch, "pandas")
    with pytest.raises(MissingExtra, match=r"to_dataframe needs pandas, .* pip install 'boxthirding\[pandas\]'"):
        found.to_dataframe()


def test_history_has_means(found):
    assert all(type(answer.mean) is float for answer in found.history)
    assert found.history[-1].label == found.label
    pulls, label, mean = found.history[0]
    assert (pulls, label, mean) == found.history[0]


# Pictures


@pytest.mark.parametrize("kind", ["answer", "arms", "boxes"])
def test_axes_in_axes_out(boxed, kind):
    figure, axes = plt.subplots()
    assert boxed.plot(kind, ax=axes) is axes
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    figure.canvas.draw()


@pytest.mark.parametrize("kind", ["answer", "arms", "boxes"])
def test_sessions_studies_and_results_have_the_same_pictures(kind, tmp_path):
    means = {f"name {k}": k / 20 for k in range(20)}
    with b3.open_study(tmp_path / "study.db", arms=list(means), policy="b3") as study:
        session = b3.Session(list(means), policy="b3")
        for each in (session, study):
            found = find_best(None, means.get, budget=100, study=each, **QUIET)
            axes, theirs = each.plot(kind), found.plot(kind)
            axes.figure.canvas.draw()
            assert (axes.get_xlabel(), axes.get_title()) == (theirs.get_xlabel(), theirs.get_title())


@pytest.mark.parametrize("pulls", [1, 3, 30, 400, 3_000])
def test_the_axis_of_the_pulls_has_numbers_on_it(pulls):
    for kind in ("answer", "arms"):
        axes = find_best(40, noisy(range(40), 9.0), budget=pulls, **QUIET).plot(kind)
        axes.figure.canvas.draw()
        low, high = axes.get_xlim()
        ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        shown = [label.get_text() for place, label in ticks if low <= place <= high]
        numbers = [*filter(None, shown)]
        assert 1 <= len(set(numbers)) == len(numbers) <= 9


def watched(arms, evaluate, budget, **more):
    """Return a result, and the answer after each pull."""
    answers = []
    found = find_best(arms, evaluate, budget=budget, callbacks=[lambda now: answers.append(now.best)], **more, **QUIET)
    return found, [(best.label, best.mean) for best in answers]


def drawn_at(line, pull):
    """Return the height at a pull of a line of steps."""
    times = list(line.get_xdata())
    return line.get_ydata()[bisect.bisect_right(times, pull) - 1]


def svg_points(html):
    """Return the corners of the curve of a page."""
    path = parsed(html).find(".//{http://www.w3.org/2000/svg}path").get("d")
    steps = [(float(x), float(y)) for x, y in re.findall(r"[MH]([\d.]+)[V ]([\d.]+)", path)]
    assert re.sub(r"[MHV ][\d.]+", "", path) == ""
    return steps


@pytest.mark.parametrize("policy", ["chase", "b3", "us"])
def test_the_curve_is_the_mean_of_the_answer_at_every_pull(policy):
    found, answers = watched(range(40), noisy([k / 40 for k in range(40)], 0.3), 150, policy=policy)
    line, of_now = found.plot().get_lines()[0], found.plot().get_lines()[2]
    assert [drawn_at(line, 1 + k) for k in range(150)] == [mean for _, mean in answers]
    now = [mean if label == found.label else math.nan for label, mean in answers]
    assert np.array_equal([drawn_at(of_now, 1 + k) for k in range(150)], now, equal_nan=True)
    heights = {}
    for (_, mean), (_, y) in zip(
        zip(line.get_xdata(), line.get_ydata(), strict=True), svg_points(found._repr_html_()), strict=True
    ):
        assert heights.setdefault(mean, y) == y
    assert len({*heights}) > 5


def test_the_curve_of_a_long_run_is_never_behind_by_more_than_a_fiftieth():
    draw = random.Random(7)
    quality = [draw.random() for _ in range(5_000)]
    found, answers = watched(range(5_000), lambda arm: quality[arm] + draw.gauss(0, 0.3), 2_000)
    line = found.plot().get_lines()[0]
    for pull in range(1, 2_001):
        assert drawn_at(line, pull) in {mean for _, mean in answers[max(0, int(0.98 * pull) - 1) : pull]}
    assert len(line.get_xdata()) == len(svg_points(found._repr_html_())) < 600


def test_dots_stand_where_another_arm_became_the_answer(found):
    lines = found.plot().get_lines()
    dots = {(x, y) for line in (lines[1], lines[3]) for x, y in zip(*line.get_data(), strict=True) if not math.isnan(y)}
    now = (600, found.recommendation.mean)
    assert dots == {*((answer.pulls, answer.mean) for answer in found.history), now}
    assert [(x, y) for x, y in zip(*lines[3].get_data(), strict=True) if not math.isnan(y)][-1] == now


@pytest.mark.parametrize("kept", ["file", "session"])
def test_after_a_resume_history_and_pictures_are_of_the_whole_study(kept, tmp_path):
    evaluate = noisy([k / 40 for k in range(40)], 0.3)
    study = {"study": tmp_path / "run.db"} if kept == "file" else {"study": b3.Session(40)}
    first, before = watched(40 if kept == "file" else None, evaluate, 80, **study)
    found, after = watched(40 if kept == "file" else None, evaluate, 160, **study)
    line = found.plot().get_lines()[0]
    assert [drawn_at(line, 1 + k) for k in range(160)] == [mean for _, mean in before + after]
    assert found.history[: len(first.history)] == first.history
    assert found.history[0].pulls == 1
    assert len(svg_points(found._repr_html_())) == len(line.get_xdata())


@pytest.mark.parametrize("kind", ["answer", "arms"])
def test_large_means_are_written_out_beside_the_picture(kind):
    axes = find_best(40, noisy([10_000 + k / 40 for k in range(40)], 0.1), budget=90, **QUIET).plot(kind)
    axes.figure.canvas.draw()
    assert axes.yaxis.get_offset_text().get_text() == ""
    assert all(label.get_text().startswith("1000") or "9999" in label.get_text() for label in axes.get_yticklabels())


def test_the_words_beside_the_boxes_are_those_of_the_live_page_and_have_room(boxed):
    figure, axes = plt.subplots()
    boxed.plot("boxes", ax=axes)
    figure.canvas.draw()
    across = list(axes.get_xticklabels())
    words = [label.get_text() for label in across]
    assert (words[:2], words[-1], axes.get_xlabel()) == (["new", "1×"], "dropped", "waited at their level")
    assert sum("★" in label.get_text() for label in axes.get_yticklabels()) == 1
    for text in (*across, *axes.get_yticklabels(), axes.xaxis.label, axes.yaxis.label):
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
    ends = [(label.get_window_extent().x0, label.get_window_extent().x1) for label in across]
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(ends))


def test_what_is_no_axes_is_refused(found):
    with pytest.raises(InvalidInput, match=r"^ax is 3, but must be axes of Matplotlib: _, ax = plt"):
        found.plot(ax=3)


def test_every_box_is_drawn_with_its_number_of_arms(boxed):
    axes = boxed.plot("boxes")
    boxes = [box for box in boxed.session.view().boxes if box.level is not None]
    assert len(axes.patches) == len(boxes)
    assert sorted(text.get_text() for text in axes.texts) == sorted(f"{box.arms:,}" for box in boxes)


def test_the_best_arms_have_their_names_in_the_picture(found):
    names = [text.get_text() for text in found.plot("arms").texts]
    assert names == [arm.label for arm in found.top(5)]


def test_names_are_shortened_and_no_formulas():
    arms = [f"$cost_{k}$ " + "x" * 50 for k in range(4)]
    axes = find_best(arms, len, budget=30, **QUIET).plot("arms")
    axes.figure.canvas.draw()
    assert axes.texts[0].get_text().startswith("$cost_")
    assert len(axes.texts[0].get_text()) == 24


@pytest.mark.parametrize(
    ("policy", "kind", "message"),
    [
        ("us", "boxes", r"policy us has no boxes to plot: give kind='answer' or kind='arms'"),
        ("b3", "pie", "kind is 'pie', but must be one of answer, arms, boxes$"),
        ("b3", "a.png", r"one of answer, arms, boxes: plot\(\).figure.savefig\('a.png'\) writes a file$"),
    ],
)
def test_a_picture_that_cannot_be_is_refused(policy, kind, message):
    with pytest.raises(InvalidInput, match=message):
        find_best(3, float, budget=9, policy=policy, **QUIET).plot(kind)


def test_without_a_result_there_is_nothing_to_plot():
    with pytest.raises(InvalidInput, match="nothing to plot: no arm has a result yet"):
        b3.Session(3).plot()


def test_without_matplotlib_it_says_what_to_install(found, monkeypatch):
    without(monkeypatch, "matplotlib")
    with pytest.raises(MissingExtra, match=r"a plot needs matplotlib, .* pip install 'boxthirding\[plot\]'"):
        found.plot()


def test_a_pickled_result_reads_the_same(found):
    copy = pickle.loads(pickle.dumps(found))  # noqa: S301  # our own
    assert str(copy) == str(found)
    assert copy._repr_html_() == found._repr_html_()
