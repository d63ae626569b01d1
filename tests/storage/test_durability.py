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
                    os.write(1, b"acknowledged asked %d\\n" % ticket.id)
                    study.tell(ticket, 0.5)
                    os.write(1, b"acknowledged told %d\\n" % ticket.id)

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
    """Return what a study did to its log, in order: write, sync and acknowledged, and which events each is about."""
    path, log = tmp_path / "a.db", tmp_path / "trace"
    calls = "trace=write,pwrite64,fsync,fdatasync"
    command = [
        strace,
        "-f",
        "-y",
        "-s",
        "8192",  # a page of the log, so that it is seen which events it has
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
        text = line.replace("\\", "")
        told = re.findall(r'"event":"told","at":[0-9.]+,"ticket":(\d+),', text)
        asked = re.findall(r'"event":"asked","at":[0-9.]+,"holder":"[^"]*","tickets":\[\[(\d+),', text)
        yield "write", {*(f"told {ticket}" for ticket in told), *(f"asked {ticket}" for ticket in asked)}
    elif re.search(r"f(data)?sync\(\d+<[^>]*a\.db-wal>\)\s+= 0", line) or "sync resumed" in line:
        yield "sync", set()
    elif found := re.search(r"acknowledged (asked|told) (\d+)", line):
        yield "acknowledged", {f"{found[1]} {found[2]}"}


def count(trace, kind):
    return sum(step == kind for step, _ in trace)


def unsynced(trace):
    """Return how many acknowledgements came before a sync that followed the write of their event."""
    written, synced, found = set(), set(), 0
    for step, events in trace:
        if step == "write":
            written |= events - synced
        elif step == "sync":
            synced |= written
            written = set()
        else:
            found += not events <= synced
    return found


def test_with_full_durability_every_acknowledgement_follows_its_sync(strace, tmp_path):
    trace = traced(strace, tmp_path, "full", 1)
    assert count(trace, "acknowledged") == 16
    assert count(trace, "sync") >= 16
    assert unsynced(trace) == 0


def test_with_normal_durability_there_is_no_sync_to_wait_for(strace, tmp_path):
    trace = traced(strace, tmp_path, "normal", 1)
    assert count(trace, "acknowledged") == 16
    assert count(trace, "sync") == 0
    assert unsynced(trace) == 16  # so the test above would notice


def test_threads_share_syncs_and_each_waits_for_its_own(strace, tmp_path):
    trace = traced(strace, tmp_path, "full", 8)
    assert count(trace, "acknowledged") == 8 * 16
    assert count(trace, "sync") < 8 * 16
    assert unsynced(trace) == 0
