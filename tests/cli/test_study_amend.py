"""`boxthirding study observe|correct|exclude|include|use|held`, and the export of what they leave behind."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from invoking import done, refused, study

from boxthirding import open_study
from boxthirding.study.codec import START, encode, read

pytestmark = pytest.mark.usefixtures("folder")


def made(policy="chase", **settings):
    """Make a study of ten arms, of which two raters have told five pulls each: ann rates 0.5, bob 0.9."""
    with open_study("run.db", arms=[f"C{number}" for number in range(10)], policy=policy, **settings) as opened:
        for holder, reward in (("ann", 0.5), ("bob", 0.9)):
            for ticket in opened.ask(5, holder=holder):
                opened.tell(ticket, reward, holder=holder)


def write(text, name="known.csv"):
    Path(name).write_text(text, encoding="utf-8")


def best():
    with open_study("run.db") as opened:
        return opened.recommend()


# What each says


def test_known_results_are_taken_and_the_answer_is_another_one():
    made()
    was = best()
    write("arm,reward\nC3,5\nC3,6\nC4,0\n")
    taken, answer, counts = done("observe", "run.db", "known.csv").splitlines()
    assert taken == "Imported 3 known results for 2 arms from known.csv."
    now = best()
    assert (now.label, now.pulls) == ("C3", 3)
    assert answer == f"Best: {was.label}, 0.9 over 1 pull → C3, {now.mean:.4g} over 3 pulls"
    assert counts == "Study main: 13 pulls."
    with open_study("run.db") as opened:
        assert (opened.pulls, opened.spent) == (13, 10)


def test_known_results_of_arms_that_are_numbers():
    with open_study("run.db", arms=10):
        pass
    write("arm,score\n7,1.5\n")
    printed = json.loads(done("observe", "run.db", "known.csv", "--json"))
    after = printed.pop("after")
    assert (after["label"], after["mean"], after["pulls"]) == (7, 1.5, 1)
    assert printed == {"observed": 1, "arms": 1, "before": None, "pulls": 1}


def test_known_results_of_a_study_with_examples_name_the_pull():
    with open_study("run.db", arms=["a", "b"], examples=4):
        pass
    write("arm,reward\na,1\n")
    assert "must have arm, pull and reward" in refused("observe", "run.db", "known.csv")
    write("arm,pull,reward\na,3,1\na,4,1\n")
    assert "pull is 4, but there are 4 examples: give 0 to 3" in refused("observe", "run.db", "known.csv")
    write("arm,pull,reward\na,3,1\na,0,1\n")
    done("observe", "run.db", "known.csv")
    with open_study("run.db") as opened:
        assert opened.pulls == 2


def test_a_typing_error_is_corrected():
    made()
    first, answer, counts = done("correct", "run.db", "0", "-2.5").splitlines()
    with open_study("run.db") as opened:
        (arm,) = [event.tickets[0][1] for _, event in opened.events() if type(event).__name__ == "Asked"][:1]
        assert [row.mean for row in opened.arms() if row.label == arm] == [-2.5]
    assert first == f"Ticket 0, a pull of {arm}: 0.5 → -2.5."
    assert answer.startswith("Best, as before: ")
    assert counts == "Study main: 10 pulls."
    printed = json.loads(done("correct", "run.db", "0", "99", "--json"))
    assert (printed["ticket"], printed["arm"], printed["told"], printed["reward"]) == (0, arm, -2.5, 99.0)
    assert (printed["before"]["label"] != arm, printed["after"]["label"]) == (True, arm)


def test_a_rater_is_excluded_and_included_again():
    made()
    before = json.loads(done("show", "run.db", "--json"))
    excluded, answer, counts = done("exclude", "run.db", "bob").splitlines()
    assert excluded == "bob is excluded: 5 results do not count."
    assert " → " in answer
    assert counts == "Study main: 5 pulls."
    assert best().mean == 0.5
    assert "excluded: bob" in done("show", "run.db").splitlines()
    assert done("include", "run.db", "bob").startswith("bob is included: 5 results count again.\nBest: ")
    after = json.loads(done("show", "run.db", "--json"))
    assert (after["pulls"], after["excluded"], after["recommendation"]["mean"]) == (10, [], 0.9)
    assert {arm["label"]: arm["mean"] for arm in after["top"]} == {arm["label"]: arm["mean"] for arm in before["top"]}
    printed = json.loads(done("exclude", "run.db", "bob", "--json"))
    assert (printed["excluded"], printed["results"], printed["pulls"]) == ("bob", 5, 5)


def test_a_plate_is_excluded_by_its_path(folder):
    write("C1\nC2\nC3\n", "arms.txt")
    done("ask", "run.db", "--arms", "arms.txt", "-n", 2, "--out", "plate.csv")
    rows = Path("plate.csv").read_text(encoding="utf-8").replace(",0,,", ",0,0.5,")
    write(rows, "plate.csv")
    done("tell", "run.db", "plate.csv")
    assert done("exclude", "run.db", "plate.csv").startswith(f"{folder}/plate.csv is excluded: 2 results")
    assert done("include", "run.db", "plate.csv").startswith(f"{folder}/plate.csv is included: 2 results")


def test_another_policy_goes_on_from_the_results_that_are_there():
    made(policy="sh:budget=200")
    changed, answer, counts = done("use", "run.db", "chase").splitlines()
    assert (changed, counts) == ("Policy sh:budget=200 → chase.", "Study main: 10 pulls.")
    assert answer.startswith("Best")
    assert done("show", "run.db").splitlines()[1] == "policy chase, seed 0, maximize; 10 arms"
    done("exclude", "run.db", "bob")
    printed = json.loads(done("use", "run.db", "b3:reuse=topup", "--json"))
    assert (printed["policy_before"], printed["policy"]) == ("chase", "b3:reuse=topup")


def test_a_holder_has_its_open_tickets_printed(folder):
    write("C1\nC2\nC3\n", "arms.txt")
    plate = done("ask", "run.db", "--arms", "arms.txt", "-n", 2, "--holder", "ann")
    assert done("held", "run.db", "ann") == plate
    assert [json.loads(line)["ticket"] for line in done("held", "run.db", "ann", "--json").splitlines()] == [0, 1]
    done("ask", "run.db", "--out", "plate.csv")
    done("held", "run.db", "plate.csv", "--out", "again.csv")
    assert Path("again.csv").read_bytes() == Path("plate.csv").read_bytes()
    ended = study("held", "run.db", "eve")
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert ended.stderr == f"eve has no open tickets; holders who have some: ann, {folder}/plate.csv\n"
    assert "which is there already" in refused("held", "run.db", "ann", "--out", "again.csv")


def test_a_rater_sees_an_arm_once():
    write("C1\nC2\nC3\n", "arms.txt")
    seen = []
    for _ in range(5):
        ended = study("ask", "run.db", "--arms", "arms.txt", "--holder", "ann", "--unseen", "--json")
        for line in ended.stdout.splitlines():
            ticket = json.loads(line)
            seen.append(ticket["arm"])
            with open_study("run.db") as opened:
                opened.tell(ticket["ticket"], 0.5)
    assert sorted(seen) == ["C1", "C2", "C3"]
    assert ended.stderr == "0 tickets instead of 1: ann was handed every other arm that is wanted now\n"
    assert "--unseen is given, but not who must not see an arm twice" in refused("ask", "run.db", "--unseen")


# Bad input


BAD = {
    "an unknown label": (["observe", "run.db", "unknown.csv"], ["label 'eve' does not exist"]),
    "missing columns": (
        ["observe", "run.db", "columns.csv"],
        ["columns.csv has the columns name, value, but must have arm and reward (or score): rename them"],
    ),
    "a reward that is no number": (
        ["observe", "run.db", "words.csv"],
        ["words.csv, row 2 (line 3): reward is 'high', but must be a finite number"],
    ),
    "no file": (["observe", "run.db", "gone.csv"], ["gone.csv cannot be read"]),
    "a withdrawn arm": (["observe", "run.db", "withdrawn.csv"], ["label 'C9' is withdrawn"]),
    "a ticket never told": (["correct", "run.db", 10, 1], ["ticket 10 has no result yet", "tell it"]),
    "a ticket never issued": (["correct", "run.db", 77, 1], ["ticket 77 was not issued"]),
    "a ticket that is no number": (["correct", "run.db", "x", 1], ["'x' is not a valid integer"]),
    "a correction that is no number": (["correct", "run.db", 0, "high"], ["the reward is 'high'", "such as 0.5"]),
    "a correction that is not finite": (["correct", "run.db", 0, "nan"], ["the reward is 'nan'", "finite number"]),
    "a holder who told nothing": (
        ["exclude", "run.db", "eve"],
        ["holder 'eve' has told no result", "holders who have are 'ann', 'bob'"],
    ),
    "a holder who is excluded": (["exclude", "run.db", "ann"], ["holder 'ann' is excluded already"]),
    "a holder who is not excluded": (
        ["include", "run.db", "bob"],
        ["holder 'bob' is not excluded: excluded holders are 'ann'"],
    ),
    "an unknown policy": (["use", "run.db", "best"], ["policy is 'best'", "chase", "module:Class"]),
    "a policy that cannot start from results": (
        ["use", "run.db", "sh:budget=100"],
        ["policy sh cannot start from results and open tickets that are there", "boxthirding study use STUDY chase"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_changes_nothing(case):
    made()
    with open_study("run.db") as opened:
        opened.withdraw("C9")
        opened.exclude("ann")
        opened.ask(holder="bob")
    write("arm,reward\nC1,1\neve,2\n", "unknown.csv")
    write("name,value\nC1,1\n", "columns.csv")
    write("arm,reward\nC1,1\nC2,high\n", "words.csv")
    write("arm,reward\nC1,1\nC9,1\n", "withdrawn.csv")
    before = done("export", "run.db")
    arguments, fragments = BAD[case]
    said = refused(*arguments)
    for fragment in fragments:
        assert fragment in said
    assert done("export", "run.db") == before


def test_rewards_that_are_not_on_the_scale_of_a_study_are_refused_with_the_scale():
    scale = [{"label": "no", "reward": 0.5}, {"label": "yes", "reward": 0.9}]
    made(details={"rating": {"scale": scale}})
    write("arm,reward\nC1,0.5\nC2,700\n")
    done("ask", "run.db", "--out", "plate.csv")
    rows = Path("plate.csv").read_text(encoding="utf-8")
    write(rows.replace(",1,,", ",1,700,").replace(",0,,", ",0,700,"), "plate.csv")
    before = done("export", "run.db")
    for command, *rest in (["observe", "known.csv"], ["correct", 0, 700], ["tell", "plate.csv"]):
        said = refused(command, "run.db", *rest)
        assert "the reward is 700, but must be one of the study's scale: 0.5 (no), 0.9 (yes)" in said
        assert "give one of these" in said
    assert done("export", "run.db") == before


@pytest.mark.parametrize("arguments", [["observe", "known.csv"], ["correct", "0", "1"], ["exclude", "ann"]])
def test_a_policy_that_cannot_amend_names_the_way_out(arguments):
    made(policy="bsh")
    write("arm,reward\nC1,1\n")
    before = done("export", "run.db")
    command, *rest = arguments
    said = refused(command, "run.db", *rest)
    assert "policy bsh cannot " in said
    assert said.endswith("; `boxthirding study use STUDY chase` lets a policy decide that can\n")
    assert done("export", "run.db") == before
    done("use", "run.db", "chase")
    done(command, "run.db", *rest)


def test_a_finished_study_is_left_as_it_is():
    made()
    done("ask", "run.db", "--out", "plate.csv")
    rows = Path("plate.csv").read_text(encoding="utf-8")
    write(rows.replace(",1,,", ",1,0.5,").replace(",0,,", ",0,0.5,"), "plate.csv")
    done("exclude", "run.db", "bob")
    done("finish", "run.db", "--yes")
    before = done("export", "run.db")
    write("arm,reward\nC1,1\n")
    for command, *rest in (
        *(["observe", "known.csv"], ["use", "b3"], ["correct", 0, 1], ["exclude", "ann"], ["include", "bob"]),
        *(["tell", "plate.csv"], ["fail", 10]),
    ):
        assert "study 'main' is finished for good, so nothing changes its answer" in refused(command, "run.db", *rest)
    assert done("export", "run.db") == before


# Export


def test_what_was_amended_is_exported():
    made()
    write("arm,reward\nC3,5\n")
    with open_study("run.db") as opened:
        (ticket,) = opened.ask(holder="cid")
        opened.release(ticket)
        opened.ask(holder="dan")
        opened.tell(ticket, 0.25, holder="dan", details={"answer": "funny"})
        for arm in ("C1", "C1", "C1"):
            tickets = opened.ask(20, holder="eve")
            mine = next((one for one in tickets if one.label == arm), tickets[0])
            opened.fail(mine)
    done("observe", "run.db", "known.csv")
    done("correct", "run.db", 0, 0.75)
    done("exclude", "run.db", "ann")
    done("include", "run.db", "ann")
    done("use", "run.db", "us")
    rows = list(csv.DictReader(io.StringIO(done("export", "run.db"))))
    by = {row["event"]: row for row in rows}
    assert (by["observed"]["arm"], by["observed"]["reward"], by["observed"]["ticket"]) == ("C3", "5.0", "")
    assert (by["corrected"]["ticket"], by["corrected"]["reward"], by["corrected"]["holder"]) == ("0", "0.75", "ann")
    assert (by["excluded"]["holder"], by["included"]["holder"]) == ("ann", "ann")
    assert json.loads(by["switched"]["details"])["why"] == "use us instead of chase"
    assert json.loads(by["created"]["details"])["seed"] == 0
    given = next(row for row in rows if row["event"] == "given")
    told = next(row for row in rows if row["event"] == "told" and row["holder"] == "dan")
    assert (given["holder"], told["arm"], json.loads(told["details"])) == ("dan", given["arm"], {"answer": "funny"})
    assert [row["seq"] for row in rows] == sorted((row["seq"] for row in rows), key=int)


def damage(seq, change):
    with closing(sqlite3.connect("run.db")) as database, database:
        ((text,),) = database.execute("SELECT event FROM boxthirding_events WHERE seq = ?", (seq,))
        database.execute("UPDATE boxthirding_events SET event = ? WHERE seq = ?", (change(text), seq))
        database.execute("DELETE FROM boxthirding_snapshots")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_damaged_journal_is_exported_as_far_as_it_can_be_read(form):
    made()
    whole = done("export", "run.db", "--format", form).splitlines()
    damage(4, lambda text: text.replace("0.5", "0.6"))
    ended = study("export", "run.db", "--format", form, "--out", f"events.{form}")
    assert ended.exit_code == 1
    first, last = ended.stderr.splitlines()
    assert first.startswith("Event 4 is damaged: event 4 reads ")
    assert last == "Error: 1 event could not be read; the others are exported."
    lines = Path(f"events.{form}").read_text(encoding="utf-8").splitlines()
    different = [(ours, theirs) for ours, theirs in zip(whole, lines, strict=True) if ours != theirs]
    ((_, theirs),) = different
    assert "damaged" in theirs
    assert "0.6" in theirs
    assert "main is unreadable: event 4 reads " in done("list", "run.db")


def test_the_event_that_made_tickets_may_be_damaged():
    made()
    damage(2, lambda _: "no JSON at all")
    ended = study("export", "run.db")
    assert ended.exit_code == 1
    rows = list(csv.DictReader(io.StringIO(ended.stdout)))
    told = [row for row in rows if row["event"] == "told"]
    assert len(told) == 9  # the one right after the damage cannot be checked
    assert (told[0]["ticket"], told[0]["arm"], told[0]["reward"]) == ("1", "", "0.5")


def test_a_journal_is_exported_whatever_rule_wrote_it():
    made()
    with closing(sqlite3.connect("run.db")) as database, database:
        texts = [text for (text,) in database.execute("SELECT event FROM boxthirding_events ORDER BY seq")]
        check = START
        for seq, text in enumerate(texts, start=1):
            event = read(text, seq)
            if seq == 1:
                event = replace(event, policy="gone_module:Gone")
            written, check = encode(event, check)
            database.execute("UPDATE boxthirding_events SET event = ? WHERE seq = ?", (written, seq))
        database.execute("DELETE FROM boxthirding_snapshots")
    assert done("export", "run.db").count(",told,") == 10
    shown = done("show", "run.db")
    assert "policy gone_module:Gone, seed 0" in shown
    assert "boxthirding study use" in refused("ask", "run.db")
    assert done("use", "run.db", "chase").startswith("Policy gone_module:Gone → chase.\n")
    done("ask", "run.db")


def test_only_a_study_that_is_there_is_exported():
    made()
    assert "there is no study 'other' here, and the studies there are 'main'" in refused(
        *("export", "run.db", "--name", "other")
    )
    assert "runs.db has no studies: did you mean 'run.db'?" in refused("export", "runs.db", "--name", "main")
