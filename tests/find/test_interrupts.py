"""Ctrl-C, deadlines and evaluations that hang: the best so far is returned, whatever happens meanwhile."""

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

from boxthirding.find import find_best, find_best_async
from boxthirding.find.interrupts import Interrupts

QUIET = {"progress": False}


@pytest.fixture(autouse=True)
def given_back():
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # every search gives it back


def press(times=1):
    """Press Ctrl-C, from any thread."""
    for press in range(times):
        os.kill(os.getpid(), signal.SIGINT)
        while press < times - 1 and Interrupts._active[0]._presses <= press:
            time.sleep(0.01)  # signals that come together are one


# Ctrl-C


@pytest.mark.parametrize("kind", ["calling thread", "threads", "coroutines", "executor", "async form"])
def test_the_first_ctrl_c_waits_for_what_is_under_way_and_every_result_counts(kind, capfd):
    started, pressed, calls = threading.Barrier(4), threading.Event(), itertools.count()
    workers = 1 if kind == "calling thread" else 4

    def plain(arm):
        number = next(calls)
        if number >= 20 and workers == 1:
            press()
        elif number >= 20:
            if started.wait() == 0:
                press()
                pressed.set()
            pressed.wait()
        return arm

    async def coroutine(arm):
        return await asyncio.to_thread(plain, arm)

    options = {"budget": 1000, **QUIET}
    if kind == "executor":
        with ThreadPoolExecutor(4) as pool:
            found = find_best(1000, plain, executor=pool, **options)
    elif kind == "async form":
        found = asyncio.run(find_best_async(1000, coroutine, workers=4, **options))
    else:
        found = find_best(1000, coroutine if kind == "coroutines" else plain, workers=workers, **options)
    assert (found.stopped, found.interrupted) == ("interrupted", True)
    assert (found.spending.pulls, found.spending.abandoned) == (20 + workers, 0)
    assert next(calls) == found.session.pulls == 20 + workers
    assert found.session.view().open == 0
    which = "1 running evaluation (its result counts)" if workers == 1 else "4 running evaluations (their results"
    assert f"Waiting for {which}" in capfd.readouterr().err


@pytest.mark.parametrize("budget", [{"cost": 1000}, {"seconds": 600}])
def test_it_waits_whatever_the_budget_is(budget):
    calls = itertools.count()

    def evaluate(arm):
        if next(calls) == 20:
            press()
        return arm

    found = find_best(10, evaluate, **budget, **QUIET)
    assert (found.stopped, found.spending.pulls, found.spending.abandoned) == ("interrupted", 21, 0)


@pytest.mark.parametrize("budget", [{"budget": 20}, {"cost": 20}])
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_while_the_last_of_the_budget_is_under_way_cuts_nothing_short(budget, workers):
    calls = itertools.count(1)

    def evaluate(arm):
        if next(calls) == 20:
            press()
        return arm

    found = find_best(10, evaluate, workers=workers, **budget, **QUIET)
    assert (found.stopped, found.interrupted) == ("budget", True)
    assert (found.spending.pulls, found.spending.left, found.spending.abandoned) == (20, 0, 0)
    assert "; the budget is spent." in repr(found)


def test_an_evaluation_that_ctrl_c_has_reached_is_no_failure():
    def evaluate(arm):
        if arm == 3:
            press()
            raise OSError("the program that it started was interrupted")
        return arm

    found = find_best(5, evaluate, budget=1000, **QUIET)
    assert (found.stopped, found.spending.failures, found.spending.abandoned) == ("interrupted", 0, 1)
    assert "interrupted" in found.last_failure


def test_the_second_ctrl_c_in_the_calling_thread_breaks_off_the_evaluation():
    calls = itertools.count()

    def evaluate(arm):
        if next(calls) == 20:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            pytest.fail("went on")
        return arm

    found = find_best(10, evaluate, budget=1000, **QUIET)
    assert (found.stopped, found.interrupted) == ("interrupted", True)
    assert (found.spending.pulls, found.spending.left, found.spending.abandoned) == (20, 980, 1)
    assert found.best is not None
    assert "; interrupted.\n" in repr(found)


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_the_second_ctrl_c_does_not_wait_for_what_hangs(kind):
    release, hanging = threading.Event(), threading.Barrier(3, action=lambda: press(2), timeout=600)
    calls = itertools.count()

    def plain(arm):
        if next(calls) >= 20:
            hanging.wait()
            release.wait()
        return arm

    async def coroutine(arm):
        if next(calls) >= 20:
            await asyncio.to_thread(hanging.wait)
            await asyncio.sleep(3600)
        return arm

    try:
        found = find_best(1000, {"plain": plain, "coroutine": coroutine}[kind], budget=1000, workers=3, **QUIET)
    finally:
        release.set()
    assert (found.stopped, found.spending.pulls, found.spending.abandoned) == ("interrupted", 20, 3)
    assert found.best is not None


@pytest.mark.parametrize("options", [{}, {"workers": 3}, {"seconds": 600}])
@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_ctrl_c_breaks_off_an_iterator_of_arms(kind, options):
    async def coroutine(arm):
        return arm

    def arms():
        yield from range(6)
        press()
        time.sleep(600)
        pytest.fail("went on")

    begun = time.monotonic()
    found = find_best(arms(), {"plain": float, "coroutine": coroutine}[kind], budget=1000, **options, **QUIET)
    assert time.monotonic() - begun < 500
    assert (found.stopped, found.best is not None) == ("interrupted", True)
    assert found.session.pulls == found.spending.pulls
    if "workers" not in options:  # else it may wait for what was under way
        (ticket,) = found.session.ask()  # it can go on, with the arms it has
        found.session.tell(ticket, 0.5)


def test_the_second_ctrl_c_breaks_off_a_coroutine_that_blocks_the_loop():
    calls = itertools.count()

    async def evaluate(arm):
        await asyncio.sleep(0)
        if next(calls) == 20:
            threading.Timer(0.3, press, [2]).start()
            time.sleep(600)  # noqa: ASYNC251  # the point
            pytest.fail("went on")
        return arm

    found = find_best(10, evaluate, budget=1000, **QUIET)
    assert (found.stopped, found.spending.pulls, found.spending.abandoned) == ("interrupted", 20, 1)


@pytest.mark.parametrize("evaluate_is", ["plain", "coroutine"])
def test_ctrl_c_in_the_async_form_returns_the_best_so_far_to_its_caller(evaluate_is):
    calls = itertools.count()

    def plain(arm):
        if next(calls) == 20:
            press()
        return arm

    async def coroutine(arm):
        return plain(arm)

    async def main():
        found = await find_best_async(10, coroutine if evaluate_is == "coroutine" else plain, budget=10**6, **QUIET)
        await asyncio.sleep(0)  # the caller goes on, uncancelled
        return found

    found = asyncio.run(main())
    assert found.stopped == "interrupted"
    assert found.spending.pulls >= 20


def test_ctrl_c_ends_two_searches_in_one_loop():
    async def evaluate(arm):
        await asyncio.sleep(0)
        return arm

    async def main():
        searches = [find_best_async(10, evaluate, budget=10**6, seed=seed, **QUIET) for seed in range(2)]
        asyncio.get_running_loop().call_later(0.05, press)
        return await asyncio.gather(*searches)

    assert [found.stopped for found in asyncio.run(main())] == ["interrupted", "interrupted"]


def test_a_second_ctrl_c_loses_nothing(monkeypatch):
    module = import_module("boxthirding.find.find_best")

    def pressed(*arguments, **options):
        signal.raise_signal(signal.SIGINT)  # while the result is being put together
        return found_class(*arguments, **options)

    found_class = module.Found
    monkeypatch.setattr(module, "Found", pressed)

    def evaluate(arm):
        try:
            press(2)
        finally:
            press()
        return arm

    found = find_best(10, evaluate, budget=1000, **QUIET)
    assert (found.stopped, found.spending.abandoned) == ("interrupted", 1)


def test_a_second_ctrl_c_while_coroutines_tidy_up_loses_nothing():
    tidied = []

    async def evaluate(_):
        press(1)
        try:
            await asyncio.sleep(3600)
        finally:
            press()
            tidied.append(1)

    found = find_best(10, evaluate, budget=1000, workers=2, **QUIET)
    assert (found.stopped, tidied) == ("interrupted", [1, 1])


def test_ctrl_c_never_falls_into_a_decision(monkeypatch):
    from boxthirding.session import Session

    real, told = Session.tell, []

    def tell(session, ticket, reward, **options):
        signal.raise_signal(signal.SIGINT)
        real(session, ticket, reward, **options)
        told.append(ticket)

    monkeypatch.setattr(Session, "tell", tell)
    found = find_best(10, float, budget=1000, **QUIET)
    assert (found.stopped, found.spending.pulls, len(told)) == ("interrupted", 1, 1)


def test_an_evaluate_that_swallows_ctrl_c_ends_with_its_result():
    def evaluate(arm):
        try:
            press(2)
        except KeyboardInterrupt:
            return arm

    found = find_best(10, evaluate, budget=1000, **QUIET)
    assert (found.stopped, found.spending.pulls, found.spending.abandoned) == ("interrupted", 1, 0)


def test_a_search_inside_a_search_is_interrupted_with_it():
    inner = []

    def evaluate(arm):
        inner.append(find_best(5, lambda arm: signal.raise_signal(signal.SIGINT) or arm, budget=9, **QUIET))
        return arm

    found = find_best(3, evaluate, budget=9, **QUIET)
    assert [one.stopped for one in inner] == ["interrupted"]
    assert (found.stopped, found.spending.pulls) == ("interrupted", 1)


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_a_receiver_of_the_caller_s_own_is_left_alone(kind):
    received = []

    def mine(*_):
        received.append(1)
        raise KeyboardInterrupt

    def plain(arm):
        press()
        return arm

    async def coroutine(_):
        press()
        await asyncio.sleep(3600)

    signal.signal(signal.SIGINT, mine)
    try:
        found = find_best(10, plain if kind == "plain" else coroutine, budget=1000, **QUIET)
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert found.stopped == "interrupted"
    assert received


def test_a_search_in_another_thread_leaves_ctrl_c_alone():
    results = []

    def search():
        results.append(find_best(5, float, budget=50, **QUIET))
        results.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    assert results[0].best == 4
    assert results[1] is signal.default_int_handler


# Deadlines


@pytest.mark.parametrize("workers", [1, 3])
def test_a_deadline_does_not_wait_for_what_hangs(workers, clock):
    release, calls = threading.Event(), itertools.count(1)

    def evaluate(arm):
        if (number := next(calls)) > 10:
            if number == 10 + workers:
                clock.go()
            release.wait()
        return arm

    try:
        found = find_best(20, evaluate, budget=1000, seconds=0.2, workers=workers, **QUIET)
    finally:
        release.set()
    assert (found.stopped, found.spending.pulls, found.spending.abandoned) == ("deadline", 10, workers)
    assert found.spending.left == 990
    assert found.best is not None


def test_a_deadline_before_the_first_result_finds_nothing(clock):
    release = threading.Event()
    try:
        found = find_best(20, lambda _: clock.go() or release.wait(), seconds=0.05, **QUIET)
    finally:
        release.set()
    assert (found.stopped, found.best, found.spending.pulls, found.spending.abandoned) == ("deadline", None, 0, 1)


# As a user meets them


PROGRAM = """
import asyncio, itertools, json, os, signal, sys, threading, time
from boxthirding.find import find_best
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have ignored it
calls = itertools.count()
hang = threading.Event().wait

def plain(arm):
    if is_last():
        hang()
    return arm

def is_last():
    number = next(calls)
    if number == 10:
        os.write(1, b"ready\\n")  # unlike print, holds no lock that a thread left behind could take to its end
    return number >= 10

async def coroutine(arm):
    if is_last():
        await asyncio.to_thread(hang) if OPTIONS.get("seconds") else await asyncio.sleep(3600)
    return arm

OPTIONS = json.loads(sys.argv[2])
found = find_best(9, globals()[sys.argv[1]], progress=False, **OPTIONS)
print(json.dumps([found.stopped, found.best is not None, found.session.pulls > 5]))
"""


def started(kind, **options):
    source = str(Path(find_best.__code__.co_filename).parents[2])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, kind, json.dumps(options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.parametrize(("kind", "workers"), [("plain", 1), ("plain", 3), ("coroutine", 1), ("coroutine", 3)])
def test_a_program_prints_its_best_so_far_after_ctrl_c_and_ends(kind, workers):
    with started(kind, budget=1000, workers=workers) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline().startswith("Waiting for ")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=600)
    assert json.loads(output) == ["interrupted", True, True]
    assert process.returncode == 0


def test_a_program_ends_although_evaluations_hang_in_its_threads():
    with started("plain", budget=1000, seconds=3, workers=3) as process:
        output, _ = process.communicate(timeout=600)
    assert output.startswith("ready\n")
    assert json.loads(output.splitlines()[1]) == ["deadline", True, True]
    assert process.returncode == 0


POOL = """
import json, os, pathlib, signal, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from boxthirding.find import find_best

def evaluate(arm):
    pathlib.Path(f"begun-{arm}").touch()
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
    return arm

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with ProcessPoolExecutor(3, mp_context=get_context(sys.argv[1])) as pool:
        found = find_best(100, evaluate, budget=50, executor=pool, progress=False)
    print(json.dumps([found.stopped, found.spending.pulls, found.spending.abandoned]))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_ctrl_c_at_a_terminal_reaches_a_pool_of_processes_too_and_its_results_count(tmp_path, method):
    (tmp_path / "program.py").write_text(POOL, encoding="utf-8")
    source = str(Path(find_best.__code__.co_filename).parents[2])
    process = subprocess.Popen(
        [sys.executable, "program.py", method],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    while len(list(tmp_path.glob("begun-*"))) < 3:
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    (tmp_path / "go").touch()
    assert process.stderr.readline().startswith("Waiting for 3 running evaluations")
    output, errors = process.communicate(timeout=600)
    assert (json.loads(output), errors) == (["interrupted", 3, 0], "")
