"""`boxthirding study ask` and `tell`: plates go out and come back, whole or not at all."""

import csv
import json
import shlex
from pathlib import Path

import pytest
from invoking import done, invoke, study

from boxthirding import list_studies, open_study, storage

HEADER = ["ticket", "arm", "pull", "reward", "study", "mass"]


@pytest.fixture(autouse=True)
def folder(folder):
    """Start in a folder with arms."""
    Path("arms.csv").write_text("compound,mass\n" + "".join(f"C{i:03d},{i}\n" for i in range(200)), encoding="utf-8")
    return folder


def refused(*arguments):
    """Run what must be refused; return the last line of what is said."""
    ended = study(*arguments)
    assert ended.exit_code == 2, ended.output
    *before, last = ended.stderr.splitlines()
    assert last.startswith("Error: ")
    return "\n".join(before), last


def plate(name="plate.csv", number=6, **rewards):
    """Ask for a plate and fill it in: 0.5 everywhere, but for the rewards that are given by row."""
    done("ask", "screen.db", "--arms", "arms.csv", "-n", str(number), "--out", name)
    rows = read(name)
    for place, row in enumerate(rows[1:]):
        row[3] = rewards.get(f"row{place}", "0.5")
    write(name, rows)
    return rows


def read(name):
    return list(csv.reader(Path(name).read_text(encoding="utf-8").splitlines()))


def write(name, rows):
    Path(name).write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")


def events(url="screen.db", name="main"):
    with open_study(url, name) as opened:
        return [entry.event for entry in opened.events()]


def mark(url="screen.db", name="main"):
    return f"{name}-{events(url, name)[0].origin[:6]}"


# Plates go out


def test_the_first_plate_makes_the_study_and_later_ones_go_on(folder):
    printed = done("ask", "screen.db", "--arms", "arms.csv", "-n", "96", "--out", "plate-1.csv", "--seed", "3")
    assert printed.splitlines() == [
        "plate-1.csv: 96 tickets for 96 arms. Fill in the column reward, then",
        "  boxthirding study tell screen.db plate-1.csv",
    ]
    rows = read("plate-1.csv")
    assert rows[0] == HEADER
    assert [row[0] for row in rows[1:]] == [str(number) for number in range(96)]
    assert all(row[1].startswith("C") and row[2:] == ["0", "", mark(), str(int(row[1][1:]))] for row in rows[1:])
    done("ask", "screen.db", "-n", "4", "--out", "plate-2.csv")
    assert [row[0] for row in read("plate-2.csv")[1:]] == ["96", "97", "98", "99"]
    with open_study("screen.db", "main") as opened:
        holders = {str(folder / "plate-1.csv"), str(folder / "plate-2.csv")}
        assert (opened.seed, set(opened.view().holders)) == (3, holders)


def test_tickets_can_be_printed_for_a_person_and_for_a_program():
    first = done("ask", "screen.db", "--arms", "arms.csv", "-n", "2").splitlines()
    assert first[0] == ",".join(HEADER)
    assert first[2].startswith("1,C")
    tickets = [json.loads(line) for line in done("ask", "screen.db", "-n", "2", "--json").splitlines()]
    assert [list(ticket) for ticket in tickets] == [["ticket", "arm", "pull", "row"]] * 2
    assert all(ticket["row"]["mass"] == str(int(ticket["arm"][1:])) for ticket in tickets)
    assert [ticket["ticket"] for ticket in tickets] == [2, 3]


def test_a_plate_that_was_lost_is_given_again(folder):
    plate(number=3)
    lost = read("plate.csv")
    Path("plate.csv").unlink()
    ended = study("ask", "screen.db", "-n", "5", "--out", "plate.csv")
    assert [row[:3] for row in read("plate.csv")] == [row[:3] for row in lost]
    said, fewer = ended.stderr.splitlines()
    assert said == "These were handed out before, and not told since: where two have them, the first answer counts."
    holder = str(folder / "plate.csv")
    assert fewer == f"3 tickets instead of 5: these are the open ones of {holder}, and come before new ones"
    again = study("ask", "screen.db", "-n", "3", "--holder", holder, "--json")
    assert [json.loads(line)["ticket"] for line in again.stdout.splitlines()] == [0, 1, 2]
    assert again.stderr.startswith("These were handed out before")


def test_plates_of_one_name_in_two_folders_are_two_plates():
    for day in ("monday", "tuesday"):
        Path(day).mkdir()
        ended = study("ask", "screen.db", "--arms", "arms.csv", "-n", "4", "--out", f"{day}/plate.csv")
        assert (ended.exit_code, ended.stderr) == (0, "")
    assert [row[0] for row in read("tuesday/plate.csv")[1:]] == ["4", "5", "6", "7"]


def test_tickets_that_failed_are_said_to_have_been_handed_out_before():
    plate(number=3)
    with open_study("screen.db", "main") as opened:
        opened.fail(1)
    ended = study("ask", "screen.db", "-n", "3", "--out", "second.csv")
    assert [row[0] for row in read("second.csv")[1:]] == ["1", "3", "4"]
    assert ended.stderr.startswith("1 of these was handed out before, and not told since")


def test_a_holder_has_a_name_however_long_and_odd_its_path_is(folder):
    place = folder / "\n" / ("x" * 120) / ("y" * 120)
    (place / "z").mkdir(parents=True)
    for ticket, name in enumerate([place / "plate.csv", place / "z" / "plate.csv"]):
        done("ask", "screen.db", "--arms", "arms.csv", "--out", str(name))
        assert read(name)[1][0] == str(ticket)
        name.unlink()
        done("ask", "screen.db", "--out", str(name))
        assert read(name)[1][0] == str(ticket)


@pytest.mark.parametrize("name", ["犬" * 100, "犬" * 84, "."])
def test_a_plate_that_can_have_no_such_name_is_refused_before_anything_is_handed_out(name):
    plate()
    before = events()
    assert "--out is " in refused("ask", "screen.db", "--out", name)[1]
    assert events() == before


# What is printed can be given to a shell


@pytest.mark.parametrize("out", ["plate 1.csv", "-plate.csv"])
def test_the_command_that_is_printed_tells_that_plate_to_that_study(out):
    plate()
    printed = done("ask", "my screen.db", "--arms", "arms.csv", "-n", "3", "--name", "a study", f"--out={out}")
    rows = read(out)
    write(out, [rows[0], *[[*row[:3], "0.5", *row[4:]] for row in rows[1:]]])
    program, *words = shlex.split(printed.splitlines()[-1])
    assert program == "boxthirding"
    ended = invoke(*words)
    assert (ended.exit_code, "Study a study: 3 pulls" in ended.stdout) == (0, True)


def test_a_password_is_not_printed(monkeypatch):
    url = "postgresql://ann:secret1@host/lab?password=secret2"
    plate()
    monkeypatch.setattr(storage, "open_study", lambda _, name, **__: open_study("screen.db", name))
    monkeypatch.setattr(storage, "list_studies", lambda _: ["main"])
    printed = done("ask", url, "--out", "second.csv")
    assert "boxthirding study tell 'postgresql://ann:" in printed
    assert "secret" not in printed
    monkeypatch.setattr(storage, "list_studies", lambda _: [])
    assert "secret" not in done("list", url)
    for arguments in (["show", url], ["ask", url]):
        assert "secret" not in refused(*arguments)[1]
    monkeypatch.setattr(storage, "list_studies", lambda _: ["a", "b"])
    for arguments in (["show", url], ["ask", url, "--arms", "arms.csv"]):
        assert "secret" not in refused(*arguments)[1]


@pytest.mark.parametrize("there", [["one"], ["one", "two"]])
def test_a_second_study_is_not_made_by_leaving_out_the_name(there):
    for name in there:
        done("ask", "screen.db", "--arms", "arms.csv", "--name", name)
    said = refused("ask", "screen.db", "--arms", "arms.csv")[1]
    assert all(repr(name) in said for name in there)
    assert "none called main: say with --name which one to resume, or how the new one is called" in said
    assert list_studies("screen.db") == there
    done("ask", "screen.db", "--arms", "arms.csv", "--name", "main")
    done("ask", "screen.db", "--arms", "arms.csv")
    assert list_studies("screen.db") == sorted([*there, "main"])


def test_a_plate_that_is_there_is_not_overwritten():
    plate()
    before = Path("plate.csv").read_bytes()
    assert "plate.csv, which is there already: tell it first" in refused("ask", "screen.db", "--out", "plate.csv")[1]
    assert Path("plate.csv").read_bytes() == before
    assert len(events()) == 2


@pytest.mark.parametrize("url", ["new.db", "sqlite:new.db", "sqlite:///new.db"])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal", "-worker-0123456789ab"])
def test_a_plate_is_not_the_study_that_is_about_to_be_made(folder, url, ending):
    there = set(folder.iterdir())
    said = refused("ask", url, "--arms", "arms.csv", "--out", f"new.db{ending}")[1]
    assert f"--out is new.db{ending}, which is the study itself: name another file" in said
    assert set(folder.iterdir()) == there


def test_a_plate_may_be_called_almost_as_the_study():
    assert refused("ask", "new.db", "--arms", "arms.csv", "--out", "new.db-wal")
    assert "new.db.csv: 3 tickets" in done("ask", "new.db", "--arms", "arms.csv", "-n", "3", "--out", "new.db.csv")


def test_a_plate_that_cannot_be_written_is_there_when_it_can(folder):
    plate()
    assert "there is no folder" in refused("ask", "screen.db", "--out", "nowhere/plate.csv")[1]
    Path(".second.csv.part").mkdir()  # in the way of what is being written
    ended = study("ask", "screen.db", "-n", "2", "--out", "second.csv")
    assert (ended.exit_code, "give the same command again" in ended.stderr) == (1, True)
    Path(".second.csv.part").rmdir()
    done("ask", "screen.db", "-n", "2", "--out", "second.csv")
    assert [row[0] for row in read("second.csv")[1:]] == ["6", "7"]
    assert {path.name for path in folder.glob("*.csv")} == {"arms.csv", "plate.csv", "second.csv"}


def test_nothing_is_handed_out_while_a_study_is_paused():
    plate()
    done("pause", "screen.db")
    ended = study("ask", "screen.db", "--out", "second.csv")
    assert (ended.exit_code, Path("second.csv").exists()) == (0, False)
    assert "0 tickets instead of 1: the study is paused" in ended.stderr


def test_a_policy_that_waits_says_so():
    Path("few.txt").write_text("x\ny\nz\n", encoding="utf-8")
    done("ask", "screen.db", "--arms", "arms.csv", "--policy", "sh:budget=20", "-n", "9", "--out", "one.csv")
    ended = study("ask", "screen.db", "-n", "9", "--out", "two.csv")
    assert "instead of 9: the policy waits for results" in ended.stderr
    done("ask", "three.db", "--arms", "few.txt", "--policy", "sh:budget=20", "--out", "three.csv")
    ended = study("ask", "three.db", "-n", "99", "--out", "four.csv")
    rows = len(read("four.csv")) - 1
    assert ended.stderr.splitlines() == [
        f"{rows} tickets instead of 99: the policy waits for results ({rows + 1} tickets open)",
    ]


BAD_ASKS = {
    "no arms": (["other.db"], ["other.db has no studies", "--arms FILE"]),
    "no such name": (["screen.db", "--name", "other"], ["no study 'other'", "'main'"]),
    "other arms": (["screen.db", "--arms", "few.txt"], ["arm 'C000' at position 0, not 'x'"]),
    "another policy": (["screen.db", "--policy", "us"], ["policy chase, not us"]),
    "another seed": (["screen.db", "--seed", "5"], ["seed 0, not 5"]),
    "another direction": (["screen.db", "--direction", "minimize"], ["direction maximize, not minimize"]),
    "another lease": (["screen.db", "--lease", "60"], ["made with no lease, not 60"]),
    "a lease of 0": (["new.db", "--arms", "few.txt", "--lease", "0"], ["lease is 0", "above 0"]),
    "no tickets": (["screen.db", "-n", "0"], ["-n is 0", "at least 1"]),
    "two outputs": (["screen.db", "--out", "x.csv", "--json"], ["leave one out"]),
    "a lease below 0": (["new.db", "--arms", "few.txt", "--lease", "-1"], ["lease is -1", "above 0"]),
    "a seed below 0": (["new.db", "--arms", "few.txt", "--seed", "-1"], ["seed is -1", "at least 0"]),
    "an unknown policy": (["new.db", "--arms", "few.txt", "--policy", "best"], ["policy is 'best'"]),
    "a policy that lacks its budget": (["new.db", "--arms", "few.txt", "--policy", "sh"], ["sh must be told budget"]),
    "no such file": (["new.db", "--arms", "gone.csv"], ["gone.csv cannot be read"]),
    "a file that is no database": (["arms.csv"], ["arms.csv is not an SQLite database", "give the file of a study"]),
    "a URL that is none": (["ftp://x"], ["url is 'ftp://x'"]),
}


@pytest.mark.parametrize("case", BAD_ASKS)
def test_bad_questions_are_refused_and_change_nothing(case):
    plate()
    Path("few.txt").write_text("x\ny\n", encoding="utf-8")
    before = events()
    arguments, fragments = BAD_ASKS[case]
    _, line = refused("ask", *arguments)
    for fragment in fragments:
        assert fragment in line
    assert events() == before
    assert not Path("new.db").exists()


# Plates come back


def test_a_plate_that_was_filled_in_is_told():
    plate(row2="0.9", row4="")
    told, how = done("tell", "screen.db", "plate.csv").splitlines()
    assert told == "plate.csv: 5 results told; 1 row without a reward left open."
    best = read("plate.csv")[3][1]
    assert how == f"Study main: 5 pulls, 1 ticket open; best so far {best}, 0.9 over 1 pull."
    assert [event.reward for event in events()[2:]] == [0.5, 0.5, 0.9, 0.5, 0.5]


def test_told_for_a_program():
    plate(row1="")
    printed = json.loads(done("tell", "screen.db", "plate.csv", "--json"))
    assert (printed["told"], printed["empty"], printed["bad"]) == (5, 1, [])
    assert printed["good"][0] == {"line": 2, "ticket": 0, "reward": 0.5}


def test_columns_may_stand_in_any_order_and_others_beside_them():
    rows = plate()
    text = "reward,well,ticket\n" + "".join(f"{row[3]},A{place},{row[0]}\n" for place, row in enumerate(rows[1:]))
    Path("plate.csv").write_text("\ufeff" + text, encoding="utf-8")  # as a spreadsheet may write it
    assert "6 results told" in done("tell", "screen.db", "plate.csv")


BAD_ROWS = {
    "a ticket that is unknown": ("77", "C001", "0.5", "ticket 77 was never handed out by this study"),
    "a ticket that is told": ("0", None, "0.5", "ticket 0 was told already, 0.25: the first answer counts"),
    "a ticket that is void": ("1", None, "0.5", "ticket 1 is void: its arm was withdrawn"),
    "a ticket that is no number": ("A7", "C001", "0.5", "the ticket is 'A7', but must be a whole number"),
    "a ticket below 0": ("-1", "C001", "0.5", "the ticket is '-1', but must be a whole number"),
    "a ticket twice": ("3", None, "0.6", "ticket 3 stands on line 5 already"),
    "another arm": ("2", "C999", "0.5", "'C999': is this another study's file?"),
    "a reward that is no number": ("2", None, "high", "the reward is 'high', but must be a finite number"),
    "a reward that is not finite": ("2", None, "inf", "the reward is 'inf', but must be a finite number"),
    "a reward beyond all measure": ("2", None, "1e200", "'1e200', but must be a finite number below 1e150 in size"),
    "a reward as Python writes it": ("2", None, "1_000", "the reward is '1_000', but must be a finite number"),
    "a ticket beyond all measure": ("1" * 5000, "C001", "0.5", "…', which was never handed out by this study"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_one_bad_row_keeps_all_from_being_told(case):
    rows = plate()
    arms = {row[0]: row[1] for row in rows[1:]}
    with open_study("screen.db", "main") as opened:
        opened.tell(0, 0.25)
        opened.withdraw(arms["1"])
    ticket, arm, reward, reason = BAD_ROWS[case]
    good = [row for row in rows[1:] if row[0] in "345"]
    bad = [ticket, arm or arms[ticket], "0", reward, "", ""]
    write("plate.csv", [HEADER, *[["2", arms["2"], "0", "", "", ""]] * 3, *good, bad])
    before = events()
    said, line = refused("tell", "screen.db", "plate.csv")
    (where,) = [text for text in said.splitlines() if reason in text]
    assert where.startswith("plate.csv, line 8: ")
    assert "Good rows: lines 5-7.\nWithout a reward: 3 rows." in said
    assert line.endswith("has 1 bad row, so nothing was told: correct it, or pass --skip-bad to tell the 3 good rows")
    assert events() == before
    ended = study("tell", "screen.db", "plate.csv", "--skip-bad")
    assert (ended.exit_code, "3 results told; 3 rows without a reward left open" in ended.stdout) == (0, True)
    assert reason in ended.stderr
    assert len(events()) == len(before) + 3


def test_a_plate_of_another_study_with_the_same_name_arms_and_seed_is_refused():
    plate()
    done("ask", "other.db", "--arms", "arms.csv", "-n", "6", "--out", "other.csv")
    before = events("other.db")
    said, line = refused("tell", "other.db", "plate.csv")
    theirs, ours = mark("screen.db"), mark("other.db")
    reason = f"the row is of study '{theirs}', but this is '{ours}': tell it to the study it came from"
    assert said.splitlines() == [f"plate.csv, line {number}: {reason}" for number in range(2, 8)]
    assert line.endswith("has 6 bad rows, so nothing was told: correct it")
    assert events("other.db") == before
    assert "6 results told" in done("tell", "screen.db", "plate.csv")


def test_a_plate_made_by_hand_need_not_say_of_which_study_it_is():
    rows = plate()
    write("plate.csv", [HEADER, [*rows[1][:4], "", ""], *rows[2:]])
    write("hand.csv", [["ticket", "reward"], ["0", "0.5"]])
    assert "1 result told" in done("tell", "screen.db", "hand.csv")
    assert "5 results told" in done("tell", "screen.db", "plate.csv", "--skip-bad")


def test_empty_rows_are_nothing():
    rows = plate(row1="")
    write("plate.csv", [*rows, [""] * 6, ["", " ", "", "", "", ""]])
    assert done("tell", "screen.db", "plate.csv").startswith(
        "plate.csv: 5 results told; 1 row without a reward left open."
    )


def test_a_plate_told_twice_is_refused_the_second_time():
    plate()
    done("tell", "screen.db", "plate.csv")
    before = events()
    said, line = refused("tell", "screen.db", "plate.csv")
    assert said.count("was told already") == 6
    assert line.endswith("has 6 bad rows, so nothing was told: correct it")
    printed = json.loads(study("tell", "screen.db", "plate.csv", "--json").stdout)
    assert (printed["told"], len(printed["bad"])) == (0, 6)
    assert events() == before


BAD_FILES = {
    "other columns": ("well,value\nA1,3\n", ["has the columns well, value", "must have ticket and reward"]),
    "another separator": ("ticket|arm|pull|reward\n0|a|0|1\n", ["must have ticket and reward"]),
    "no rows": ("ticket,reward\n", ["no rows"]),
    "nothing": ("", ["is empty"]),
    "a ragged row": ("ticket,reward\n0,1,2\n", ["3 cells"]),
    "a column twice": ("ticket,reward,reward\n0,1,2\n", ["more than one column 'reward'"]),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_file_that_is_no_plate_is_refused(case):
    plate()
    before = events()
    text, fragments = BAD_FILES[case]
    Path("bad.csv").write_text(text, encoding="utf-8")
    _, line = refused("tell", "screen.db", "bad.csv")
    for fragment in fragments:
        assert fragment in line
    assert events() == before


def test_many_bad_rows_are_counted():
    rows = plate(number=40)
    write("plate.csv", [HEADER, *[[str(1000 + place), "x", "0", "1", "", ""] for place in range(len(rows))]])
    said, _ = refused("tell", "screen.db", "plate.csv")
    assert (len(said.splitlines()), "and 21 more bad rows; --json names them all" in said) == (21, True)


def test_no_results_are_taken_when_the_study_is_finished():
    plate()
    done("finish", "screen.db", "--yes")
    for arguments in (["tell", "screen.db", "plate.csv"], ["ask", "screen.db"]):
        assert "is finished for good, so nothing changes its answer" in refused(*arguments)[1]
    assert json.loads(done("show", "screen.db", "--json"))["pulls"] == 0
