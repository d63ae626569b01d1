"""The JSON API beyond who may call it: studies, tickets, results, arms, events, exports, repeated requests."""

import asyncio
import base64
import csv
import io
import json
import sqlite3
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from invoking import done
from serving import API, SCALE, Server

from boxthirding import open_study
from boxthirding.errors import StudyUnavailable
from boxthirding.lab import from_csv
from boxthirding.service import uploaded_arms
from boxthirding.study import Study
from boxthirding.study.transactions import Transactions

ONE = f"{API}/studies/captions"


def problem(reply, status):
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    said = reply.json()
    assert (said["status"], bool(said["title"]), bool(said["detail"])) == (status, True, True)
    return said


class TestStudies:
    def test_a_study_is_made_listed_viewed_described_and_deleted(self, server):
        server.study(policy="b3", seed=3, known=[{"label": "a", "reward": 0.5}, {"label": "a", "reward": 1}])
        view = server.operator.get(ONE).json()
        assert (view["policy"], view["seed"], view["pulls"], view["arms"], view["status"]) == ("b3", 3, 2, 5, "open")
        (row,) = server.operator.get(f"{API}/studies").json()["studies"]
        assert (row["name"], row["question"], row["error"]) == ("captions", "How funny?", None)
        about = server.operator.patch(ONE, json={"question": "Funny?", "sitting": 10}).json()["about"]
        assert (about["question"], about["sitting"], len(about["scale"])) == ("Funny?", 10, 3)
        assert server.operator.delete(ONE).status_code == 204
        assert problem(server.operator.get(ONE), 404)["error"] == "UnknownStudy"
        server.study()

    def test_what_lets_one_in_to_a_study_goes_with_it(self, server):
        server.study()
        worker, rater = server.client(server.new_key("worker", "captions")), server.rater(server.link())
        server.operator.delete(ONE)
        server.study()
        assert worker.get(ONE).status_code == 401
        assert rater.post("next").status_code == 403

    @pytest.mark.parametrize("policy", ["antigravity:Policy", "antigravity:Policy:depth=3", "idlelib.idle:Policy"])
    def test_no_request_makes_the_server_import_a_module(self, server, policy):
        server.study()
        module = policy.partition(":")[0]
        for reply in (
            server.operator.post(f"{ONE}/policy", json={"policy": policy}),
            server.operator.post(f"{API}/studies", json={"name": "x", "arms": ["a"], "policy": policy}),
            server.operator.put(f"{API}/studies/x", json={"arms": ["a"], "policy": policy}),
            server.operator.put(ONE, json={"policy": policy}),
        ):
            assert "entry point" in problem(reply, 422)["advice"]
        assert module not in sys.modules

    def test_the_verbs_of_its_life(self, server):
        server.study()
        for verb, status in (("pause", "paused"), ("resume", "open"), ("finish", "finished")):
            assert server.operator.post(f"{ONE}/{verb}").json()["status"] == status
        assert problem(server.operator.post(f"{ONE}/resume"), 409)["error"] == "StudyFinished"

    def test_what_it_is_made_of_is_in_its_journal(self, tmp_path):
        server = Server(tmp_path / "x.db")
        server.study()
        server.close()
        with open_study(tmp_path / "x.db", "captions") as study:
            assert study.details["rating"]["question"] == "How funny?"

    @pytest.mark.parametrize(
        "data",
        [
            b"caption;score;author\nAh;0,5;ann\nOh;;bob\n",
            "\ufeffcaption,score,author\nAh,0.5,ann\nOh,,bob\n".encode(),
            b"caption\tscore\tauthor\r\nAh\t0,5\tann\r\nOh\t\tbob\r\n",
            "author;caption;score\nann;Ah;0,5\nbïb;Oh;\n".encode(),
        ],
    )
    def test_a_sheet_is_understood_as_people_have_it(self, server, data):
        read = server.operator.post(f"{API}/sheets", content=data).json()
        assert (sorted(read["columns"]), read["n_rows"], len(read["rows"])) == (["author", "caption", "score"], 2, 2)
        written = "0,5" if b"0,5" in data else "0.5"
        assert (read["label"], read["rows"][0][read["columns"].index("score")]) == ("caption", written)
        sheet = {"base64": base64.b64encode(data).decode(), "known": "score"}
        reply = server.operator.post(f"{API}/studies", json={"name": "captions", "sheet": sheet})
        assert reply.status_code == 201, reply.text
        assert (reply.json()["arms"], reply.json()["recommendation"]["label"]) == (2, "Ah")
        arm = server.operator.get(f"{ONE}/arm", params={"label": "Ah"}).json()
        assert (arm["payload"], arm["mean"]) == ({"author": "ann"}, 0.5)

    def test_cells_of_a_sheet_stay_as_they_are_written(self, server):
        sheet = {"text": "caption;cpus;version\n1,5;0,1;1,10\n2,5;2,3;1,20\n"}
        assert server.operator.post(f"{API}/studies", json={"name": "captions", "sheet": sheet}).status_code == 201
        arm = server.operator.get(f"{ONE}/arm", params={"label": "1,5"}).json()
        assert arm["payload"] == {"cpus": "0,1", "version": "1,10"}

    @pytest.mark.parametrize("data", [b"caption\n" + b"a\n" * 10_000_000, b"caption\r" + b"a\r" * 100_001])
    def test_a_sheet_with_too_many_rows_is_refused_before_all_are_read(self, server, data):
        lines = len(data) // 2 - 3
        words = (
            f"the CSV file has {lines:,} lines, but may have 100,000 rows: make the study of a part of them, and add"
        )
        tracemalloc.start()
        try:
            assert words in problem(server.operator.post(f"{API}/sheets", content=data), 422)["detail"]
            assert tracemalloc.get_traced_memory()[1] < 10 * len(data) + 1e8
        finally:
            tracemalloc.stop()
        sheet = {"name": "captions", "sheet": {"text": data.decode()}}
        assert words in problem(server.operator.post(f"{API}/studies", json=sheet), 422)["detail"]

    def test_a_sheet_may_have_a_hundred_thousand_rows_and_a_thousand_columns(self, server):
        data = b"caption\n" + b"\n".join(b"%d" % number for number in range(100_000))
        assert server.operator.post(f"{API}/sheets", content=data).json()["n_rows"] == 100_000
        assert (
            len(server.operator.post(f"{API}/sheets", content=b"," * 999 + b"\n" + b"," * 999).json()["columns"])
            == 1000
        )
        said = problem(server.operator.post(f"{API}/sheets", content=b"," * 1000 + b"\n" + b"," * 1000), 422)
        assert said["detail"].startswith("the CSV file has 1,001 columns, but may have 1,000: leave out")

    def test_a_sheet_is_read_outside_the_event_loop(self, server, monkeypatch):
        loops, read = [], uploaded_arms.read

        def noted(data):
            with suppress(RuntimeError):
                loops.append(asyncio.get_running_loop())
            return read(data)

        monkeypatch.setattr(uploaded_arms, "read", noted)
        assert server.operator.post(f"{API}/sheets", content=b"caption\na\n").status_code == 200
        sheet = {"name": "captions", "sheet": {"text": "caption\na\n"}}
        assert server.operator.post(f"{API}/studies", json=sheet).status_code == 201
        assert loops == []

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ({"arms": []}, "no arms"),
            ({"name": "..", "arms": ["a"]}, "choose another"),
            ({"arms": ["a", "b", "a"]}, "position 2"),
            ({"arms": ["a"], "sheet": {"text": "x"}}, "one of the two"),
            ({}, "one of the two"),
            ({"sheet": {"text": ""}}, "empty"),
            ({"sheet": {"text": "caption\n"}}, "no rows"),
            ({"sheet": {"text": "caption\na\na\n"}}, "unique"),
            ({"sheet": {"text": "caption,score\na,much\n", "known": "score"}}, "must be a finite number"),
            ({"sheet": {"text": "caption\na\n", "label": "title"}}, "a column 'title'"),
            (
                {"sheet": {"base64": base64.b64encode("caption\nbïb\n".encode("cp1252")).decode()}},
                "save it as CSV UTF-8",
            ),
            ({"sheet": {"base64": "§"}}, "base64"),
            ({"arms": ["a"], "policy": "no such"}, "no such"),
            ({"arms": ["a"], "about": {"scale": SCALE[:1]}}, "2 to 11"),
            ({"arms": ["a"], "about": {"scale": SCALE[:1]}}, "1 answer,"),
            ({"arms": ["a"], "about": {"scale": [SCALE[0], SCALE[0]]}}, "twice"),
            ({"arms": ["a"], "about": {"scale": [*SCALE, {"label": "no", "reward": 0}]}}, "'unfunny' and 'no' both"),
            ({"arms": ["a"], "about": {"picture": "https://elsewhere/x.png"}}, "picture"),
            ({"arms": ["a"], "about": {"picture": "0" * 32}}, f"no picture '{'0' * 32}'"),
            ({"arms": ["a", {"label": "b", "picture": "1" * 32}]}, f"no picture '{'1' * 32}'"),
            ({"sheet": {"text": f"caption,picture\na,{'2' * 32}\n"}}, f"no picture '{'2' * 32}'"),
            ({"arms": ["a", ""]}, "position 1, '', is empty"),
            ({"arms": ["a", " "]}, "position 1, ' ', is empty"),
            ({"arms": [{"label": "", "text": "a"}]}, "is empty"),
            ({"arms": [{"label": "b", "text": " "}]}, "'b', is empty"),
            ({"arms": ["a"], "about": {"completion": "javascript:alert(1)"}}, "completion"),
            ({"arms": ["a"], "known": [{"label": "z", "reward": 1}]}, "'z'"),
            ({"arms": ["a"], "name": "with/slash"}, "name"),
            ({"arms": ["a"], "surprise": 1}, "surprise"),
        ],
    )
    def test_what_cannot_become_a_study_is_refused_and_leaves_none(self, server, body, words):
        said = problem(server.operator.post(f"{API}/studies", json={"name": "captions", **body}), 422)
        assert words in said["detail"]
        assert server.operator.get(f"{API}/studies").json()["studies"] == []

    def test_a_name_that_is_taken_is_refused(self, server):
        server.study()
        reply = server.operator.post(f"{API}/studies", json={"name": "captions", "arms": ["x"]})
        assert "already" in problem(reply, 422)["detail"]

    def test_a_study_that_cannot_be_read_does_not_hide_the_others(self, tmp_path):
        server = Server(tmp_path / "x.db")
        server.study("good")
        server.study("bad")
        server.close()
        import sqlite3

        with sqlite3.connect(tmp_path / "x.db") as connection:
            connection.execute("UPDATE boxthirding_events SET event = replace(event, '\"format\":1', '\"format\":99')")
            connection.execute(
                "UPDATE boxthirding_events SET event = replace(event, '\"format\":99', '\"format\":1') WHERE study = 1"
            )
        connection.close()
        again = Server(tmp_path / "x.db")
        rows = {row["name"]: row for row in again.operator.get(f"{API}/studies").json()["studies"]}
        assert (rows["good"]["status"], rows["bad"]["status"]) == ("open", "unreadable")
        assert "upgrade" in rows["bad"]["error"]
        assert "upgrade" in problem(again.operator.get(f"{API}/studies/bad"), 422)["detail"]
        again.close()


class TestTrouble:
    def test_a_full_disk_is_said_nothing_is_lost_and_the_server_stays_up(self, tmp_path):
        server = Server(tmp_path / "x.db")
        study = server.study(arms=[f"caption {number}" for number in range(40)])
        connection = study._transactions.journal._connection.connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        told = 0
        for _ in range(200):
            asked = server.operator.post(f"{ONE}/tickets", json={"holder": "m"})
            if asked.status_code != 200:
                break
            row = {"ticket": asked.json()["tickets"][0]["id"], "reward": 1.0, "details": {"text": "x" * 500}}
            told += server.operator.post(f"{ONE}/results", json={"results": [row]}).status_code == 200
        said = problem(asked, 503)
        assert ("the disk is full" in said["detail"], "make room" in said["advice"], said["transient"]) == (True,) * 3
        assert server.operator.get("/health").status_code == 200
        connection.execute("PRAGMA max_page_count = 1000000")
        assert server.operator.get(ONE).json()["pulls"] == told > 0
        assert server.operator.post(f"{ONE}/tickets", json={"holder": "m"}).status_code == 200
        server.close()

    def test_a_journal_whose_first_events_are_damaged_is_exported_as_far_as_it_goes(self, tmp_path):
        import sqlite3

        server = Server(tmp_path / "x.db")
        study = server.study(arms=["a", "b", "c"], policy="us")
        for _ in range(5):
            study.tell(study.ask()[0], 1.0)
        with sqlite3.connect(tmp_path / "x.db") as connection:
            connection.execute("UPDATE boxthirding_events SET event = 'x' || event WHERE seq = 2")
        connection.close()
        assert len(server.operator.get(f"{ONE}/results.csv").text.splitlines()) == 6
        assert '"event": "damaged"' in server.operator.get(f"{ONE}/journal.jsonl").text
        assert server.operator.get(f"{ONE}/raters").json()["n_raters"] >= 1
        server.close()


class TestTickets:
    def test_a_worker_asks_tells_fails_and_releases(self, server):
        study = server.study()
        worker = server.client(server.new_key("worker", "captions"))
        asked = worker.post(f"{ONE}/tickets", json={"n": 3, "holder": "m1"}).json()
        first, second, third = asked["tickets"]
        assert set(first) == {"id", "arm", "label", "pull", "origin"}
        assert [row["id"] for row in worker.get(f"{ONE}/tickets", params={"holder": "m1"}).json()["tickets"]] == [
            0,
            1,
            2,
        ]
        told = worker.post(
            f"{ONE}/results",
            json={"results": [{"ticket": first["id"], "reward": 0.5, "holder": "m1", "details": {"took": 2}}]},
        )
        assert told.json()["results"] == [{"ticket": 0, "outcome": "told"}]
        assert [told.json()[name] for name in ("pulls", "spent", "open", "held")] == [1, 1, 2, 2]
        assert worker.post(f"{ONE}/failures", json={"ticket": second["id"]}).status_code == 200
        assert worker.post(f"{ONE}/releases", json={"tickets": [third["id"]]}).json()["tickets"] == [2]
        assert (study.pulls, study.view().holders) == (1, {})

    def test_results_are_taken_one_by_one_and_each_says_what_became_of_it(self, server):
        study = server.study()
        worker = server.client(server.new_key("worker"))
        worker.post(f"{ONE}/tickets", json={"n": 2, "holder": "m1"})
        rows = [
            {"ticket": 0, "reward": 1.0},
            {"ticket": 0, "reward": 0.0},
            {"ticket": 77, "reward": 1.0},
            {"ticket": 1, "reward": 1.0, "holder": "another"},
            {"ticket": 1, "reward": 0.5},
        ]
        outcomes = worker.post(f"{ONE}/results", json={"results": rows}).json()["results"]
        assert [row["outcome"] for row in outcomes] == ["told", "again", "refused", "refused", "told"]
        assert [row["problem"]["error"] for row in outcomes[1:4]] == ["AlreadyTold", "UnknownTicket", "TicketRefused"]
        assert study.pulls == 2

    def test_results_that_are_told_together_are_all_told_or_none(self, server):
        study = server.study()
        worker = server.client(server.new_key("worker"))
        worker.post(f"{ONE}/tickets", json={"n": 2})
        rows = [{"ticket": 0, "reward": 1.0}, {"ticket": 77, "reward": 1.0}]
        problem(worker.post(f"{ONE}/results", json={"results": rows, "together": True}), 404)
        assert study.pulls == 0
        worker.post(f"{ONE}/results", json={"results": [{**rows[0]}, {"ticket": 1, "reward": 0}], "together": True})
        assert study.pulls == 2

    def test_a_worker_cannot_pass_for_a_rater(self, server):
        server.study()
        holder = f"rater-{server.link()['id']}-abc"
        worker = server.client(server.new_key("worker"))
        problem(worker.post(f"{ONE}/tickets", json={"holder": holder}), 422)
        problem(worker.post(f"{ONE}/releases", json={"holder": holder}), 422)

    def test_the_operator_corrects_excludes_and_includes(self, server):
        server.study()
        worker = server.client(server.new_key("worker"))
        worker.post(f"{ONE}/tickets", json={"n": 1, "holder": "m1"})
        worker.post(f"{ONE}/results", json={"results": [{"ticket": 0, "reward": 1.0}]})
        corrected = server.operator.post(f"{ONE}/corrections", json={"ticket": 0, "reward": 0.5}).json()
        assert corrected["recommendation"]["mean"] == 0.5
        assert server.operator.post(f"{ONE}/exclusions", json={"holder": "m1"}).json()["pulls"] == 0
        assert server.operator.delete(f"{ONE}/exclusions", params={"holder": "m1"}).json()["pulls"] == 1
        observed = {"results": [{"label": "a", "reward": 0.5}, {"label": "b", "reward": 1.0}]}
        assert server.operator.post(f"{ONE}/observations", json=observed).json()["pulls"] == 3
        assert server.operator.post(f"{ONE}/policy", json={"policy": "us"}).json()["policy"] == "us"


CHANGES = [
    ("POST", "/tickets", {}),
    ("POST", "/results", {"results": [{"ticket": 2, "reward": 1.0}], "together": True}),
    ("POST", "/failures", {"ticket": 2}),
    ("POST", "/releases", {"tickets": [2]}),
    ("POST", "/observations", {"results": [{"label": "a", "reward": 1.0}]}),
    ("POST", "/corrections", {"ticket": 0, "reward": 0.5}),
    ("POST", "/exclusions", {"holder": "me"}),
    ("DELETE", "/exclusions?holder=odd", None),
    ("POST", "/policy", {"policy": "us"}),
    ("POST", "/arms", {"arms": ["new"]}),
    ("DELETE", "/arm?label=a", None),
    ("POST", "/pause", None),
    ("POST", "/finish", None),
]


class TestRepeats:
    def test_a_preview_says_what_an_exclusion_leads_to_and_changes_nothing(self, server):
        study = server.study(arms=[f"caption {number}" for number in range(12)])
        for turn in range(60):
            holder = ("ann", "odd")[turn % 2]
            (ticket,) = study.ask(1, holder=holder)
            study.tell(ticket, float((ticket.label == "caption 3") == (holder == "ann")))
        before = study.state()
        said = server.operator.get(f"{ONE}/exclusions", params={"holder": "odd"}).json()
        assert study.state() == before
        done = server.operator.post(f"{ONE}/exclusions", json={"holder": "odd"}).json()
        assert (said["excluded"], said["then"]["top"][0]["text"]) == (False, done["recommendation"]["label"])
        assert said["then"]["pulls"] == done["pulls"] < said["now"]["pulls"]
        back = server.operator.get(f"{ONE}/exclusions", params={"holder": "odd"}).json()
        assert (back["excluded"], back["now"], back["then"]) == (True, said["then"], said["now"])
        problem(server.operator.get(f"{ONE}/exclusions", params={"holder": "unheard of"}), 422)

    def test_the_results_of_an_arm_are_listed_with_their_answers_and_tickets(self, server):
        server.study(arms=["a"], policy="us")
        link = server.link()
        for answer in ("funny", "unfunny"):
            rater = server.rater(link)
            rater.rate(rater.next()[0]["ticket"], answer)
        rows = server.operator.get(f"{ONE}/arm/results", params={"label": "a"}).json()["results"]
        assert [(row["answer"], row["reward"], row["counts"]) for row in rows] == [
            ("unfunny", 0.0, True),
            ("funny", 1.0, True),
        ]
        server.operator.post(f"{ONE}/corrections", json={"ticket": rows[0]["ticket"], "reward": 0.5})
        rows = server.operator.get(f"{ONE}/arm/results", params={"label": "a", "count": 1}).json()["results"]
        assert [row["answer"] for row in rows] == ["somewhat funny"]

    def test_the_same_request_twice_counts_once(self, server):
        study = server.study()
        worker = server.client(server.new_key("worker"))
        headers = {"Idempotency-Key": "one"}
        replies = [worker.post(f"{ONE}/tickets", json={"n": 2}, headers=headers) for _ in range(3)]
        assert len({reply.text for reply in replies}) == 1
        assert [reply.headers.get("idempotency-replayed") for reply in replies] == [None, "true", "true"]
        assert study.open == 2

    def test_a_key_is_tied_to_the_body_the_route_and_the_credential(self, server):
        study = server.study()
        ann, bob = server.client(server.new_key("worker")), server.client(server.new_key("worker"))
        headers = {"Idempotency-Key": "one"}
        ann.post(f"{ONE}/tickets", json={"n": 1}, headers=headers)
        assert "another body" in problem(ann.post(f"{ONE}/tickets", json={"n": 2}, headers=headers), 422)["detail"]
        bob.post(f"{ONE}/tickets", json={"n": 1}, headers=headers)
        assert study.open == 2
        assert ann.post(f"{ONE}/failures", json={"ticket": 0}, headers=headers).json()["ticket"] == 0

    def test_a_key_is_tied_to_the_parameters(self, server):
        study = server.study()
        for holder in ("ann", "bob"):
            study.tell(study.ask(1, holder=holder)[0], 1.0)
            study.exclude(holder)
        headers = {"Idempotency-Key": "one"}
        assert server.operator.delete(f"{ONE}/exclusions?holder=ann", headers=headers).status_code == 200
        again = problem(server.operator.delete(f"{ONE}/exclusions?holder=bob", headers=headers), 422)
        assert "other parameters" in again["detail"]
        assert study.view().excluded == ("bob",)

    def test_the_same_request_at_the_same_moment_is_told_to_wait(self, server, monkeypatch):
        get, first, go_on = server.service.records.get, threading.Event(), threading.Event()

        def slowly(kind, key):
            if kind == "reply" and not first.is_set():
                first.set()
                go_on.wait()
            return get(kind, key)

        monkeypatch.setattr(server.service.records, "get", slowly)

        def make():
            return server.client(server.key).post(
                f"{API}/studies", json={"name": "captions", "arms": ["a"]}, headers={"Idempotency-Key": "one"}
            )

        with ThreadPoolExecutor(1) as pool:
            earlier = pool.submit(make)
            first.wait()
            later = make()
            go_on.set()
            assert earlier.result().status_code == 201
        assert problem(later, 409)["transient"]
        assert make().text == earlier.result().text

    @pytest.mark.parametrize(("path", "body"), [("keys", {"scope": "reader"}), ("studies/captions/links", {})])
    def test_a_secret_is_shown_once_and_never_stored(self, tmp_path, path, body):
        server = Server(tmp_path / "studies.db")
        server.study()
        headers = {"Idempotency-Key": "one"}
        first, *again = [server.operator.post(f"{API}/{path}", json=body, headers=headers) for _ in range(3)]
        made = first.json()
        for reply in again:
            said = problem(reply, 409)
            assert made["secret"] not in reply.text
            assert said["detail"] == (
                f"this Idempotency-Key has made '{made['id']}' already, and its secret was in that reply only"
            )
            assert f"revoke it (DELETE {API}/{path}/{made['id']}) and repeat with a new key" in said["advice"]
        listed = server.operator.get(f"{API}/{path}").json()
        assert [one["id"] for one in listed[path.rpartition("/")[2]]].count(made["id"]) == 1
        assert server.operator.delete(f"{API}/{path}/{made['id']}").status_code == 204
        server.close()
        with sqlite3.connect(tmp_path / "studies.db") as database:
            stored = b"\n".join(data for (data,) in database.execute("SELECT data FROM boxthirding_records"))
        assert made["id"].encode() in stored
        assert made["secret"].partition("_")[2].encode() not in stored

    def test_a_request_that_a_full_disk_refused_can_be_made_again(self, server, monkeypatch):
        def full(*_):
            raise StudyUnavailable("the disk is full", advice="make room, and try again")

        def make():
            return server.operator.post(f"{API}/keys", json={"scope": "reader"}, headers={"Idempotency-Key": "one"})

        with monkeypatch.context() as patch:
            patch.setattr(server.service.records, "put", full)
            problem(make(), 503)
        assert make().status_code == 201

    @pytest.mark.parametrize(
        ("error", "status", "is_sure"),
        [
            (StudyUnavailable("the database is away", advice="try again", transient=True), 503, True),
            (StudyUnavailable("the database is away", transient=True, unsure=True), 503, False),
            (RuntimeError("nobody foresaw this"), 500, False),
        ],
    )
    def test_a_request_is_repeated_only_if_it_has_certainly_changed_nothing(
        self, server, monkeypatch, error, status, is_sure
    ):
        study, observe_all = server.study(), Study.observe_all

        def fails(self, known):
            if not is_sure:
                observe_all(self, known)
            raise error

        def observe():
            body = {"results": [{"label": "a", "reward": 1.0}]}
            return server.operator.post(f"{ONE}/observations", json=body, headers={"Idempotency-Key": "one"})

        with monkeypatch.context() as patch:
            patch.setattr(Study, "observe_all", fails)
            assert problem(observe(), status).get("unsure", False) is not is_sure
        again = observe()
        assert (again.status_code, again.json().get("unsure")) == ((200, None) if is_sure else (409, True))
        assert study.pulls == 1

    @pytest.mark.parametrize(("method", "path", "body"), CHANGES)
    def test_a_change_whose_outcome_cannot_be_read_happens_once(self, server, monkeypatch, method, path, body):
        study = server.study()
        for holder in ("me", "odd"):
            study.tell(study.ask(holder=holder)[0], 1.0)
        study.exclude("odd")
        study.ask()
        do, reading, before = Transactions.do, Transactions.reading, len([*study.events()])

        def then_away(*args, **kwargs):
            patch.setattr(Transactions, "reading", away)
            return do(*args, **kwargs)

        def away(*_, **__):
            raise StudyUnavailable("the server is away", advice="nothing is lost, try again", transient=True)

        def send():
            return server.operator.request(method, f"{ONE}{path}", json=body, headers={"Idempotency-Key": "one"})

        with monkeypatch.context() as patch:
            patch.setattr(Transactions, "do", then_away)
            said = problem(send(), 503)
        assert (said["unsure"], said["advice"]) == (True, "look at the study before you try again")
        assert Transactions.reading is reading
        assert problem(send(), 409)["unsure"]
        assert len([*study.events()]) == before + 1

    def test_a_study_that_was_deleted_does_not_answer_for_the_next_of_its_name(self, server):
        headers = {"Idempotency-Key": "one"}
        server.study(arms=["old"])
        assert server.operator.post(f"{ONE}/tickets", json={}, headers=headers).json()["tickets"][0]["label"] == "old"
        deleted = [server.operator.delete(ONE, headers=headers) for _ in range(2)]
        assert [reply.status_code for reply in deleted] == [204, 204]
        problem(server.operator.post(f"{ONE}/tickets", json={}, headers=headers), 404)
        study = server.study(arms=["new"])
        again = [server.operator.post(f"{ONE}/tickets", json={}, headers=headers).json() for _ in range(2)]
        assert [reply["tickets"][0]["label"] for reply in again] == ["new", "new"]
        assert study.open == 1

    def test_a_refusal_is_repeated_and_after_a_day_all_is_forgotten(self, server):
        study = server.study()
        worker = server.client(server.new_key("worker"))
        headers = {"Idempotency-Key": "one"}
        first = worker.post(f"{ONE}/failures", json={"ticket": 0}, headers=headers)
        worker.post(f"{ONE}/tickets", json={})
        assert worker.post(f"{ONE}/failures", json={"ticket": 0}, headers=headers).text == first.text
        problem(first, 404)
        server.now += 86_401
        assert worker.post(f"{ONE}/failures", json={"ticket": 0}, headers=headers).status_code == 200
        assert study.view().holders == {}


class TestArms:
    def test_arms_come_by_pages_are_searched_added_and_withdrawn(self, server):
        study = server.study(arms=[f"caption {number}" for number in range(9)])
        for _ in range(9):
            (ticket,) = study.ask()
            study.tell(ticket, ticket.id % 3 / 2)
        page = server.operator.get(f"{ONE}/arms", params={"first": 2, "count": 3}).json()["arms"]
        assert [arm["label"] for arm in page] == [arm.label for arm in study.arms(2, 3)]
        found = server.operator.get(f"{ONE}/arms", params={"search": "CAPTION 4", "order": "given"}).json()["arms"]
        assert [arm["label"] for arm in found] == ["caption 4"]
        added = server.operator.post(f"{ONE}/arms", json={"arms": ["new", {"label": "n2", "payload": [1]}]})
        assert (added.json()["added"], added.json()["arms"]) == (2, 11)
        assert "already" in problem(server.operator.post(f"{ONE}/arms", json={"arms": ["new"]}), 422)["detail"]
        one = server.operator.get(f"{ONE}/arm", params={"label": "n2"}).json()
        assert (one["payload"], one["place"], one["steps"]) == ([1], "in the pool", [])
        assert server.operator.delete(f"{ONE}/arm", params={"label": "new"}).json()["arms"] == 10
        problem(server.operator.get(f"{ONE}/arm", params={"label": "nothing"}), 404)

    def test_an_empty_arm_is_added_where_no_rater_sees_it(self, server):
        server.study()
        assert "is empty" in problem(server.operator.post(f"{ONE}/arms", json={"arms": [""]}), 422)["detail"]
        server.operator.put(f"{API}/studies/prompts", json={"arms": ["a"]})
        assert server.operator.post(f"{API}/studies/prompts/arms", json={"arms": [""]}).status_code == 201

    def test_arms_are_listed_with_what_raters_see_of_them(self, server):
        kept = server.operator.post(f"{API}/pictures", content=b"GIF89a" + bytes(20)).json()["id"]
        server.study(arms=["plain", {"label": "x1", "text": "A cat", "picture": kept}, {"label": "y", "payload": [1]}])
        rows = server.operator.get(f"{ONE}/arms", params={"order": "given"}).json()["arms"]
        assert [(row["text"], row["picture"]) for row in rows] == [("plain", None), ("A cat", kept), ("y", None)]
        assert server.operator.get(f"{ONE}/arm", params={"label": "x1"}).json()["text"] == "A cat"

    def test_labels_that_are_numbers_and_labels_of_any_characters_are_found(self, server):
        strange = "a/b?c#d&e=f %2F <script> \u202e ☃ 😀"
        server.study(arms=[7, -3, strange])
        for label in (7, -3, strange):
            assert server.operator.get(f"{ONE}/arm", params={"label": str(label)}).json()["label"] == label

    def test_boxes_and_screening_are_those_of_the_library(self, server):
        study = server.study(arms=[f"caption {number}" for number in range(30)], policy="b3")
        for _ in range(90):
            study.tell(study.ask()[0], 1.0)
        boxes = server.operator.get(f"{ONE}/boxes", params={"level": "1", "count": 2}).json()["boxes"]
        assert [box["size"] for box in boxes] == [box.size for box in study.boxes(1)]
        assert max(len(box["arms"]) for box in boxes) <= 2
        got = server.operator.get(f"{ONE}/screening", params={"share": 0.1}).json()["screening"]
        assert got["probability"] == study.screening(0.1).probability
        assert server.operator.get(f"{ONE}/top", params={"k": 3}).json()["top"][0]["label"] == study.top(3)[0].label


class TestRaters:
    def test_the_unusual_and_the_excluded_are_found_among_all(self, server):
        study = server.study(arms=[f"caption {number}" for number in range(200)], policy="us")
        rates = {"ann": ("funny", 3.0), "bob": ("funny", 4.0), "same": ("funny", 3.0), "fast": ("funny", 0.5)}
        for turn in range(25):
            for holder, (answer, seconds) in rates.items():
                (ticket,) = study.ask(1, holder=holder)
                said = answer if holder == "same" or turn % 2 else "unfunny"
                study.tell(ticket, turn % 2, details={"answer": said, "seconds": seconds})
        study.exclude("ann")

        def found(**wanted):
            said = server.operator.get(f"{ONE}/raters", params=wanted).json()
            assert said["n_raters"] == 4
            return {row["holder"]: row["unusual"] for row in said["raters"]}, said["n_found"]

        assert found(only="excluded") == ({"ann": []}, 1)
        assert found(only="unusual") == (
            {"same": ["nearly always the same answer"], "fast": ["much faster than the others"]},
            2,
        )
        assert found(only="unusual", first=1, count=1)[1] == 2
        assert (len(found()[0]), found()[1]) == (4, 4)


class TestExports:
    def rated(self, server):
        server.study(arms=["=1+1", "plain", "@x"], policy="us", known=[{"label": "plain", "reward": 0.5}])
        link = server.link()
        raters = [server.rater(link) for _ in range(3)]
        for _ in range(3):
            for rater, answer in zip(raters, ("funny", "unfunny", "funny"), strict=True):
                rater.rate(rater.next()[0]["ticket"], answer, seconds=1.25)

    def test_the_report_is_the_file_that_the_command_writes(self, tmp_path):
        server = Server(tmp_path / "server.db")
        picture = server.operator.post(f"{API}/pictures", content=b"GIF89a" + bytes(20)).json()["id"]
        study = server.study(arms=[{"label": name, "picture": picture} for name in "abc"])
        for _ in range(12):
            study.tell(study.ask()[0], 0.5)
        reply = server.operator.get(f"{ONE}/report.html")
        assert 'filename="captions-report.html"' in reply.headers["content-disposition"]
        assert "data:image/gif;base64," in reply.text
        out = tmp_path / "report.html"
        place = str(tmp_path / "server.db")
        done("report", place, "--name", "captions", "--out", out)
        assert out.read_text(encoding="utf-8") == reply.text
        server.close()

    def test_results_are_a_row_each_and_formulas_are_quoted(self, server):
        self.rated(server)
        reply = server.operator.get(f"{ONE}/results.csv")
        assert 'filename="captions-results.csv"' in reply.headers["content-disposition"]
        rows = list(csv.DictReader(io.StringIO(reply.text)))
        assert len(rows) == 10
        assert {row["arm"] for row in rows} == {"'=1+1", "plain", "'@x"}
        assert [row["rater"] == "" for row in rows] == [True] + [False] * 9
        assert {row["answer"] for row in rows[1:]} == {"funny", "unfunny"}
        assert {row["seconds"] for row in rows[1:]} == {"1.25"}

    def test_an_excluded_rater_is_marked_and_does_not_count_in_the_summary(self, server):
        self.rated(server)
        holder = server.operator.get(f"{ONE}/raters").json()["raters"][0]["holder"]
        server.operator.post(f"{ONE}/exclusions", json={"holder": holder})
        rows = list(csv.DictReader(io.StringIO(server.operator.get(f"{ONE}/results.csv").text)))
        assert [row["counts"] for row in rows if row["rater"] == holder] == ["False"] * 3
        arms = list(csv.DictReader(io.StringIO(server.operator.get(f"{ONE}/arms.csv").text)))
        assert sum(int(row["votes"]) for row in arms) == 7
        assert sum(int(row["funny"]) + int(row["unfunny"]) for row in arms) == 6

    def test_what_programs_tell_is_counted_under_the_answer_that_it_stands_for(self, server):
        study = server.study(arms=["a"])
        for reward in (1.0, 0.5, 0.5):
            study.tell(study.ask()[0], reward)
        rows = list(csv.DictReader(io.StringIO(server.operator.get(f"{ONE}/results.csv").text)))
        assert [row["answer"] for row in rows] == ["funny", "somewhat funny", "somewhat funny"]
        (arm,) = csv.DictReader(io.StringIO(server.operator.get(f"{ONE}/arms.csv").text))
        assert (arm["votes"], arm["unfunny"], arm["somewhat_funny"], arm["funny"]) == ("3", "0", "2", "1")

    def test_every_answer_has_a_column_of_its_own(self, server):
        labels = ["\N{THUMBS DOWN SIGN}", "\N{THUMBS UP SIGN}", "Mean", "so so", "so-so"]
        scale = [{"label": label, "reward": reward} for reward, label in enumerate(labels)]
        server.study(about={"scale": scale})
        head = server.operator.get(f"{ONE}/arms.csv").text.splitlines()[0].split(",")
        assert head[5:10] == ["\N{THUMBS DOWN SIGN}", "\N{THUMBS UP SIGN}", "mean_2", "so_so", "so_so_2"]

    def test_an_answer_that_looks_like_a_formula_is_quoted_in_the_head_of_its_column(self, server):
        scale = [{"label": label, "reward": reward} for reward, label in enumerate(["-", "+", "=1+1"])]
        server.study(about={"scale": scale})
        head = server.operator.get(f"{ONE}/arms.csv").text.splitlines()[0].split(",")
        assert head[5:8] == ["'-", "'+", "1_1"]

    def test_the_summary_is_one_that_the_library_reads(self, server, tmp_path):
        self.rated(server)
        path = tmp_path / "arms.csv"
        path.write_text(server.operator.get(f"{ONE}/arms.csv").text)
        instance = from_csv(path)
        assert (instance.n_arms, len(instance.labels)) == (3, 3)

    def test_the_journal_is_every_event(self, server):
        self.rated(server)
        lines = [json.loads(line) for line in server.operator.get(f"{ONE}/journal.jsonl").text.splitlines()]
        assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
        assert lines[0]["arms"] == ["=1+1", "plain", "@x"]
        pages, after = [], 0
        while True:
            page = server.operator.get(f"{ONE}/events", params={"after": after, "count": 7}).json()
            if not page["events"]:
                break
            pages += page["events"]
            after = page["next"]
        assert [event["seq"] for event in pages] == [line["seq"] for line in lines]


ODD = [None, True, 0, -1, 1e308, 10**400, "", "=1", "funny", "\r@x", [], ["x"], [["x"], {"y": None}], {}, {"$": [1]}]
READS = [
    *(
        "results.csv",
        "arms.csv",
        "journal.jsonl",
        "report.html",
        "raters",
        "answer",
        "history",
        "grid",
        "arms",
        "events",
    ),
    *("", "?brief=true", "exclusions?holder=odd", "arm?label=a", "arm/results?label=a", "spread", "tickets?holder=odd"),
]


class TestDetails:
    """A program may tell any JSON with a result: whatever it is, everything can be read, then and after a restart."""

    @pytest.mark.parametrize("value", ODD, ids=lambda value: json.dumps(value)[:20])
    def test_whatever_they_are_all_can_be_read(self, tmp_path, value):
        server = Server(tmp_path / "studies.db")
        server.study(arms=["a", "b"], about={"scale": []})  # so that no answer follows from the reward
        worker = server.client(server.new_key("worker"))
        odd = dict.fromkeys(["answer", "seconds", "id", "study_id", "session_id", "about"], value)
        for details in (odd, {"answer": "funny", "seconds": 2.5}, {**odd, "other": odd}):
            ticket = worker.post(f"{ONE}/tickets", json={"holder": "odd"}).json()["tickets"][0]["id"]
            row = {"ticket": ticket, "reward": 1.0, "details": details}
            (told,) = worker.post(f"{ONE}/results", json={"results": [row]}).json()["results"]
            assert told["outcome"] == "told", told
        self.read_all(server)
        server.close()
        again = Server(tmp_path / "studies.db")
        self.read_all(again)
        again.close()

    def read_all(self, server):
        for path in READS:
            joint = "" if path.startswith("?") or not path else "/"
            reply = server.operator.get(f"{ONE}{joint}{path}")
            assert reply.status_code == 200, (path, reply.text)
        assert server.operator.get(f"{API}/studies?brief=true").json()["studies"][0].get("error") is None
        assert server.operator.get("/metrics").status_code == 200
        (rater,) = server.operator.get(f"{ONE}/raters").json()["raters"]
        assert (rater["holder"], rater["told"]) == ("odd", 3)
        rows = list(csv.DictReader(io.StringIO(server.operator.get(f"{ONE}/results.csv").text)))
        assert [row["reward"] for row in rows] == ["1.0"] * 3
        votes = [row["votes"] for row in csv.DictReader(io.StringIO(server.operator.get(f"{ONE}/arms.csv").text))]
        assert sum(map(int, votes)) == 3

    def test_a_detail_that_is_no_text_is_exported_as_json(self, server):
        study = server.study(about={"scale": []})
        for answer in (["=x", None], True, None, 0):
            study.tell(study.ask()[0], 1.0, details={"answer": answer, "id": answer})
        rows = list(csv.DictReader(io.StringIO(server.operator.get(f"{ONE}/results.csv").text)))
        assert [row["id"] for row in rows] == ['["=x", null]', "True", "", "0"]


class TestPictures:
    PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)

    def test_a_picture_that_is_not_here_is_refused_whenever_it_is_named(self, server):
        study = server.study()
        picture = server.operator.post(f"{API}/pictures", content=self.PNG).json()["id"]
        for reply in (
            server.operator.patch(ONE, json={"picture": "0" * 32}),
            server.operator.post(f"{ONE}/arms", json={"arms": ["new", {"label": "x", "picture": "0" * 32}]}),
        ):
            assert "upload it first" in problem(reply, 422)["advice"]
        assert (study.view().arms, server.operator.get(ONE).json()["about"]["picture"]) == (5, None)
        added = {"arms": [{"label": "x", "text": "", "picture": picture}]}
        assert server.operator.post(f"{ONE}/arms", json=added).status_code == 201
        assert server.operator.patch(ONE, json={"picture": picture}).status_code == 200
        assert server.operator.patch(ONE, json={"picture": ""}).json()["about"]["picture"] is None

    def test_a_column_that_is_called_picture_and_has_no_ids_is_not_shown(self, server):
        server.study(arms=[{"label": "a", "payload": {"picture": "cat.png"}}])
        assert server.rater(server.link()).next()[0]["picture"] is None

    def test_a_picture_is_kept_once_and_shown_to_keys_and_raters(self, server):
        made = [server.operator.post(f"{API}/pictures", content=self.PNG).json() for _ in range(2)]
        assert made[0] == made[1]
        server.study(arms=[{"label": "x", "picture": made[0]["id"]}], about={"picture": made[0]["id"]})
        rater = server.rater(server.link())
        assert rater.start.json()["picture"] == made[0]["id"]
        assert rater.next()[0]["picture"] == made[0]["id"]
        for reply in (
            server.operator.get(f"{API}/pictures/{made[0]['id']}"),
            rater.client.get(f"{rater.path}/pictures/{made[0]['id']}"),
        ):
            assert (reply.content, reply.headers["content-type"]) == (self.PNG, "image/png")
            assert "sandbox" in reply.headers["content-security-policy"]

    @pytest.mark.parametrize("data", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"", b"GIF", b"%PDF-1.7 0000000"])
    def test_what_is_no_picture_by_its_bytes_is_refused(self, server, data):
        reply = server.operator.post(f"{API}/pictures", content=data, headers={"Content-Type": "image/png"})
        problem(reply, 415)

    def test_more_than_five_megabytes_are_refused_before_they_are_read(self, server):
        sent = 0

        def much():
            nonlocal sent
            for _ in range(1000):
                sent += 1
                yield self.PNG + bytes(1_000_000)

        refused = problem(server.operator.post(f"{API}/pictures", content=bytes(5_000_001)), 413)
        assert refused["advice"] == "make the picture smaller, or save it as JPEG or WebP"
        problem(server.operator.post(f"{API}/pictures", content=much()), 413)
