"""Files from the real world: what `run`, `study` and `simulate` understand of them, and what they say of the others."""

import csv
import json
import os
from pathlib import Path

import pytest
from invoking import done, invoke, refused, study

from boxthirding import open_study

pytestmark = pytest.mark.usefixtures("folder")

SHEET = "compound;rate;note\nann;1.5;a, b\nbob;2.25;c\nzoe;0.5;\n"


def write(name, text, encoding="utf-8"):
    Path(name).write_bytes(text.encode(encoding))


def run(*options, command="echo {rate}", budget=6):
    return invoke("run", "--arms", *options, "--command", command, "--budget", budget, "--json")


def answer(*options, **settings):
    ended = run(*options, **settings)
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


def refusal(*options, **settings):
    ended = run(*options, **settings)
    assert (ended.exit_code, ended.stdout) == (2, ""), ended.output
    (line,) = ended.stderr.splitlines()
    return line


# Arms of a run


FORMS = {
    "semicolons": ("arms.csv", SHEET, "utf-8"),
    "tabs": ("arms.tsv", SHEET.replace(";", "\t"), "utf-8"),
    "tabs in a .csv": ("arms.csv", SHEET.replace(";", "\t"), "utf-8"),
    "a byte-order mark": ("arms.csv", SHEET, "utf-8-sig"),
    "commas": ("arms.csv", "compound,rate,note\nann,1.5,\nbob,2.25,\nzoe,0.5,\n", "utf-8"),
    "JSON lines": (
        "arms.jsonl",
        '{"compound": "ann", "rate": 1.5}\n{"compound": "bob", "rate": 2.25}\n{"compound": "zoe", "rate": 0.5}\n',
        "utf-8",
    ),
}


@pytest.mark.parametrize("case", FORMS)
def test_a_command_is_handed_the_same_numbers_however_the_arms_were_saved(case):
    name, text, encoding = FORMS[case]
    write(name, text, encoding)
    found = answer(name)
    assert (found["best"], found["mean"]) == ("bob", 2.25)
    assert {arm["mean"] for arm in found["top"]} >= {2.25, 1.5}


def test_text_with_commas_is_handed_over_as_it_is():
    write("arms.csv", SHEET)
    Path("say.sh").write_text('echo "$1" >> notes\necho 1\n')
    answer("arms.csv", command="sh say.sh {note}")
    assert set(Path("notes").read_text().splitlines()) == {"a, b", "c", ""}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_cell_reaches_the_command_as_it_is_written(separator):
    rows = [["cpus", "version", "note"], ["0,1", "1,10", " 2,5 "], ["1,5", "1.10", "1,234"], ["007", "1e3", "1.234,5"]]
    with Path("arms.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(rows)
    Path("say.sh").write_text('echo "$1|$2|$3" >> seen\necho 1\n')
    found = answer("arms.csv", command="sh say.sh {arm} {version} {note}", budget=3)
    assert set(Path("seen").read_text().splitlines()) == {"|".join(cells) for cells in rows[1:]}
    assert {arm["label"] for arm in found["top"]} == {"0,1", "1,5", "007"}


def test_two_cpus_need_no_quotation_marks_between_semicolons():
    write("cpus.csv", "cpus;threads\n0,1;2\n2,3;2\n")
    Path("say.sh").write_text('echo "$1" >> seen\necho 1\n')
    answer("cpus.csv", command="sh say.sh {cpus}", budget=2)
    assert set(Path("seen").read_text().split()) == {"0,1", "2,3"}
    done("ask", "s.db", "--arms", "cpus.csv", "-n", 2, "--out", "plate.csv")
    with open_study("s.db") as opened:
        assert opened.payload("0,1") == {"cpus": "0,1", "threads": "2", "arm": "0,1"}


def test_examples_and_known_results_are_read_in_the_same_way():
    write("arms.csv", SHEET)
    write("examples.csv", "example;weight\n0,5;a\n0,25;b\n")
    Path("say.sh").write_text('echo "$2" >> seen\necho $1\n')
    write("known.csv", "arm;example;reward\nann;0,5;100,5\nann;0,25;99,5\n")
    found = answer(
        "arms.csv", "--examples", "examples.csv", "--known", "known.csv", command="sh say.sh {rate} {example}"
    )
    assert (found["best"], found["mean"]) == ("ann", 100.0)
    assert {"0,5"} <= set(Path("seen").read_text().split()) <= {"0,5", "0,25"}
    write("known.jsonl", '{"arm": "zoe", "score": 7.5}\n')
    found = answer("arms.csv", "--known", "known.jsonl", budget=3)
    assert max((arm["mean"], arm["label"]) for arm in found["top"])[1] == "zoe"


BAD_ARMS = {
    "an old encoding": (
        "arm;rate\ncafé;1,5\n",
        "cp1252",
        "(byte 12 is 0xe9): save it as CSV UTF-8, or convert",
    ),
    "UTF-16": (SHEET, "utf-16", "save it as CSV UTF-8, or convert it, for example with iconv -f UTF-16 -t UTF-8"),
    "commas in one column": ("rate\n0,5\n1,5\n", "utf-8", "header has 1: put cells that contain commas in quotation"),
    "two separators": ("arm;rate, raw\na;1,x\n", "utf-8", "may be separated by commas or semicolons"),
    "no header": ("ann,0.5\nbob,0.7\n", "utf-8", "begins with ann, 0.5, but must begin with the names of its columns"),
    "no header, decimal commas": ("ann;0,5\nbob;0,7\n", "utf-8", "begins with ann, 0,5, but"),
}


@pytest.mark.parametrize("case", BAD_ARMS)
def test_arms_that_may_be_read_in_two_ways_are_refused_by_the_cause(case):
    text, encoding, fragment = BAD_ARMS[case]
    write("arms.csv", text, encoding)
    said = refusal("arms.csv")
    assert fragment in said
    assert ("pass --no-header" in said) == case.startswith("no header")


def test_a_workbook_is_refused_by_its_name():
    Path("arms.csv").write_bytes(b"PK\x03\x04\x14\x00")
    assert "arms.csv is a workbook of a spreadsheet program: save its sheet as CSV UTF-8" in refusal("arms.csv")


def test_lines_of_text_that_look_like_a_table_are_refused():
    write("arms.txt", "arm\trate\na\t1\nb\t2\n")
    assert "arms.txt has tabs on every line, as a table has" in refusal("arms.txt", command="echo {arm}")
    write("arms.txt", "1\n2\n", "utf-8-sig")
    assert answer("arms.txt", command="echo {arm}")["best"] == "2"


# Files without a header


def test_a_run_without_headers():
    write("arms.csv", "ann;1.5\nbob;2.25\n")
    write("known.csv", "ann;9,5\n")
    found = answer("arms.csv", "--no-header", command="echo {2}")
    assert (found["best"], found["mean"]) == ("bob", 2.25)
    assert answer("arms.csv", "--no-header", "--known", "known.csv", command="echo {2}", budget=2)["best"] == "ann"
    write("named.csv", "arm;rate\nann;1,5\n")
    assert "is said to have no header, but its first line has 'arm'" in refusal("named.csv", "--no-header")


def test_a_study_without_headers():
    write("arms.csv", "ann;1,5\nbob;2,25\n")
    write("more.csv", "zoe;3,5\n")
    write("known.csv", "ann;9,5\nbob;8,5\n")
    assert "pass --no-header" in refused("ask", "s.db", "--arms", "arms.csv")
    assert not Path("s.db").exists()
    done("ask", "s.db", "--arms", "arms.csv", "--no-header", "-n", 2, "--out", "plate.csv")
    for command, file in (("add", "more.csv"), ("observe", "known.csv")):
        assert "pass --no-header" in refused(command, "s.db", file)
        done(command, "s.db", file, "--no-header")
    write("told.csv", "0;1,5\n1;2,5\n")
    assert "pass --no-header" in refused("tell", "s.db", "told.csv")
    assert "2 results told" in done("tell", "s.db", "told.csv", "--no-header")
    with open_study("s.db") as opened:
        assert (opened.pulls, opened.payload("zoe")) == (4, {"arm": "zoe", "2": "3,5"})
        assert sorted(arm.mean for arm in opened.arms()) == [5.0, 6.0]


def test_means_without_a_header():
    options = ["--rewards", "none", "--policy", "us", "--budget", 20, "--replicates", 2, "--json"]
    for text in ("0.5\n0.75\n", "ann;0,5\nbob;0,75\n"):
        write("means.csv", text)
        ended = invoke("simulate", "--means", "means.csv", *options)
        assert (ended.exit_code, "pass --no-header" in ended.stderr) == (2, True)
        ended = invoke("simulate", "--means", "means.csv", "--no-header", *options)
        assert (ended.exit_code, json.loads(ended.stdout)["regret_mean"]) == (0, 0.0)
    write("means.csv", "0,5\n0,75\n")
    ended = invoke("simulate", "--means", "means.csv", "--no-header", *options)
    assert (ended.exit_code, "may be one number or two" in ended.stderr) == (2, True)


@pytest.mark.parametrize("text", ["label;mean\na;0,5\nb;0,25\n", "mean\n0.5\n0.25\n", "label\tmean\na\t0.5\nb\t0.25\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_means_are_read_however_they_were_saved(text, encoding):
    write("means.csv", text, encoding)
    options = ["--rewards", "none", "--policy", "us", "--budget", 1, "--replicates", 50, "--json"]
    ended = invoke("simulate", "--means", "means.csv", *options)
    assert ended.exit_code == 0, ended.output
    assert 0 < json.loads(ended.stdout)["regret_mean"] < 0.25  # one pull: now and then of the worse arm


def test_scores_to_simulate_are_read_in_the_same_way():
    write("scores.csv", "arm;1;2\na;0,5;0,25\nb;1,5;\n")
    options = ["--policy", "us", "--budget", 6, "--replicates", 3, "--json"]
    row = json.loads(invoke("simulate", "--rewards", "scores:scores.csv", *options).stdout)
    assert (row["policy"], row["regret_mean"]) == ("us", 0.0)


# Plates that come back


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_plate_is_told_however_it_was_saved(separator, encoding):
    write("arms.csv", SHEET)
    done("ask", "s.db", "--arms", "arms.csv", "-n", 3, "--out", "plate.csv")
    rows = [*csv.reader(Path("plate.csv").read_text(encoding="utf-8").splitlines())]
    for row, reward in zip(rows[1:], ["0,5", "1,25", "-2"], strict=True):
        row[3] = reward if separator != "," else reward.replace(",", ".")
    with Path("plate.csv").open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    assert "3 results told" in done("tell", "s.db", "plate.csv")
    with open_study("s.db") as opened:
        assert sorted(arm.mean for arm in opened.arms()) == [-2.0, 0.5, 1.25]


def test_json_lines_are_told():
    write("arms.csv", SHEET)
    tickets = done("ask", "s.db", "--arms", "arms.csv", "-n", 2, "--json").splitlines()
    write("told.jsonl", "\n".join(json.dumps({**json.loads(line), "reward": 0.5}) for line in tickets))
    assert "2 results told" in done("tell", "s.db", "told.jsonl")


def test_a_reward_that_may_be_two_numbers_is_a_bad_row():
    write("arms.csv", SHEET)
    done("ask", "s.db", "--arms", "arms.csv", "-n", 2, "--out", "plate.csv")
    write("plate.csv", "ticket;reward\n0;1,234\n1;2,345\n")
    ended = study("tell", "s.db", "plate.csv")
    assert ended.exit_code == 2
    assert "plate.csv, line 2: the reward is '1,234', which may be 1.234 or 1234" in ended.stderr
    write("plate.csv", "ticket;reward\n0;1,234\n1;2,5\n")
    assert "2 results told" in done("tell", "s.db", "plate.csv")
    with open_study("s.db") as opened:
        assert sorted(arm.mean for arm in opened.arms()) == [1.234, 2.5]


# Commands


def test_a_place_that_is_no_column_is_refused_with_what_may_have_been_meant():
    write("arms.csv", SHEET)
    assert "}. Did you mean '{rate}'?" in refusal("arms.csv", command="echo {raet}")
    write("arms.csv", "ann;1,5\nbob;2,25\n")
    said = refusal("arms.csv", "--no-header", command="echo {1}")
    assert ". The first column of a table without a header is {arm}" in said
    write("arms.dat", SHEET)
    assert "Only .csv, .tsv and .jsonl files have more columns" in refusal("arms.dat")


def test_a_pipe_runs_by_the_shell_and_is_refused_without():
    write("arms.csv", SHEET)
    command = "echo {rate} | sed s/2.25/9/"
    assert answer("arms.csv", "--shell", command=command)["mean"] == 9
    said = refusal("arms.csv", command=command)
    assert "command has |, which needs a shell: pass --shell, or quote it to pass it on literally" in said


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("echo {rate} > log", ">"),
        ("echo {rate} 2>/dev/null", "2>"),
        ("cd folder && echo {rate}", "&&"),
        ("sleep 0; echo {rate}", ";"),
        ("echo {rate} $HOME", "$HOME"),
        ("echo `cat x` {rate}", "`"),
        ("echo $(cat x) {rate}", "$(cat"),
    ],
)
def test_what_only_a_shell_understands_is_refused_with_the_option(command, what):
    write("arms.csv", SHEET)
    assert f"command has {what}, which needs a shell: pass --shell" in refusal("arms.csv", command=command)


def test_what_stands_in_quotation_marks_is_for_the_program():
    write("arms.csv", SHEET)
    Path("last.sh").write_text('echo "$1" > seen\necho "$2"\n')
    assert answer("arms.csv", command="sh last.sh '| > ; $HOME `x` &&' {rate}")["mean"] == 2.25
    assert Path("seen").read_text() == "| > ; $HOME `x` &&\n"
    assert answer("arms.csv", command="sh last.sh a&b=c;d {rate}")["mean"] == 2.25


HOSTILE = [
    "$(touch broken)",
    "`touch broken`",
    "; touch broken",
    "' ; touch broken ; '",
    '" ; touch broken ; "',
    "a b  c*",
    "\\",
    "-n",
    "it's",
]


@pytest.mark.parametrize(
    "command",
    [
        "printf %s {arm} | wc -c",
        "printf %s '{arm}' | wc -c",
        'printf %s "{arm}" | wc -c',
        'echo "$(printf %s {arm} | wc -c)"',
        'echo "$(printf %s "{arm}" | wc -c)"',
        "echo `printf %s {arm} | wc -c`",
        "{ printf %s {arm}; } | wc -c # it's",
    ],
)
def test_the_shell_never_runs_an_arm(command):
    write("arms.jsonl", "\n".join(json.dumps({"arm": arm}) for arm in HOSTILE))
    found = answer("arms.jsonl", "--shell", "--top", len(HOSTILE), command=command, budget=30)
    assert not Path("broken").exists()
    lengths = {arm["label"]: arm["mean"] for arm in found["top"]}
    assert lengths == {arm: len(arm) for arm in lengths}
    assert len(lengths) == len(HOSTILE)


def test_a_variable_of_the_shell_is_its_own():
    write("arms.csv", SHEET)
    assert answer("arms.csv", "--shell", command="x={rate}; echo ${x}")["mean"] == 2.25
    said = refusal("arms.csv", "--shell", command="awk '{print}' {rate}")
    assert "command has the unknown placeholder {print}; available: " in said
    assert said.endswith("if it is for the shell, write { print }")


def test_a_study_is_resumed_with_a_shell_or_without_but_not_now_so_and_now_so():
    write("arms.csv", SHEET)
    answer("arms.csv", "--study", "s.db", budget=3)
    said = refusal("arms.csv", "--study", "s.db", "--shell", budget=6)
    assert "study 'main' was made without shell, not with shell 'sh', so results of two kinds would be mixed; " in said
    assert said.endswith("choose another --name, or pass --force to continue with the new one")


def test_a_script_that_is_not_executable_is_told_how_to_be_run():
    write("arms.csv", SHEET)
    Path("score.py").write_text("print(1)\n")
    said = refusal("arms.csv", command="./score.py {rate}")
    assert "'./score.py', which is not executable: write 'python ./score.py …', or make it executable by" in said
    assert "`chmod +x ./score.py`" in said
    Path("score").write_text("#!/bin/sh\necho $1\n")
    assert "make it executable by `chmod +x ./score`" in refusal("arms.csv", command="./score {rate}")
    Path("score").chmod(0o755)
    assert answer("arms.csv", command="./score {rate}")["mean"] == 2.25
    assert "which is in the current folder but not on PATH: write ./score" in refusal(
        "arms.csv", command="score {rate}"
    )


@pytest.mark.parametrize(
    ("command", "way_out"),
    [
        ("cd {rate}", "'cd', which needs a shell: pass --shell"),
        ("SEED=1 echo {rate}", "'SEED=1', which sets a variable and needs a shell: pass --shell, or put env"),
        ("pyhton3 {rate}", "'pyhton3', which was not found on PATH: check its name"),
    ],
)
def test_a_program_that_is_none_is_refused_with_the_way_out(command, way_out):
    write("arms.csv", SHEET)
    assert way_out in refusal("arms.csv", command=command)


@pytest.mark.skipif(os.name == "nt", reason="files are executable there by their names")
def test_a_script_without_an_interpreter_says_so():
    write("arms.csv", SHEET)
    Path("score").write_bytes(b"\x7fnothing\n")
    Path("score").chmod(0o755)
    ended = run("arms.csv", command="./score {rate}")
    assert ended.exit_code == 1
    assert "is it a script without #! on its first line? Name its interpreter first" in ended.stderr


# What is written


@pytest.mark.parametrize("command", ["export", "results"])
def test_what_is_written_depends_on_the_name_of_the_file(command):
    write("arms.csv", SHEET)
    with open_study("s.db", arms=["a", "b"]) as opened:
        opened.tell(opened.ask()[0], 0.5)
    done(command, "s.db", "--out", "out.csv")
    done(command, "s.db", "--out", "out.JSONL")
    assert "," in Path("out.csv").read_text().splitlines()[0]
    assert all(json.loads(line) for line in Path("out.JSONL").read_text().splitlines())
    for name in ("out.xlsx", "out.json", "out.txt", "out"):
        assert f"--out is {name}, but must end in .csv or .jsonl" in refused(command, "s.db", "--out", name)
        assert not Path(name).exists()


def test_a_format_that_contradicts_the_name_is_refused():
    with open_study("s.db", arms=["a", "b"]):
        pass
    assert "--format is jsonl and --out is x.csv" in refused("export", "s.db", "--out", "x.csv", "--format", "jsonl")
    assert "--out is p.xlsx, but a plate is a CSV file" in refused("ask", "s.db", "--out", "p.xlsx")
    with open_study("s.db") as opened:
        assert opened.open == 0
