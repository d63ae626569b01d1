"""`boxthirding study show --top|why|results|fail`, and columns that arms bring along, on narrow screens too."""

import csv
import json
import random
import re
from pathlib import Path

import pytest
from invoking import done, refused

from boxthirding import open_study

WIDTHS = [80, 40]


@pytest.fixture(autouse=True)
def folder(folder):
    """Start in a folder with compounds that have two columns."""
    rows = "".join(f"compound {number};{100 + number}.5;S{number % 3}\n" for number in range(40))
    Path("arms.csv").write_text(f"compound;mass;supplier\n{rows}", encoding="utf-8")
    return folder


def told(rounds=6, policy="chase"):
    """Make a study and tell it some results: the higher the number of a compound, the better."""
    done("ask", "s.db", "--arms", "arms.csv", "--policy", policy, "--json")
    with open_study("s.db", holder="us") as opened:
        opened.release(0)
        for _ in range(rounds):
            opened.tell_all([(ticket, int(ticket.label.split()[1]) / 40) for ticket in opened.ask(10)])


def read(name):
    with Path(name).open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def on_a_screen(monkeypatch, width, *arguments):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = done(*arguments).splitlines()
    assert max(map(len, lines)) <= width
    return lines


# show --top


@pytest.mark.parametrize("width", WIDTHS)
def test_as_many_of_the_best_are_shown_as_wanted(monkeypatch, width):
    told()
    with open_study("s.db") as opened:
        best = [arm.label for arm in opened.top(14)]
    for top, options in ((5, []), (2, ["--top", 2]), (14, ["--top", 14])):
        lines = on_a_screen(monkeypatch, width, "show", "s.db", *options)
        head = next(place for place, line in enumerate(lines) if line.startswith("best arms"))
        shown = lines[head + 1 : lines.index("", head)]
        assert [" ".join(line.split()[:2]) for line in shown] == best[:top]
    assert [arm["label"] for arm in json.loads(done("show", "s.db", "--top", 14, "--json"))["top"]] == best
    assert "--top is 0, but must be at least 1" in refused("show", "s.db", "--top", 0)


def test_large_results_can_be_told_apart_wherever_they_are_shown():
    with open_study("s.db", arms=range(20), holder="us") as opened:
        for _ in range(60):
            (ticket,) = opened.ask()
            opened.tell(ticket, 1_000_001.0 + ticket.label)
        best = opened.recommend()
    assert best.label == 19
    assert re.findall(r"1,000,0\d\d", done("show", "s.db")) == [f"{1_000_020 - k:,}" for k in range(5)]
    assert re.findall(r"1,000,0\d\d", done("results", "s.db")) == [f"{1_000_020 - k:,}" for k in range(20)]
    assert "mean 1,000,020; " in done("why", "s.db")
    assert "1,000,020 " in done("list", "s.db")
    assert f"best so far 19, 1,000,020 over {best.pulls} pulls." in done("pause", "s.db")
    assert not any("e+" in done(command, "s.db") for command in ("show", "results", "why", "list", "pause"))


def test_outliers_are_named():
    rng = random.Random(2)
    with open_study("s.db", arms=range(100), holder="us") as opened:
        for turn in range(400):
            (ticket,) = opened.ask()
            opened.tell(ticket, rng.gauss(ticket.label / 100, 0.2) + 1_000.0 * (turn in (200, 300)))
        first, second = opened.outliers()
    names = [f"{row.label} {row.reward:.6g} (ticket {row.ticket})" for row in (first, second)]
    assert f"2 outliers excluded: {', '.join(names)}\n" in done("show", "s.db")
    view = json.loads(done("show", "s.db", "--json"))
    assert (view["n_outliers"], [row["ticket"] for row in view["outliers"]]) == (2, [first.ticket, second.ticket])
    done("correct", "s.db", first.ticket, 0.5)
    assert f"1 outlier excluded: {names[1]}\n" in done("show", "s.db")


# why


@pytest.mark.parametrize("width", WIDTHS)
def test_the_story_of_an_arm_is_told(monkeypatch, width):
    told(policy="b3")
    with open_study("s.db") as opened:
        best = opened.recommend()
        story = opened.why(best.label)
    lines = on_a_screen(monkeypatch, width, "why", "s.db", best.label)
    text = " ".join(map(str.strip, lines))
    number = int(best.label.split()[1])
    assert lines[0] == best.label
    assert f"{best.pulls} pulls, mean {best.mean:.4g}; the answer; at level" in text
    assert f"mass {100 + number}.5, supplier S{number % 3} after" in text
    assert text.count("after ") == len(story.steps)
    last = story.steps[-1]
    assert f"lifted from box ({last.level}, {last.deferment}) with mean {last.mean:.4g}; rivals: " in text
    assert all(f"{rival.label} ({rival.mean:.4g})" in text for rival in last.rivals)


def test_the_story_of_an_arm_for_a_program():
    told(policy="b3")
    with open_study("s.db") as opened:
        best = opened.recommend().label
        story = opened.why(best)
    printed = json.loads(done("why", "s.db", best, "--json"))
    assert list(printed) == ["label", "mean", "pulls", "steps", "place", "row"]
    assert (printed["label"], len(printed["steps"])) == (best, len(story.steps))
    assert printed["steps"][-1]["rivals"][0]["label"] == story.steps[-1].rivals[0].label
    assert set(printed["row"]) == {"mass", "supplier"}


def test_an_arm_that_was_not_tried_has_a_short_story():
    with open_study("n.db", arms=range(10)):
        pass
    assert done("why", "n.db", 7) == "7\nnot tried yet; in the pool\n"
    assert "label 70 does not exist" in refused("why", "n.db", 70)
    assert "no arm has a result yet, so there is no best one: name an arm" in refused("why", "n.db")


def test_without_a_label_it_is_the_story_of_the_best_arm():
    told()
    with open_study("s.db") as opened:
        best = opened.recommend().label
    assert done("why", "s.db") == done("why", "s.db", best)


# results


@pytest.mark.parametrize("width", WIDTHS)
def test_results_are_a_table_with_the_columns_of_the_arms(monkeypatch, width):
    told(policy="b3")
    with open_study("s.db") as opened:
        arms = opened.arms(count=40)
    lines = on_a_screen(monkeypatch, width, "results", "s.db")
    table = lines[: next(place for place, line in enumerate(lines) if line.startswith("Best first, and not"))]
    headings = table[0].split()
    assert headings == ["arm", "mean", "pulls", "level", *(["mass", "supplier"] if width == 80 else ["mass"])]
    assert len(table) == 21
    row = table[1].split()
    number = int(arms[0].label.split()[1])
    assert row[-len(headings) + 1 :][:4] == [
        f"{arms[0].mean:.4g}",
        str(arms[0].pulls),
        str(arms[0].level),
        f"{100 + number}.5",
    ]
    rest = " ".join(" ".join(lines[len(table) :]).split())
    assert f"{len(arms) - 20} arms more: --top N shows more, --out FILE.csv writes all." in rest
    assert ("No room for supplier: --out FILE.csv has all columns." in rest) == (width == 40)
    assert len(on_a_screen(monkeypatch, width, "results", "s.db", "--top", 3)) >= 4


def test_results_have_a_level_only_where_the_policy_has_boxes():
    told()
    assert done("results", "s.db").split()[:4] == ["arm", "mean", "pulls", "mass"]


def test_results_are_written_with_the_columns_of_the_arms():
    told()
    with open_study("s.db") as opened:
        worst = opened.arms(count=40)[-1].label
        opened.withdraw(worst)
        arms = opened.arms(count=40)
    assert done("results", "s.db", "--out", "results.csv") == f"results.csv: {len(arms)} arms.\n"
    rows = read("results.csv")
    assert list(rows[0]) == ["arm", "mean", "pulls", "level", "withdrawn", "mass", "supplier"]
    assert [row["arm"] for row in rows] == [arm.label for arm in arms]
    assert [float(row["mean"]) for row in rows] == [arm.mean for arm in arms]
    assert all(row["mass"] == f"{100 + int(row['arm'].split()[1])}.5" for row in rows)
    assert [row["arm"] for row in rows if row["withdrawn"] == "yes"] == [worst]
    done("results", "s.db", "--out", "best.jsonl", "--top", 3)
    printed = [json.loads(line) for line in Path("best.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["arm"] for row in printed] == [arm.label for arm in arms[:3]]
    assert done("results", "s.db", "--top", 3, "--json") == Path("best.jsonl").read_text(encoding="utf-8")
    assert "results.csv, which is there already: pass --force" in refused("results", "s.db", "--out", "results.csv")
    done("results", "s.db", "--out", "results.csv", "--force")


def test_results_of_a_study_without_any():
    with open_study("n.db", arms=range(10)):
        pass
    assert done("results", "n.db") == "No result yet.\n"


# Columns on plates


def test_the_columns_of_arms_are_on_their_plates_also_when_the_file_of_arms_is_gone():
    done("ask", "s.db", "--arms", "arms.csv", "-n", 4, "--out", "first.csv")
    Path("arms.csv").unlink()
    done("ask", "s.db", "-n", 4, "--out", "second.csv")
    for name in ("first.csv", "second.csv"):
        rows = read(name)
        assert list(rows[0]) == ["ticket", "arm", "pull", "reward", "study", "mass", "supplier"]
        assert all(row["mass"] == f"{100 + int(row['arm'].split()[1])}.5" for row in rows)
    text = Path("first.csv").read_text(encoding="utf-8").replace(",0,,", ",0,0.5,")
    Path("first.csv").write_text(text, encoding="utf-8")
    assert "4 results told" in done("tell", "s.db", "first.csv")


def test_columns_stay_in_the_order_of_the_file():
    Path("odd.csv").write_text("arm,zeta,alpha\na,1,x\nb,2,y\n", encoding="utf-8")
    done("ask", "o.db", "--arms", "odd.csv", "-n", 1, "--out", "first.csv")
    done("ask", "o.db", "-n", 1, "--out", "second.csv")
    for name in ("first.csv", "second.csv"):
        assert list(read(name)[0])[5:] == ["zeta", "alpha"]


def test_a_column_of_a_name_that_a_plate_has_is_told_apart():
    Path("odd.csv").write_text("arm,reward,well\na,1,x\nb,2,y\n", encoding="utf-8")
    done("ask", "o.db", "--arms", "odd.csv", "-n", 2, "--out", "plate.csv")
    rows = read("plate.csv")
    assert list(rows[0])[5:] == ["reward (arm)", "well"]
    assert [row["reward"] for row in rows] == ["", ""]
    assert "0 results told; 2 rows without a reward left open." in done("tell", "o.db", "plate.csv")


# fail


def test_a_well_that_could_not_be_read_is_given_again():
    done("ask", "s.db", "--arms", "arms.csv", "-n", 4, "--out", "plate.csv")
    said = done("fail", "s.db", 1, 2).splitlines()
    assert said[0] == "2 tickets failed: the next to ask is given them."
    assert said[-1] == "Study main: 0 pulls, 4 tickets open."
    done("ask", "s.db", "-n", 3, "--out", "next.csv")
    assert [row["ticket"] for row in read("next.csv")] == ["1", "2", "4"]
    printed = json.loads(done("fail", "s.db", 4, "--json"))
    assert (printed["failed"], printed["withdrawn"], printed["pulls"]) == ([4], [], 0)


def test_an_arm_that_fails_three_times_in_a_row_is_withdrawn():
    done("ask", "s.db", "--arms", "arms.csv", "-n", 1, "--out", "plate.csv")
    (row,) = read("plate.csv")
    for _ in range(2):
        assert done("fail", "s.db", 0).startswith("1 ticket failed: the next to ask is given it.")
        assert "ticket 0 has no holder: the next to ask is given it; nothing was changed" in refused("fail", "s.db", 0)
        done("ask", "s.db", "--json")
    assert done("fail", "s.db", 0).startswith(
        f"1 ticket failed; {row['arm']} failed 3 times in a row and is withdrawn."
    )


def test_tickets_fail_all_or_none():
    done("ask", "s.db", "--arms", "arms.csv", "-n", 3, "--out", "plate.csv")
    with open_study("s.db") as opened:
        opened.tell(0, 0.5)
        before = [*opened.events()]
    for ticket, reason in ((0, "ticket 0 was told already, 0.5"), (9, "ticket 9 was never handed out by this study")):
        said = refused("fail", "s.db", 1, ticket)
        assert reason in said
        assert "nothing was changed" in said
    assert "Missing argument 'TICKET...'" in refused("fail", "s.db")
    with open_study("s.db") as opened:
        assert [*opened.events()] == before
