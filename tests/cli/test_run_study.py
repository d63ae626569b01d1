"""`boxthirding run --study`: a run that is stopped resumes, and a study is never mixed with another."""

import json
import signal
from pathlib import Path

import pytest
from invoking import invoke
from running import GOOD, PYTHON, calls, journal, result, run, started, stop, wait_for, words

import boxthirding
from boxthirding.find.programs import Pulls
from boxthirding.study.events import Redefined

pytestmark = pytest.mark.usefixtures("programs")


@pytest.fixture
def kept(folder):
    """Return a command whose scores depend on the arm and the pull alone; a file `hang-after-N` makes it hang then."""
    (folder / "kept.py").write_text(
        "import os, pathlib, random, sys, time\n"
        "calls = pathlib.Path('calls')\n"
        "made = len(calls.read_text().splitlines()) if calls.exists() else 0\n"
        "if pathlib.Path(f'hang-after-{made}').exists():\n"
        "    parent = os.getppid(); pathlib.Path('hangs').touch()\n"
        "    while os.getppid() == parent: time.sleep(0.01)  # and no longer: a run that was killed cannot end it\n"
        "    sys.exit(1)\n"
        "with calls.open('a') as log: log.write(' '.join(sys.argv[1:]) + '\\n')\n"
        "print(random.Random(' '.join(sys.argv[1:])).gauss(int(sys.argv[1]) % 7, 1))\n",
        encoding="utf-8",
    )
    (folder / "many.txt").write_text("\n".join(map(str, range(50))), encoding="utf-8")
    command = f"{PYTHON} -S kept.py {{arm}} {{pull}}"
    return ["--arms", "many.txt", "--command", command, "--budget", "24", "--study", "run.db"]


def ended(process):
    output, errors = process.communicate(timeout=600)
    return process.returncode, output, errors


def told(url, name="main"):
    """Return what a study was told, in order."""
    with boxthirding.open_study(url, name) as study:
        labels = {}
        for _, event in study.events():
            kind = type(event).__name__
            if kind == "Asked":
                labels |= {ticket: label for ticket, label, _ in event.tickets}
            elif kind == "Told":
                yield labels[event.ticket], event.reward


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_that_was_stopped_half_way_goes_on_and_equals_an_undisturbed_one(folder, kept, sent):
    (folder / "hang-after-9").touch()
    with started(*kept) as process:
        wait_for((folder / "hangs").exists, process)
        stop(process, sent)
        code, _, errors = ended(process)
    assert code == {signal.SIGKILL: -9, signal.SIGINT: 130, signal.SIGTERM: 143}[sent]
    assert errors.endswith("\nThe same command resumes from here.\n") == (sent != signal.SIGKILL)
    (folder / "hang-after-9").unlink()
    with started(*kept) as process:
        code, output, errors = ended(process)
    assert code == 0
    assert "Study run.db: resuming from 9 pulls, 1 ticket open.\n" in errors
    assert "Spent 24 of 24 pulls (15 here), 0 left, in " in output
    assert len(calls()) == len(set(calls())) == 24
    undisturbed = result(*kept, "--name", "undisturbed")
    assert list(told("run.db")) == list(told("run.db", "undisturbed"))
    assert output.startswith(f"Best arm: {undisturbed['best']}\n")


def test_a_run_that_is_finished_returns_at_once_and_more_budget_goes_on(kept):
    first = result(*kept)
    assert first["spending"]["pulls"] == 24
    again = result(*kept)
    assert (again["best"], again["top"], again["spending"]["pulls"]) == (first["best"], first["top"], 0)
    assert (again["spending"]["elsewhere"], again["spending"]["left"], again["stopped"]) == (24, 0, "budget")
    more = result(*kept, "--budget", "30")
    assert (more["spending"]["pulls"], more["spending"]["elsewhere"]) == (6, 24)
    assert len(calls()) == 30


def test_two_runs_at_once_share_the_budget(kept):
    with started(*kept, "--workers", "2", "--json") as one, started(*kept, "--workers", "2", "--json") as two:
        answers = [ended(process) for process in (one, two)]
    assert [code for code, _, _ in answers] == [0, 0]
    spending = [json.loads(output)["spending"] for _, output, _ in answers]
    assert sum(each["pulls"] for each in spending) == len(calls()) == 24
    assert [each["pulls"] + each["elsewhere"] for each in spending] == [24, 24]


STUDIES = {
    "another seed": (["--seed", "3"], "study 'main' was made with seed 0, not 3"),
    "another policy": (["--policy", "us"], "made with policy chase, not us"),
    "other arms": (["--arms", "arms.txt"], "not 'ann'"),
    "a file that is no database": (["--study", "score.py"], "score.py is not an SQLite database"),
    "a folder that is not there": (
        ["--study", "nowhere/run.db"],
        "nowhere/run.db cannot be opened, because there is no folder",
    ),
}


@pytest.mark.parametrize("case", STUDIES)
def test_a_study_that_does_not_fit_is_refused_and_nothing_runs(kept, case):
    with boxthirding.open_study("run.db", "main", arms=[str(number) for number in range(50)]):
        pass
    changed, fragment = STUDIES[case]
    done = run(*kept, *changed)
    assert (done.exit_code, done.stdout) == (2, "")
    assert fragment in done.stderr
    assert not Path("calls").exists()


def test_a_run_goes_on_with_the_seed_and_the_direction_that_the_study_was_made_with(kept):
    first = result(*kept, "--seed", "5", "--direction", "minimize", "--examples", "examples.txt", *shown_to())
    more = result(*kept, "--budget", "30", "--examples", "examples.txt", *shown_to())
    assert (first["spending"]["pulls"], more["spending"]["elsewhere"], more["spending"]["pulls"]) == (24, 24, 6)
    with boxthirding.open_study("run.db", "main") as study:
        assert (study.seed, study.direction) == (5, "minimize")
    seen = dict(call.split()[1:] for call in calls())  # the example of each pull
    assert all(call.split()[1:] in map(list, seen.items()) for call in calls())  # the same in both runs
    expected = Pulls(["easy", "hard", "odd"], 5)
    assert seen == {pull: expected[int(pull)][1] for pull in seen}


def test_a_run_without_examples_stores_none(kept):
    result(*kept, "--command", f"{PYTHON} -S kept.py {{arm}} {{pull}}")
    with boxthirding.open_study("run.db", "main") as study:
        assert not any(isinstance(entry.event, Redefined) for entry in study.events())


def shown_to():
    """Return a command that is told its example too."""
    return ["--command", f"{PYTHON} -S kept.py {{arm}} {{pull}} {{example}}"]


def test_an_arm_that_was_added_is_run_when_its_row_is_in_the_file_wherever_it_stands():
    command = ["--command", f"{PYTHON} score.py {{name}}", "--study", "run.db"]
    result("--arms", "arms.csv", *command, "--budget", "5")
    with boxthirding.open_study("run.db", "main") as study:
        study.add(["zzz", "gone"])
        study.withdraw("gone")
    done = run("--arms", "arms.csv", *command, "--budget", "30")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: arm 'zzz' of the study is not in the file of --arms, so there is nothing to fill in: add its row to "
        "the file and pass --force, or take the arm out with `boxthirding study withdraw`\n"
    )
    assert len(calls()) == 5
    first, *rest = Path("arms.csv").read_text(encoding="utf-8").splitlines()
    Path("arms.csv").write_text("\n".join([first, rest[0], "zzz,9,", *rest[1:]]), encoding="utf-8")
    done = run("--arms", "arms.csv", *command, "--budget", "30")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "arm 'zzz' of study 'main' is 'zzz', not {'name': 'zzz', " in done.stderr
    assert result("--arms", "arms.csv", *command, "--budget", "30", "--force")["best"] == "zzz"
    assert len(calls()) == 30
    Path("arms.csv").write_text("\n".join([first, rest[0], "zzz,9,", *rest[1:], "yyy,1,"]), encoding="utf-8")
    done = run("--arms", "arms.csv", *command, "--budget", "40")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "3 arms, not 4 ('yyy' must be added first); " in done.stderr
    assert "add new arms with `boxthirding study add`" in done.stderr
    assert len(calls()) == 30


@pytest.mark.parametrize("on_error", ["raise", "withdraw"])
def test_an_arm_that_is_added_while_a_run_is_under_way_ends_it_and_is_not_withdrawn(folder, on_error):
    code = (
        "import pathlib, sys\n"
        "if not pathlib.Path('added').exists():\n"
        "    import boxthirding\n"
        "    pathlib.Path('added').touch()\n"
        "    with boxthirding.open_study('run.db', 'main') as study: study.add(['new'])\n"
        "print(len(sys.argv[1]))"
    )
    (folder / "adds.py").write_text(code, encoding="utf-8")
    options = ["--command", f"{PYTHON} adds.py {{name}}", "--study", "run.db", "--policy", "us", "--on-error", on_error]
    done = run("--arms", "arms.csv", *options, "--budget", "20")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Error: arm 'new' of the study is not in the file of --arms" in done.stderr.splitlines()[-1]
    with (folder / "arms.csv").open("a", encoding="utf-8") as file:
        file.write("new,1,\n")
    printed = result("--arms", "arms.csv", *options, "--budget", "20", "--force")
    assert (printed["stopped"], printed["spending"]["left"], printed["spending"]["failures"]) == ("budget", 0, 0)
    assert "new" in {arm["label"] for arm in printed["top"]}


def test_a_study_that_would_end_with_the_run_is_refused(kept):
    done = run(*kept, "--study", "memory:x")
    assert (done.exit_code, done.stdout, Path("calls").exists()) == (2, "", False)
    assert "memory:x, which ends with this command: name a file" in done.stderr


def test_a_name_without_a_study_is_refused():
    done = run(*words(GOOD), "--name", "x")
    assert (done.exit_code, done.stderr) == (2, "Error: --name is x, but belongs to --study: give the database\n")


# What must stay the same


OTHERS = {
    "another command": (["--command", f"{PYTHON} score.py {{name}} --fast"], "was made with command", "--fast"),
    "a changed row": (["--arms", "changed.csv"], "arm 'bob' of study 'main' has '0.9' as its rate, not '0.8'", "mixed"),
    "another column": (["--arms", "column.csv"], "has nothing as its size, not '1'", "mixed"),
    "other examples": (
        [*("--command", f"{PYTHON} score.py {{name}} {{example}}"), "--examples", "examples.txt"],
        "the study has no examples, but 3 are given",
        "leave out what the study knows itself",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_would_mix_results_of_two_kinds_is_refused_by_name(folder, case):
    command = ["--command", f"{PYTHON} score.py {{name}}", "--budget", "5", "--study", "run.db"]
    result("--arms", "arms.csv", *command)
    text = (folder / "arms.csv").read_text(encoding="utf-8")
    (folder / "changed.csv").write_text(text.replace("0.9", "0.8"), encoding="utf-8")
    rows = [f"{line},{'1' if place else 'size'}" for place, line in enumerate(text.splitlines())]
    (folder / "column.csv").write_text("\n".join(rows), encoding="utf-8")
    before = journal()
    options, *fragments = OTHERS[case]
    done = run("--arms", "arms.csv", *command, *options)
    assert (done.exit_code, done.stdout) == (2, "")
    for fragment in fragments:
        assert fragment in done.stderr
    assert (journal(), len(calls())) == (before, 5)


def test_other_examples_are_refused_by_name_and_shuffled_ones_are_the_same(folder):
    options = ["--arms", "arms.csv", "--command", f"{PYTHON} score.py {{name}} {{example}}", "--policy", "us"]
    options += ["--study", "run.db", "--examples"]
    result(*options, "examples.txt", "--budget", "4")
    (folder / "shuffled.txt").write_text("odd\neasy\nhard\n", encoding="utf-8")
    (folder / "others.txt").write_text("easy\neven\nodd\n", encoding="utf-8")
    (folder / "known.csv").write_text("arm,example,reward\nann,odd,1\nann,easy,1\nann,hard,1\n", encoding="utf-8")
    result(*options, "shuffled.txt", "--budget", "6", "--known", "known.csv")
    before = journal()
    done = run(*options, "others.txt", "--budget", "9")
    assert (done.exit_code, done.stdout, journal()) == (2, "", before)
    assert "example 1 is 'even', which is none of those that the study was made with, so results on" in done.stderr
    assert "mixed; give what it was made with, choose another --name, or pass --force to" in " ".join(
        done.stderr.split()
    )
    result(*options, "examples.txt", "--budget", "99")
    assert len(calls()) == len(set(calls()))
    assert result(*options, "others.txt", "--budget", "99", "--force")["spending"]["pulls"] == 0
    assert run(*options, "examples.txt", "--budget", "99").exit_code == 2


@pytest.mark.parametrize("case", ["another command", "a changed row"])
def test_force_continues_with_the_new_ones_for_good(folder, case):
    command = ["--command", f"{PYTHON} score.py {{name}}", "--study", "run.db"]
    result("--arms", "arms.csv", *command, "--budget", "5")
    text = (folder / "arms.csv").read_text(encoding="utf-8")
    (folder / "changed.csv").write_text(text.replace("0.9", "0.8"), encoding="utf-8")
    options = ["--arms", "arms.csv", *command, *OTHERS[case][0]]
    assert result(*options, "--budget", "8", "--force")["spending"]["elsewhere"] == 5
    assert result(*options, "--budget", "9")["spending"]["elsewhere"] == 8
    assert run("--arms", "arms.csv", *command, "--budget", "10").exit_code == 2
    assert "redefined" in journal()


def test_nothing_is_forced_when_the_known_results_are_refused(folder):
    command = ["--command", f"{PYTHON} score.py {{name}}", "--study", "run.db"]
    result("--arms", "arms.csv", *command, "--budget", "3")
    before = journal()
    text = (folder / "arms.csv").read_text(encoding="utf-8")
    (folder / "changed.csv").write_text(text.replace("0.9", "0.8"), encoding="utf-8")
    for known, fragment in (("eve,1", "label 'eve' does not exist"), ("ann,high", "reward is 'high'")):
        (folder / "known.csv").write_text(f"arm,reward\n{known}\n", encoding="utf-8")
        done = run("--arms", "changed.csv", *command, "--budget", "9", "--known", "known.csv", "--force")
        assert (done.exit_code, done.stdout) == (2, "")
        assert fragment in done.stderr
        assert (journal(), len(calls())) == (before, 3)


def test_nothing_is_forced_when_an_arm_has_no_row(folder):
    command = ["--command", f"{PYTHON} score.py {{rate}}", "--study", "run.db"]
    result("--arms", "arms.csv", *command, "--budget", "3")
    with boxthirding.open_study("run.db") as study:
        study.add(["eve"])
    before = journal()
    text = (folder / "arms.csv").read_text(encoding="utf-8")
    (folder / "changed.csv").write_text(text.replace("0.9", "0.8"), encoding="utf-8")
    done = run("--arms", "changed.csv", *command, "--budget", "9", "--force")
    assert (done.exit_code, "arm 'eve' of the study is not in the file of --arms" in done.stderr) == (2, True)
    assert journal() == before


def test_an_added_arm_needs_no_row_where_its_label_is_enough():
    command = ["--command", f"{PYTHON} score.py {{arm}}", "--study", "run.db", "--arms", "arms.txt"]
    result(*command, "--budget", "5")
    with boxthirding.open_study("run.db") as study:
        study.add(["zzzz"])
    assert result(*command, "--budget", "30")["best"] == "zzzz"


def test_an_arm_added_from_a_file_brings_its_row_along(folder):
    (folder / "more.csv").write_text("name,rate,note\nzzz,2,\n", encoding="utf-8")
    command = ["--command", f"{PYTHON} score.py {{name}} {{rate}}", "--study", "run.db", "--arms", "arms.csv"]
    result(*command, "--budget", "5")
    assert invoke("study", "add", "run.db", "more.csv").exit_code == 0
    assert result(*command, "--budget", "30")["best"] == "zzz"
    assert "zzz 2" in calls()
