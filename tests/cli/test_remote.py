"""Commands on a study of a server: `run`, and what `study` can do without a journal."""

import json
import sys

import pytest
from click.testing import CliRunner
from processes import Listening

from boxthirding import RemoteStudy
from boxthirding.cli.commands import cli


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = Listening(tmp_path_factory.mktemp("served") / "studies.db")
    yield one
    one.close()


@pytest.fixture
def run(server, monkeypatch):
    monkeypatch.setenv("BOXTHIRDING_KEY", server.key)
    return lambda *arguments: CliRunner().invoke(cli, [*map(str, arguments)])


@pytest.fixture
def arms(tmp_path):
    path = tmp_path / "arms.txt"
    path.write_text("1\n2\n3\n")
    return path


COMMAND = f"{sys.executable} -c print({{arm}})"


def test_run_makes_the_study_resumes_it_and_refuses_another_command(server, run, arms):
    def best(budget, command=COMMAND, *more):
        return run(
            *("run", "--arms", arms, "--command", command, "--budget", budget),
            *("--study", server.url("run"), "--json", *more),
        )

    assert json.loads(best(4).stdout)["best"] == "3"
    resumed = best(6)
    assert "resuming from 4 pulls" in resumed.stderr
    assert server.service.studies.get("run").study.spent == 6
    other = best(9, COMMAND.replace("print", "exec"))
    assert (other.exit_code, "with command" in other.stderr) == (2, True)


@pytest.fixture(scope="module")
def url(server):
    with RemoteStudy(server.url("looked%20at"), server.key, arms={"low": {"dose": 1}, "high": {"dose": 9}}) as study:
        for _ in range(10):
            for ticket in study.ask(holder="ann"):
                study.tell(ticket, {"low": 1.0, "high": 2.0}[ticket.label])
        study.ask(1, holder="bob")
    return server.url("looked%20at")


def test_it_is_looked_at_as_one_in_a_database_is(server, run, url):
    for arguments in (["show"], ["show", "--json"], ["results"], ["results", "--json"], ["why", "high"]):
        over_http = run("study", arguments[0], url, *arguments[1:])
        in_the_file = run("study", arguments[0], server.place, "--name", "looked at", *arguments[1:])
        assert over_http.exit_code == in_the_file.exit_code == 0, over_http.output
        assert over_http.stdout == in_the_file.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["exclude", "ann"], "ann is excluded: 10 results do not count."),
        (["include", "ann"], "ann is included: 10 results count again."),
        (["release", "--holder", "bob"], "1 ticket released"),
        (["withdraw", "low"], "low is withdrawn."),
        (["use", "us"], "Policy chase"),
        (["pause"], "Paused"),
        (["resume"], "Resumed."),
        (["finish", "--yes"], "Finished: "),
    ],
)
def test_it_is_changed_as_one_in_a_database_is(run, url, arguments, words):
    done = run("study", arguments[0], url, *arguments[1:])
    assert (done.exit_code, words in done.output) == (0, True), done.output


def test_arms_and_known_results_come_from_files(server, run, tmp_path):
    RemoteStudy(server.url("files"), server.key, arms=["a", "b"]).close()
    (tmp_path / "new.csv").write_text("arm,dose\nc,3\n")
    (tmp_path / "known.csv").write_text("arm,reward\nc,0.5\na,0.25\n")
    assert "1 arm added." in run("study", "add", server.url("files"), tmp_path / "new.csv").output
    assert (
        "Imported 2 known results for 2 arms"
        in run("study", "observe", server.url("files"), tmp_path / "known.csv").output
    )
    out = tmp_path / "results.csv"
    assert run("study", "results", server.url("files"), "--out", out).exit_code == 0
    assert out.read_text().splitlines()[1].startswith("c,0.5,1,")


def test_the_studies_of_a_server_are_listed(server, run):
    RemoteStudy(server.url("listed"), server.key, arms=["a", "b"]).close()
    rows = [json.loads(line) for line in run("study", "list", server.url("").rstrip("#"), "--json").stdout.splitlines()]
    assert {"name": "listed", "arms": 2, "error": None}.items() <= next(
        row for row in rows if row["name"] == "listed"
    ).items()


@pytest.mark.parametrize(
    "arguments",
    [["export"], ["ask", "--arms", "x"], ["tell", "x.csv"], ["correct", "1", "0.5"], ["fail", "1"], ["copy", "x.db"]],
)
def test_what_needs_the_journal_says_where_to_run_it(run, url, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("study", arguments[0], url, *arguments[1:])
    assert done.exit_code == 2
    assert "is on a server, but this command needs the database" in done.output


def test_what_keeps_one_out_is_said(server, run, monkeypatch):
    missing = run("study", "show", server.url("none"))
    assert (missing.exit_code, "there is no study 'none'" in missing.output) == (2, True)
    several = run("study", "show", server.url("").rstrip("#"))
    assert (several.exit_code, "studies: say which with --name" in several.output) == (2, True)
    monkeypatch.setenv("BOXTHIRDING_KEY", "key_of_no_one")
    wrong = run("study", "show", server.url("none"))
    assert (wrong.exit_code, "does not know this key" in wrong.output) == (2, True)
    monkeypatch.delenv("BOXTHIRDING_KEY")
    no_key = run("study", "show", server.url("none"))
    assert (no_key.exit_code, "set BOXTHIRDING_KEY to a key" in no_key.output) == (2, True)
