"""`boxthirding study`: what is shown, exported and changed, on a screen of 80 columns."""

import csv
import io
import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from invoking import done, refused, study

from boxthirding import open_study
from boxthirding.cli.commands import cli
from boxthirding.session.values import folded

pytestmark = pytest.mark.usefixtures("folder")


def made(url="run.db", name="main", *, arms=300, policy="b3", rounds=20, batch=10):
    """Make a study; the reward of an arm is its place among the labels."""
    labels = [f"C{number:04d}" for number in range(arms)] if isinstance(arms, int) else list(arms)
    reward = {label: place / len(labels) for place, label in enumerate(labels)}
    with open_study(url, name, arms=labels, policy=policy, holder="us") as opened:
        for _ in range(rounds):
            opened.tell_all([(ticket, reward[ticket.label]) for ticket in opened.ask(batch)])
    return labels


# show


def test_a_study_is_shown_with_its_boxes_its_best_arms_and_the_screening():
    made()
    with open_study("run.db", "main", holder="plate.csv") as opened:
        opened.ask(3)
        best = opened.recommend()
        top = opened.boxes()[-1]
    lines = done("show", "run.db").splitlines()
    assert lines[:3] == [
        "Study main: open",
        "policy b3, seed 0, maximize; 300 arms",
        lines[2],
    ]
    assert re.fullmatch(r"200 pulls, [\d,.e+]+ a minute; 3 tickets open: plate.csv has 3", lines[2])
    head = lines.index("")
    assert lines[head + 1].split() == ["level", "boxes", "dropped"]
    levels = [line.split()[0] for line in lines[head + 2 : lines.index("", head + 1)]]
    assert levels == [str(level) for level in range(top.level, -1, -1)]
    assert lines[head + 2].split()[1] == f"[{top.arms[0].label}]"
    row = next(line for line in lines if line.startswith(str(best.label)))
    assert row.split() == [best.label, f"{best.mean:.4g}", f"{best.pulls:,}", str(best.level)]
    assert " 300 arms are in the race: one of the best 1 % is among them with" in done("show", "run.db")


def test_a_policy_without_boxes_has_a_ladder_and_no_levels():
    made(policy="chase", rounds=60)
    with open_study("run.db", "main") as opened:
        ladder, best = opened.ladder(count=3), opened.recommend()
    lines = done("show", "run.db").splitlines()
    head = lines.index("")
    assert lines[head + 1].split() == ["pulls", "arms", "the", "best", "of", "them"]
    rows = lines[head + 2 : lines.index("", head + 1)]
    assert sum(rung.size > 0 for rung in ladder) > 3
    for row, rung in zip(rows, reversed(folded(ladder)), strict=True):
        pulls = f"{rung.fewest}-{rung.most}" if rung.fewest < rung.most else f"{rung.fewest}"
        assert row.split()[: 2 if rung.size else 1] == [pulls, f"{rung.size}"][: 2 if rung.size else 1]
        assert (f"{best.label} leads" in row) == (rung.fewest <= best.pulls <= rung.most)
        assert row.count("keeps up") == sum(arm.standing == "keeps up" for arm in rung.arms)
    assert next(line.split() for line in lines if line.startswith("best arms")) == ["best", "arms", "mean", "pulls"]


def test_the_best_arm_of_a_rung_is_shown_in_full_and_empty_rungs_share_a_row():
    arms = [f"the caption that has the number {number}" for number in range(3)]
    with open_study("run.db", "main", arms=arms, policy="chase") as opened:
        opened.observe_all([*((arms[1], 1.0) for _ in range(30)), (arms[0], 0.5), (arms[2], 0.4)])
    lines = [line.rstrip() for line in done("show", "run.db").splitlines()]
    head = lines.index("")
    assert lines[head + 2 : lines.index("", head + 1)] == [
        f"27-40     1  {arms[1]} leads",
        " 2-26",
        f"    1     2  {arms[0]}",
    ]


def test_arms_that_keep_up_are_said_to():
    with open_study("run.db", "main", arms=300, policy="chase") as opened:
        for turn in range(60):
            opened.tell_all([(ticket, float(turn % 3 == 0)) for ticket in opened.ask()])
        opened.tell_all([(ticket, 1.0) for ticket in opened.ask(40)])
        keep_up = {rung.fewest: rung.keep_up for rung in opened.ladder()}
    assert keep_up[1] > 3
    row = next(line for line in done("show", "run.db").splitlines() if line.startswith("    1 "))
    assert row.count("keeps up") == 3
    assert row.rstrip().endswith(f", {keep_up[1] - 3} more")


@pytest.mark.parametrize("policy", ["b3", "chase", "us"])
@pytest.mark.parametrize("labels", ["short", "long", "wide"])
def test_a_study_of_thousands_of_arms_fits_the_screen(policy, labels):
    from rich.cells import cell_len

    text = {
        "short": "{}",
        "long": "the caption of which the number is {}\nor so",
        "wide": "犬が話す{}と猫が笑う話です",
    }[labels]
    made(arms=[text.format(number) for number in range(3000)], policy=policy, rounds=15, batch=150)
    shown = done("show", "run.db")
    assert max(map(cell_len, shown.splitlines())) <= 80
    assert ("dropped" in shown) == (policy == "b3")
    assert len(shown.splitlines()) < 40


def test_a_recommended_arm_with_a_long_name_is_named_in_full():
    label = "the caption that begins like all of the others, and of which the number is {}"
    made(arms=[label.format(number) for number in range(3000)], rounds=15, batch=150)
    with open_study("run.db", "main") as opened:
        best = opened.recommend().label
        others = [arm.label.rpartition(" ")[2] for arm in opened.top(5)]
    shown = done("show", "run.db").splitlines()
    head = shown.index(next(line for line in shown if line.startswith("best arms")))
    assert [line.split()[0] for line in shown[head + 1 : head + 6]] == [f"…{number}" for number in others]
    assert f"Best so far: {best}" in shown
    assert max(len(line) for line in shown if best not in line) <= 80
    assert done("pause", "run.db").splitlines()[-1] == f"  {best}"
    assert done("list", "run.db").splitlines()[-1] == f"main, best so far: {best}"


def test_an_only_arm_with_a_long_name_is_not_left_out():
    made(arms=["the only arm, and one with a name that goes on and on beyond its column"], rounds=1, batch=1)
    (row,) = [line for line in done("show", "run.db").splitlines() if line.startswith("the only arm")]
    assert row.startswith("the only arm, and one… on beyond its column ")


def test_a_study_without_results_is_shown():
    made(rounds=0)
    assert done("show", "run.db").splitlines()[-2:] == ["", "No result yet."]


def test_a_study_for_a_program():
    made()
    shown = json.loads(done("show", "run.db", "--json"))
    with open_study("run.db", "main") as opened:
        drawn, ladder = opened.boxes(count=3), opened.ladder(count=3)
        view = {key: value for key, value in shown.items() if key not in ("drawn", "ladder")}
        assert view == opened.view().as_dict()
    assert [rung["arms"] for rung in shown["ladder"]] == [[arm._asdict() for arm in rung.arms] for rung in ladder]
    assert [(box["level"], box["deferment"], box["size"]) for box in shown["drawn"]] == [box[:3] for box in drawn]
    assert shown["drawn"][0]["arms"] == [arm._asdict() for arm in drawn[0].arms]
    assert [shown[key] for key in ("name", "status", "policy", "arms", "pulls", "spent", "open")] == [
        *("main", "open", "b3", 300, 200, 200, 0),
    ]


def test_who_has_tickets_is_said():
    made(rounds=1)
    for name in "abcdefg":
        with open_study("run.db", "main", holder=name) as opened:
            (ticket,) = opened.ask()
    with open_study("run.db", "main") as opened:
        opened.fail(ticket)
    lines = done("show", "run.db").splitlines()
    assert re.fullmatch(r"10 pulls(, [\d,.e+]+ a minute)?; 7 tickets open:", lines[2])
    assert lines[3:10] == [
        *[f"  {name} has 1" for name in "abcde"],
        "  1 other holder has 1",
        "  1 has no holder: the next to ask is given it",
    ]


# list, and which study is meant


def test_the_studies_of_a_database_are_listed():
    made(name="one", rounds=2)
    made(name="two", policy="us", arms=["a long label of a single arm that goes on and on", "other"], rounds=3)
    with open_study("run.db", "two") as opened:
        opened.finish()
    head, _, one, two = done("list", "run.db").splitlines()
    assert head.split() == ["study", "status", "policy", "best", "so", "far", "mean", "pulls", "open", "arms"]
    assert (one.split()[:3], one.split()[-3:]) == (["one", "open", "b3"], ["20", "0", "300"])
    assert two.split()[:3] == ["two", "finished", "us"]
    rows = [json.loads(line) for line in done("list", "run.db", "--json").splitlines()]
    assert [(row["name"], row["status"], row["pulls"]) for row in rows] == [
        ("one", "open", 20),
        ("two", "finished", 30),
    ]
    assert done("list", "none.db") == "none.db has no studies.\n"
    assert not Path("none.db").exists()


def test_a_study_that_cannot_be_read_does_not_hide_the_others():
    made(name="new", rounds=1)
    made(name="old", rounds=2)
    with closing(sqlite3.connect("run.db")) as database, database:
        query = "SELECT study, event FROM boxthirding_events WHERE seq = 1 ORDER BY study LIMIT 1"
        ((number, text),) = database.execute(query)
        newer = json.dumps({**json.loads(text), "format": 99})
        database.execute("UPDATE boxthirding_events SET event = ? WHERE seq = 1 AND study = ?", (newer, number))
    _, _, new, old, _, *why = done("list", "run.db").splitlines()
    assert (new.split(), old.split()[:3]) == (["new", "unreadable"], ["old", "open", "b3"])
    assert " ".join(why).startswith("new is unreadable: the study is of format 99, but this version")
    rows = [json.loads(line) for line in done("list", "run.db", "--json").splitlines()]
    assert [(row["status"], row["pulls"]) for row in rows] == [("unreadable", None), ("open", 20)]
    assert (rows[0]["error"][:19], rows[1]["error"]) == ("the study is of for", None)


@pytest.mark.parametrize("command", [["list"], ["show"], ["ask", "--arms", "arms.txt"]])
def test_a_study_that_would_end_with_the_command_is_refused(command):
    assert "memory:x, which ends with this command: name a file" in refused(command[0], "memory:x", *command[1:])


def test_which_study_is_meant():
    made(name="only", rounds=1)
    assert done("show", "run.db").startswith("Study only: ")
    made(name="second", rounds=1)
    assert "run.db has 2 studies: say which with --name (only, second)" in refused("show", "run.db")
    assert done("show", "run.db", "--name", "second").startswith("Study second: ")
    made(name="main", rounds=1)
    assert done("show", "run.db").startswith("Study main: ")
    assert "there is no study 'fourth'" in refused("show", "run.db", "--name", "fourth")


@pytest.mark.parametrize("command", ["show", "ask", "export", "pause", "resume", "finish", "use"])
def test_a_study_that_is_not_there_is_refused(command):
    more = ["b3"] if command == "use" else []
    assert "run.db has no studies: is that the right place?" in refused(command, "run.db", *more)
    assert not Path("run.db").exists()
    Path("run.db").write_text("not a database, though it is as long as a header of one would have to be\n" * 20)
    assert "run.db is not an SQLite database" in refused(command, "run.db", *more)


# export


def test_events_are_exported_as_rows():
    made(rounds=2, batch=3)
    with open_study("run.db", "main", holder="them") as opened:
        (ticket,) = opened.ask()
        opened.fail(ticket)
        opened.ask()
        opened.release(ticket)
        opened.add(["N1", "N2"])
        opened.withdraw("N2")
    rows = list(csv.DictReader(io.StringIO(done("export", "run.db"))))
    assert list(rows[0]) == ["seq", "at", "event", "ticket", "arm", "pull", "holder", "reward", "details"]
    kinds = [row["event"] for row in rows]
    assert kinds == [
        "created",
        *(["asked"] * 3 + ["told"] * 3) * 2,
        "asked",
        "failed",
        "given",
        "released",
        *["added"] * 2,
        "withdrawn",
    ]
    told = [row for row in rows if row["event"] == "told"]
    assert [row["ticket"] for row in told] == list("012345")
    assert all(float(row["reward"]) == int(row["arm"][1:]) / 300 and row["holder"] == "us" for row in told)
    assert [(row["ticket"], row["holder"]) for row in rows[-6:-3]] == [("6", "them")] * 3
    assert [row["arm"] for row in rows[-3:]] == ["N1", "N2", "N2"]
    assert rows[0]["at"].startswith("20")


def test_events_are_exported_as_json_lines():
    made(rounds=2, batch=3)
    done("export", "run.db", "--out", "events.jsonl")
    lines = [json.loads(line) for line in Path("events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["event"] for line in lines] == ["created", *["asked", "told", "told", "told"] * 2]
    assert [line["seq"] for line in lines] == list(range(1, 10))
    assert lines[0]["policy"] == "b3"
    assert done("export", "run.db", "--format", "jsonl") == Path("events.jsonl").read_text(encoding="utf-8")
    done("export", "run.db", "--out", "events.csv")
    assert Path("events.csv").read_text(encoding="utf-8") == done("export", "run.db")


def test_an_export_that_cannot_be_written_leaves_nothing_behind(folder):
    made(rounds=1)
    Path(".events.csv.part").mkdir()  # in the way of what is being written
    ended = study("export", "run.db", "--out", "events.csv")
    assert (ended.exit_code, "events.csv could not be written" in ended.stderr) == (1, True)
    assert "there is no folder nowhere" in refused("export", "run.db", "--out", "nowhere/events.csv")
    assert {path.name for path in folder.glob("*.csv*")} == {".events.csv.part"}


def test_an_export_replaces_a_file_only_by_force():
    made(rounds=1)
    Path("events.csv").write_text("what a person has filled in\n", encoding="utf-8")
    assert "events.csv, which is there already: pass --force to replace it" in refused(
        *("export", "run.db", "--out", "events.csv")
    )
    assert Path("events.csv").read_text(encoding="utf-8") == "what a person has filled in\n"
    done("export", "run.db", "--out", "events.csv", "--force")
    assert Path("events.csv").read_text(encoding="utf-8") == done("export", "run.db")


@pytest.mark.parametrize("url", ["run.db", "sqlite:///run.db", "sqlite:run.db", "link.csv"])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_an_export_never_replaces_the_study_a_folder_or_a_device(folder, url, force):
    made(rounds=1)
    Path("folder").mkdir()
    Path("link.csv").symlink_to("run.db")
    os.mkfifo("pipe")
    with open_study("run.db", "main") as opened:  # while it is open, it has more than one file
        opened.ask()
        files = ["run.db", "./run.db", str(folder / "run.db"), "link.csv", "run.db-wal", "run.db-shm"]
        for name in [*files, "run.db-journal", "run.db-worker-0123456789ab"]:  # the last two may come to be
            assert f"--out is {Path(name)}, which is the study itself" in refused("export", url, "--out", name, *force)
        for name in ["folder", "pipe", os.devnull]:
            assert f"--out is {name}, which is no ordinary file" in refused("export", url, "--out", name, *force)
    assert done("export", "run.db").count("asked") == 11
    assert Path("link.csv").is_symlink()


# What changes a study


def test_arms_come_and_go():
    made()
    Path("new.csv").write_text("arm,mass\nN1,1\nN2,2\n", encoding="utf-8")
    assert done("add", "run.db", "new.csv").startswith("2 arms added.\nStudy main: 200 pulls")
    assert done("withdraw", "run.db", "N1").startswith("N1 is withdrawn.\n")
    with open_study("run.db", "main") as opened:
        assert (opened.why("N1").place, opened.why("N2").place) == ("withdrawn", "in the pool")


def test_an_arm_that_is_a_number_can_be_withdrawn():
    with open_study("run.db", "main", arms=5):
        pass
    done("withdraw", "run.db", "3")
    with open_study("run.db", "main") as opened:
        assert opened.why(3).place == "withdrawn"


BAD_CHANGES = {
    "an arm that is there": (["add", "run.db", "there.txt"], "label 'C0001' is there already"),
    "no file of arms": (["add", "run.db", "gone.txt"], "gone.txt cannot be read"),
    "an arm that is not there": (["withdraw", "run.db", "nobody"], "label 'nobody' does not exist"),
    "a number that is not there": (["withdraw", "run.db", "7"], "label 7 does not exist"),
    "what is no number": (["withdraw", "run.db", "--", "--5"], "label '--5' does not exist"),
    "a number that nobody reads": (["withdraw", "run.db", "1" * 5000], "does not exist"),
    "an arm that is gone": (["withdraw", "run.db", "C0000"], "label 'C0000' is withdrawn already"),
}


@pytest.mark.parametrize("case", BAD_CHANGES)
def test_bad_changes_are_refused_and_change_nothing(case):
    made()
    done("withdraw", "run.db", "C0000")
    Path("there.txt").write_text("new\nC0001\n", encoding="utf-8")
    before = done("export", "run.db")
    arguments, fragment = BAD_CHANGES[case]
    (line,) = refused(*arguments).splitlines()
    assert fragment in line
    assert done("export", "run.db") == before


def test_a_study_is_paused_resumed_and_finished():
    made()
    assert done("pause", "run.db").startswith("Paused: no tickets until it is resumed.\nStudy main: 200 pulls")
    assert done("show", "run.db").startswith("Study main: paused")
    assert done("resume", "run.db").startswith("Resumed.\n")
    for answer in ("n\n", "\n", ""):
        asked = CliRunner().invoke(cli, ["study", "finish", "run.db"], input=answer)
        assert asked.exit_code == 2
        assert "No more tickets; results of 0 open tickets, corrections and exclusions are refused." in asked.stderr
        assert "study 'main' was not finished: answer y, or pass --yes" in asked.stderr
    assert done("show", "run.db").startswith("Study main: open")
    said = "Finished: the study issues no more tickets and its result is final.\n"
    assert done("finish", "run.db", "--yes").startswith(said)
    for arguments in (["resume", "run.db"], ["pause", "run.db"], ["withdraw", "run.db", "C0001"]):
        assert "study 'main' is finished" in refused(*arguments)
