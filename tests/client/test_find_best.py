"""`find_best` on a study of a server: many processes, and a server that is killed and started again."""

import os
import time

import pytest
from searching import ARMS, result, start

from boxthirding import AccessRefused, InvalidInput, RemoteStudy, StudyDiffers, find_best, open_study
from boxthirding.study.events import Asked, Told


def tellings(place, name="main"):
    """Return the tickets that were told, in order, from the journal itself."""
    with open_study(place, name) as study:
        events = [entry.event for entry in study.events()]
    asked = [ticket for event in events if isinstance(event, Asked) for ticket, _, _ in event.tickets]
    told = [event.ticket for event in events if isinstance(event, Told)]
    assert asked == [*range(len(asked))]
    return told


def worker_key(process):
    return process.call("POST", "/keys", {"scope": "worker", "study": "main"})["secret"]


def test_two_processes_share_a_study_through_the_server_alone(process):
    url = f"{process.address}/#main"
    with RemoteStudy(url, process.key, arms=ARMS) as study:
        reads, writes = os.pipe()
        running = [start("search", url, 300, worker_key(process), reads) for _ in range(2)]
        while study.view().open < 2:  # each has one
            assert [one.poll() for one in running] == [None, None]
            time.sleep(0.01)
        os.close(writes)
        os.close(reads)
    found = [result(one) for one in running]
    assert [one["label"] for one in found] == ["arm 29"] * 2
    assert found[0]["best"] == {"quality": 29}
    assert sum(one["results"] for one in found) == 300
    assert min(one["results"] for one in found) > 0
    told = tellings(process.place)
    assert len(told) == len({*told}) == 300


@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.soak)])
def test_a_server_that_is_killed_and_started_again_loses_and_doubles_nothing(process, times):
    url, budget = f"{process.address}/#main", 300 * times
    with RemoteStudy(url, process.key, arms=ARMS) as study:
        key = worker_key(process)
        running = [start("search", url, budget, key) for _ in range(2)]
        for turn in range(times):
            while study.view().spent < 100 + 250 * turn:
                time.sleep(0.01)
            process.kill()
            process.start()
        found = [result(one) for one in running]
    assert [one["stopped"] for one in found] == ["budget"] * 2
    told = tellings(process.place)
    assert len(told) == len({*told}) == budget


@pytest.mark.soak
def test_no_pull_of_eight_workers_is_doubled_or_lost(process, capsys):
    workers, pulls = 8, 2_500
    url = f"{process.address}/#main"
    RemoteStudy(url, process.key, arms=10_000).close()
    began = time.perf_counter()
    running = [start("pull", url, pulls, worker_key(process)) for _ in range(workers)]
    by_worker = [result(one)["told"] for one in running]
    seconds = time.perf_counter() - began
    told = [ticket for one in by_worker for ticket in one]
    assert len(told) == len({*told}) == workers * pulls
    assert sorted(tellings(process.place)) == sorted(told)
    with capsys.disabled():
        print(f"\n{workers} RemoteStudy workers: {workers * pulls / seconds:,.0f} pulls a second")  # noqa: T201


class TestArguments:
    def test_a_study_is_made_by_the_first_call_and_resumed_by_the_next(self, server, monkeypatch):
        monkeypatch.setenv("BOXTHIRDING_KEY", server.key)
        for budget in (20, 40):
            found = find_best(["a", "bb"], len, budget=budget, study=server.url("made"), progress=False)
        assert (found.best, found.session.view().spent) == ("bb", 40)
        again = find_best(None, len, budget=50, study=(server.url("made").partition("#")[0], "made"), progress=False)
        assert again.session.view().spent == 50

    def test_what_differs_is_refused(self, server, monkeypatch):
        monkeypatch.setenv("BOXTHIRDING_KEY", server.key)
        find_best(["a", "bb"], len, budget=5, study=server.url("same"), seed=3, progress=False)
        with pytest.raises(StudyDiffers, match="seed 3, not 4"):
            find_best(["a", "bb"], len, budget=9, study=server.url("same"), seed=4, progress=False)
        with pytest.raises(InvalidInput, match="give one of the two"):
            find_best(None, len, budget=9, study=(server.url("same"), "other"), progress=False)

    def test_examples_and_known_results_are_those_of_the_study(self, server, monkeypatch):
        monkeypatch.setenv("BOXTHIRDING_KEY", server.key)

        def found(budget, **more):
            asked.clear()
            return find_best(
                ["a", "bb", "ccc"],
                lambda arm, example: asked.append((arm, example)) or len(arm) * example,
                budget=budget,
                examples=[1, 2, 3],
                study=server.url("examples"),
                progress=False,
                **more,
            )

        asked = []
        found(3, known={"a": {0: 1.0}})
        assert ("a", 1) not in asked
        assert found(8).stopped in ("budget", "known")
        assert found(99, known={"a": {0: 1.0}}).stopped == "known"
        with pytest.raises(StudyDiffers, match="3 examples that run out"):
            find_best(None, len, budget=9, study=server.url("examples"), progress=False)

    def test_a_worker_is_told_that_known_results_take_an_operator(self, server, monkeypatch):
        monkeypatch.setenv("BOXTHIRDING_KEY", server.key)
        find_best(["a", "bb"], len, budget=5, study=server.url("known"), progress=False)
        monkeypatch.setenv("BOXTHIRDING_KEY", server.new_key("worker"))
        with pytest.raises(AccessRefused, match="operator"):
            find_best(["a", "bb"], len, budget=9, known={"a": 1.0}, study=server.url("known"), progress=False)

    def test_an_open_one_is_taken_as_it_is(self, server):
        with RemoteStudy(server.url("open"), server.key, arms=["a", "bb"]) as study:
            found = find_best(None, len, budget=10, study=study, progress=False)
            assert found.label == "bb"
