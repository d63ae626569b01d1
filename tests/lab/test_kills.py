"""Killed, out of disk, cut off: a sweep that goes on gives what an undisturbed one gives, timings aside."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time

import pytest
from saved_runs import START, WITHOUT_NUMBA, finished, program, same_files

from boxthirding import _compile
from boxthirding.lab import load

COMPILED = ["--instance", "captions", "--budget", "5000", "--replicates", "1500", "--threads", "2"]
INTERPRETED = ["--instance", "captions", "--arms", "100", "--budget", "100", "--replicates", "400", "--threads", "2"]
POLICIES = ["--rewards", "gaussian:0.25", "--policy", "b3", "--policy", "us", "--policy", "bsh", "--seed", "5"]

WAYS = [
    pytest.param(
        START, COMPILED, id="compiled", marks=pytest.mark.skipif(not _compile.available(), reason="no numba here")
    ),
    pytest.param(WITHOUT_NUMBA, INTERPRETED, id="interpreted"),
]


def timeless(output):
    rows = [json.loads(line) for line in output.splitlines()]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def kill_at(path, size, process):
    """Kill a process when its file has grown to a size; tell whether it was still running."""
    while size_of(path) < size and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


@pytest.mark.soak
@pytest.mark.parametrize(("start", "size"), WAYS)
def test_a_sweep_that_is_killed_again_and_again_gives_what_an_undisturbed_one_gives(tmp_path, start, size):
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    command = ["simulate", *size, *POLICIES, "--json", "--results"]
    expected = finished(*command, undisturbed, start=start)
    draw = random.Random(8)
    kills = 0
    for share in sorted(draw.uniform(0, 0.9) for _ in range(4)):
        with program(*command, disturbed, start=start) as process:
            kills += kill_at(disturbed, share * size_of(undisturbed), process)
        torn = disturbed.read_bytes() if disturbed.exists() else b""
        before = torn.rstrip(b"\n").rfind(b"\n") + 1
        if kills % 2 and before < len(torn):  # every other time, in the middle of a line
            disturbed.write_bytes(torn[: draw.randrange(before, len(torn))])
    assert kills >= 2
    assert timeless(finished(*command, disturbed, start=start)) == timeless(expected)
    assert same_files(load(disturbed), load(undisturbed))
    assert timeless(expected) == timeless(finished(*command[:-1], start=start))


POOL = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
from boxthirding.lab import Gaussian, captions
from boxthirding.lab import Setting, sweep

settings = [Setting(captions(), Gaussian(0.25), spec, 3000, (500,), 1500, seed=5) for spec in ("b3", "us", "bsh")]
if __name__ == "__main__":
    if sys.argv[2] == "threads":
        sweep(settings, results=sys.argv[1])
    else:
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
            sweep(settings, results=sys.argv[1], executor=pool)
"""


def test_a_sweep_on_a_process_pool_that_is_killed_goes_on_though_its_workers_live(tmp_path):
    script, undisturbed, disturbed = tmp_path / "pool.py", tmp_path / "undisturbed", tmp_path / "disturbed"
    script.write_text(POOL, encoding="utf-8")
    subprocess.run([sys.executable, script, undisturbed, "threads"], check=True)
    command = [sys.executable, script, disturbed, "processes"]
    groups, kills = [], 0
    try:
        for share in (0.2, 0.5):
            process = subprocess.Popen(command, start_new_session=True)
            groups.append(process.pid)
            kills += kill_at(disturbed, share * size_of(undisturbed), process)
        assert kills >= 1
        subprocess.run(command, check=True)  # the workers of those killed still wait for work
    finally:
        for group in groups:
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                continue
    assert same_files(load(disturbed), load(undisturbed))


def limited(bytes_):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))


def test_a_full_disk_is_an_error_of_one_line_and_nothing_is_lost(tmp_path):
    undisturbed, full = tmp_path / "undisturbed", tmp_path / "full"
    command = ["simulate", *INTERPRETED, *POLICIES, "--json", "--results"]
    expected = finished(*command, undisturbed)
    room = size_of(undisturbed) // 2
    ended = subprocess.run(
        [sys.executable, "-c", START, *command, full],
        preexec_fn=limited(room),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        f"Error: {full} cannot be written (File too large); what it holds stays: "
        "make room and run the same again to go on\n"
    )
    assert room / 2 < size_of(full) <= room
    assert full.read_bytes().endswith(b"}\n")
    saved = {description.policy: run.replicates for description, run in load(full)}
    printed = {row["policy"]: row["replicates"] for row in timeless(ended.stdout)}
    assert printed == {policy: replicates for policy, replicates in saved.items() if replicates}
    assert timeless(finished(*command, full)) == timeless(expected)
    assert same_files(load(full), load(undisturbed))


def test_ctrl_c_saves_what_is_complete_and_says_how_to_go_on(tmp_path):
    file = tmp_path / "r.jsonl"
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); " + START
    command = ["simulate", "--instance", "captions", "--budget", "5000", "--replicates", "50000", *POLICIES, "--json"]
    with program(*command, "--results", file, start=start) as process:
        while b'"chunk"' not in (file.read_bytes() if file.exists() else b""):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
    assert process.returncode == 130
    (row,) = timeless(output)
    assert errors == (
        f"Interrupted: b3 has {row['replicates']:,} of 50,000 replicates; us has 0 of 50,000 replicates; "
        f"bsh has 0 of 50,000 replicates. The same command resumes where {file} stops.\n"
    )
    assert [run.replicates for _, run in load(file)] == [row["replicates"], 0, 0]
