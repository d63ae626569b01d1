"""What `durability="full"` promises, seen from outside: no acknowledgement before the sync that covers it."""

import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

REQUIRED = "strace" in os.environ.get("BOXTHIRDING_REQUIRE", "").split(",")

PROGRAM = textwrap.dedent("""
    import os, sys, threading
    from boxthirding import open_study
    path, durability, threads = sys.argv[1:]
    with open_study(path, "s", arms=200, durability=durability) as study:
        os.write(1, b"ready\\n")

        def work():
            for _ in range(8):
                for ticket in study.ask():
                    os.write(1, b"acknowledged ask\\n")
                    study.tell(ticket, 0.5)
                    os.write(1, b"acknowledged tell\\n")

        workers = [threading.Thread(target=work) for _ in range(int(threads))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        os.write(1, b"done\\n")
""")


@pytest.fixture(scope="module")
def strace():
    """Return the path of strace, if it may trace here."""
    path = shutil.which("strace")
    works = path and subprocess.run([path, "-o", os.devnull, "true"], check=False, capture_output=True).returncode == 0
    if not works:
        reason = "strace is not installed, or may not trace here"
        if REQUIRED:
            pytest.fail(reason)
        pytest.skip(reason)
    return path


def traced(strace, tmp_path, durability, threads):
    """Return what a study did to its log, in order: write, sync, acknowledged."""
    path, log = tmp_path / "a.db", tmp_path / "trace"
    calls = "trace=write,pwrite64,fsync,fdatasync"
    command = [
        strace,
        "-f",
        "-y",
        "-e",
        calls,
        "-o",
        log,
        sys.executable,
        "-c",
        PROGRAM,
        path,
        durability,
        str(threads),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    lines = log.read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if '"ready' in line)
    end = next(i for i, line in enumerate(lines) if '"done' in line)
    return [step for line in lines[begin:end] for step in steps(line)]


def steps(line):
    if re.search(r"(pwrite64|write)\(\d+<[^>]*a\.db-wal>", line):
        yield "write"
    elif re.search(r"f(data)?sync\(\d+<[^>]*a\.db-wal>\)\s+= 0", line) or "sync resumed" in line:
        yield "sync"
    elif "acknowledged" in line:
        yield "acknowledged"


def unsynced(trace):
    """Return how many acknowledgements came while something in the log was not synced."""
    dirty, found = False, 0
    for step in trace:
        if step == "acknowledged":
            found += dirty
        else:
            dirty = step == "write"
    return found


def test_with_full_durability_every_acknowledgement_follows_its_sync(strace, tmp_path):
    trace = traced(strace, tmp_path, "full", 1)
    assert trace.count("acknowledged") == 16
    assert trace.count("sync") >= 16
    assert unsynced(trace) == 0


def test_with_normal_durability_there_is_no_sync_to_wait_for(strace, tmp_path):
    trace = traced(strace, tmp_path, "normal", 1)
    assert trace.count("acknowledged") == 16
    assert trace.count("sync") == 0
    assert unsynced(trace) == 16  # so the test above would notice


def test_threads_share_syncs(strace, tmp_path):
    trace = traced(strace, tmp_path, "full", 8)
    assert trace.count("acknowledged") == 8 * 16
    assert trace.count("sync") < 8 * 16
