"""Results files: what is in them, what is refused without a byte changed, and torn lines, locks and full disks."""

import json
import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from saved_runs import all_same, same_files

from boxthirding.errors import InvalidInput, ResultsRefused, UnreadableData
from boxthirding.lab import Gaussian, Setting, Table, Votes, captions, from_csv, load, results, sweep
from boxthirding.lab.results import ResultsFile

NOISE = Gaussian(0.5)


def settings(specs=("us", "b3"), rewards=NOISE, arms=40, **options):
    options = {"budget": 60, "checkpoints": (5, 20), "replicates": 12} | options
    return [Setting(captions(arms), rewards, spec, **options) for spec in specs]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "results.jsonl"
    sweep(settings(), results=path)
    return path


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# What is in a file


def test_a_file_says_what_made_it_and_what_was_asked_for(file):
    header, means, us, b3, *chunks = lines_of(file)
    assert header["boxthirding_results"] == 1
    assert set(header["versions"]) == {"boxthirding", "python", "numpy", "numba", "compiled"}
    assert means["means"] == captions(40).means.tolist()
    assert us["means_sha256"] == b3["means_sha256"] == means["means_sha256"]
    assert (us["setting"], us["policy"], b3["setting"], b3["policy"]) == (0, "us", 1, "b3")
    described = {key: us[key] for key in ("instance", "source", "arms", "rewards", "budget", "seed", "workers")}
    assert described == {
        "instance": "captions",
        "source": "embedded",
        "arms": 40,
        "rewards": "gaussian:0.5",
        "budget": 60,
        "seed": 0,
        "workers": 1,
    }
    assert (us["checkpoints"], us["replicates"]) == ([5, 20, 60], 12)
    assert all(list(chunk) == ["chunk", "first", "recommended", "idle", "seconds"] for chunk in chunks)
    assert sorted((chunk["chunk"], chunk["first"] + k) for chunk in chunks for k in range(len(chunk["idle"]))) == [
        (setting, replicate) for setting in (0, 1) for replicate in range(12)
    ]


def test_a_file_is_enough_without_the_files_that_arms_came_from(tmp_path):
    contest = tmp_path / "contest.csv"
    contest.write_text("votes,somewhat_funny,funny\n10,4,2\n10,1,1\n10,2,0\n", encoding="utf-8")
    table = Table([[0, 1], [2, 3]], [[0.5, 0.5], [0.25, 0.75]])
    asked = [
        Setting(from_csv(contest), Votes(), "b3", 30, replicates=5),
        Setting(table.instance(), table, "us", 30, replicates=5),
        *settings(workers=3),
    ]
    runs = sweep(asked, results=tmp_path / "r")
    contest.unlink()
    loaded = load(tmp_path / "r")
    assert all_same([run for _, run in loaded], runs)
    assert [description for description, _ in loaded] == [setting.fingerprinted for setting in asked]
    for (description, _), setting in zip(loaded, asked, strict=True):
        assert np.array_equal(description.means, setting.description.means)


def test_a_file_that_is_being_written_can_be_read(tmp_path):
    asked = settings()
    with ResultsFile(tmp_path / "r", [setting.fingerprinted for setting in asked]):
        assert [(description.policy, run.replicates) for description, run in load(tmp_path / "r")] == [
            ("us", 0),
            ("b3", 0),
        ]


# Torn lines


def test_a_line_that_was_cut_off_anywhere_is_made_again(file):
    whole, data = load(file), file.read_bytes()
    before = data.rindex(b"\n", 0, -1) + 1
    for end in (before, before + 1, (before + len(data)) // 2, len(data) - 2, len(data) - 1):
        file.write_bytes(data[:end])
        assert sum(run.replicates for _, run in load(file)) < 24
        sweep(settings(), results=file)
        assert same_files(load(file), whole)
        assert file.read_bytes().startswith(data[:before])


def test_a_file_cut_off_after_any_number_of_bytes_goes_on(file, tmp_path):
    whole, data = load(file), file.read_bytes()
    cut = tmp_path / "cut.jsonl"
    for end in [*np.random.default_rng(1).integers(0, len(data), 30).tolist(), 0, 1, 5, data.index(b"\n")]:
        cut.write_bytes(data[:end])
        sweep(settings(), results=cut)
        assert same_files(load(cut), whole), end


def test_zeros_that_a_power_cut_left_are_cut_off(file):
    whole = load(file)
    with file.open("ab") as end:
        end.write(b"\0" * 512)
    assert same_files(load(file), whole)
    sweep(settings(seed=0), results=file)
    assert file.read_bytes().endswith(b"}\n")


# Refused, and not a byte changed


def refused(path, asked, words, error=ResultsRefused):
    before, modified = path.read_bytes(), path.stat().st_mtime_ns
    with pytest.raises(error, match=words) as raised:
        sweep(asked, results=path)
    assert isinstance(raised.value, InvalidInput)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, modified)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"seed": 4}, r"holds other settings: seed is 0 there, but 4 is asked for: ask for all that it holds"),
        ({"budget": 70}, r"settings: budget is 60 there, but 70 is asked for:"),
        ({"checkpoints": (5, 21)}, r"settings: checkpoints differ: 20 only there, 21 only asked for:"),
        ({"workers": 2}, r"settings: workers is 1 there, but 2 is asked for:"),
        ({"arms": 41}, r"instance is captions \(40 arms, embedded, .*\) there, but captions \(41 arms, .* is asked"),
        ({"rewards": Gaussian(0.6)}, r"rewards is gaussian:0.5 \(.*\) there, but gaussian:0.6 \(.*\) is asked for"),
        ({"specs": ["us", "sh"]}, r"settings: policy is b3 there, but sh is asked for:"),
        ({"seed": 4, "budget": 70}, r"budget is 60 there, but 70 is asked for; seed is 0 there, but 4 is asked for"),
    ],
)
def test_other_settings_are_refused_by_the_parameter_that_differs(file, other, words):
    refused(file, settings(**other), words)


def test_the_nearest_setting_is_the_one_that_is_compared(file):
    refused(file, settings(["b3"], seed=9), "settings: seed is 0 there, but 9 is asked for:")


def test_another_version_of_the_package_is_refused(file):
    header, _, rest = file.read_bytes().partition(b"\n")
    made = json.loads(header)
    made["versions"]["boxthirding"] = "0.0.9"
    file.write_bytes(json.dumps(made).encode() + b"\n" + rest)
    refused(file, settings(), r"was written by boxthirding 0\.0\.9, but this is \d")
    assert len(load(file)) == 2  # which the same format can be read by


def test_another_format_is_refused_by_all(file):
    file.write_bytes(file.read_bytes().replace(b'{"boxthirding_results": 1', b'{"boxthirding_results": 2'))
    refused(file, settings(), "has the format 2, but this version of boxthirding has 1: use boxthirding")
    with pytest.raises(ResultsRefused, match="format 2"):
        load(file)


@pytest.mark.parametrize("content", [b"arm,mean\n1,0.5\n", b"{}\n", b"[1, 2]\n", b"\x89PNG\r\n\x1a\n", b"notes", b"\n"])
def test_what_is_no_results_file_is_refused(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    refused(path, settings(), "is not a results file: give one that `simulate --results` wrote", UnreadableData)
    with pytest.raises(UnreadableData, match="is not a results file"):
        load(path)


DAMAGE = {
    "not JSON": b"{]",
    "no object": b"7",
    "an unknown line": b'{"weather": "fine"}',
    "an unknown setting": b'{"chunk": 9, "first": 0, "recommended": [[1, 1, 1]], "idle": [0], "seconds": 0}',
    "an arm that is not there": b'{"chunk": 0, "first": 0, "recommended": [[1, 40, 1]], "idle": [0], "seconds": 0}',
    "half an arm": b'{"chunk": 0, "first": 0, "recommended": [[1, 1.5, 1]], "idle": [0], "seconds": 0}',
    "too few checkpoints": b'{"chunk": 0, "first": 0, "recommended": [[1, 1]], "idle": [0], "seconds": 0}',
    "rows of two lengths": b'{"chunk": 0, "first": 0, "recommended": [[1, 1, 1], [1]], "idle": [0, 0], "seconds": 0}',
    "a replicate below 0": b'{"chunk": 0, "first": -1, "recommended": [[1, 1, 1]], "idle": [0], "seconds": 0}',
    "no replicates": b'{"chunk": 0, "first": 0, "recommended": [], "idle": [], "seconds": 0}',
    "one too many": b'{"chunk": 0, "first": 12, "recommended": [[1, 1, 1]], "idle": [0], "seconds": 0}',
    "no replicates asked for": b'{"setting": 0, "replicates": 0}',
    "other means": b'{"means_sha256": "abc", "means": [0.5]}',
    "more of nothing": b'{"setting": 5, "replicates": 10}',
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_line_is_an_error_with_its_number(file, damage):
    lines = file.read_bytes().splitlines()
    file.write_bytes(b"\n".join([*lines[:5], DAMAGE[damage], *lines[5:]]) + b"\n")
    refused(file, settings(), "line 6 is not what a sweep writes", UnreadableData)
    with pytest.raises(UnreadableData, match="line 6 is not what a sweep writes"):
        load(file)


def test_a_replicate_that_is_there_twice_is_an_error(file):
    lines = file.read_bytes().splitlines()
    again = b'{"chunk": 0, "first": 1, "recommended": [[1, 1, 1], [1, 1, 1]], "idle": [0, 0], "seconds": 0}'
    file.write_bytes(b"\n".join([*lines, again]) + b"\n")
    words = rf"line {len(lines) + 1} is not what a sweep writes \(ValueError: some of its replicates are there already"
    refused(file, settings(), words, UnreadableData)
    file.write_bytes(b"\n".join([*lines[:4], again, *lines[4:]]) + b"\n")
    with pytest.raises(UnreadableData, match="some of its replicates are there already"):
        load(file)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("replicates", -1),
        ("replicates", 0),
        ("replicates", "12"),
        ("arms", 41),
        ("budget", "60"),
        ("budget", 61),
        ("checkpoints", [20, 5, 60]),
        ("checkpoints", [5, 20]),
        ("checkpoints", 60),
        ("seed", -1),
        ("workers", 0),
        ("sigma", "much"),
        ("instance", 7),
        ("means_sha256", "abc"),
        ("code_sha256", None),
        ("weather", "fine"),
    ],
)
def test_a_setting_with_a_value_that_cannot_be_is_an_error(file, name, value):
    lines = file.read_text(encoding="utf-8").splitlines()
    lines[2] = json.dumps(json.loads(lines[2]) | {name: value})
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    refused(file, settings(), "line 3 is not what a sweep writes", UnreadableData)


def test_what_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(UnreadableData, match="cannot be read"):
        load(tmp_path / "nowhere")
    with pytest.raises(UnreadableData, match="cannot be read"):
        load(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(UnreadableData, match="holds no results"):
        load(tmp_path / "empty")


@pytest.mark.parametrize("place", ["nowhere/r.jsonl", ".", "plain/r.jsonl", "/dev/null", "/proc/self/r.jsonl"])
def test_a_place_that_cannot_be_written_is_refused(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    Path("plain").touch()
    with pytest.raises(ResultsRefused, match=r"results file is .*, but (cannot be written|that is a device or a pipe)"):
        sweep(settings(), results=place)
    assert list(tmp_path.iterdir()) == [tmp_path / "plain"]


# One process at a time


HOLD = """
import sys
from pathlib import Path
from boxthirding.lab import Gaussian, captions
from boxthirding.lab import Setting
from boxthirding.lab.results import ResultsFile

with ResultsFile(Path(sys.argv[1]), [Setting(captions(40), Gaussian(0.5), "us", 60, (5, 20), 12).fingerprinted]):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_two_processes_cannot_write_to_one_file(tmp_path):
    path = tmp_path / "r"
    holder = [sys.executable, "-c", HOLD, path]
    with subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "open\n"
        refused(path, settings(["us"]), "is in use: another sweep is writing to it; wait for its end")
        process.communicate("")
    assert process.returncode == 0
    assert sweep(settings(["us"]), results=path)[0].replicates == 12


def test_two_sweeps_of_one_process_cannot_either(file):
    with ResultsFile(file, [setting.fingerprinted for setting in settings()]):
        refused(file, settings(), "is in use")
        load(file)  # and reading it does not let go of it
        refused(file, settings(), "is in use")
    sweep(settings(), results=file)


def wait(begin, end):
    begin.set()
    end.wait()


def test_a_worker_that_outlives_its_parent_does_not_keep_the_file(file):
    context = multiprocessing.get_context("fork")
    begin, end = context.Event(), context.Event()
    opened = ResultsFile(file, [setting.fingerprinted for setting in settings()])
    worker = context.Process(target=wait, args=(begin, end))
    worker.start()
    begin.wait()
    opened.close()
    try:
        sweep(settings(), results=file)
    finally:
        end.set()
        worker.join()


def test_without_locks_it_works_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    path = tmp_path / "r"
    assert all_same(sweep(settings(), results=path), sweep(settings()))
    assert all_same(sweep(settings(), results=path), sweep(settings()))


# Versions that go on with a file


def test_other_versions_of_what_cannot_change_a_result_are_noted(file, monkeypatch):
    now = results._versions()
    monkeypatch.setattr(results, "_versions", lambda: {**now, "numpy": "99.0"})
    grown = settings(replicates=20)
    assert all_same(sweep(grown, results=file), sweep(grown))
    assert {"versions": {**now, "numpy": "99.0"}} in lines_of(file)
    assert {"setting": 1, "replicates": 20} in lines_of(file)
    length = len(lines_of(file))
    sweep(grown, results=file)
    assert len(lines_of(file)) == length
