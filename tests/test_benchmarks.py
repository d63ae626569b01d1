"""The benchmarks fail when a limit is broken; what they measure is not tested here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import plates

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("row", "broken"),
    [
        ({"ratio": 20.0, "limit": 20}, None),
        ({"ratio": 20.01, "limit": 20}, "ratio is 20.01, but must be at most 20"),
        ({"ratio": 13.0, "limit": 20, "aim": 12}, None),
        ({"ratio": 99.0, "limit": None}, None),
        ({"ratio": 99.0}, None),
        ({"milliseconds": 151, "at most": 150}, "milliseconds is 151, but must be at most 150"),
        ({"ratio": 49.0, "at least": 50}, "ratio is 49.0, but must be at least 50"),
        ({"ratio": 50.0, "at least": 50}, None),
        ({"ratio": 1.0, "microseconds": 99.0, "limit": 2}, None),  # the limit is about the ratio
    ],
)
def test_a_row_says_which_limit_it_breaks(row, broken):
    sentences = list(benchmarks.broken_limits({"what": "a thing", **row}))
    assert sentences == ([] if broken is None else [f"a thing: {broken}"])


def test_a_limit_about_nothing_is_an_error():
    with pytest.raises(KeyError, match="has a limit"):
        list(benchmarks.broken_limits({"what": "a thing", "limit": 3, "minutes": 4}))


def test_everything_is_run_before_the_broken_limits_are_named(monkeypatch, capsys):
    def slow():
        yield {"what": "one", "ratio": 3.0, "limit": 2}
        yield {"what": "two", "ratio": 1.0, "limit": 2}

    def slower():
        yield {"what": "three", "ratio": 4.0, "limit": 2}

    monkeypatch.setattr(benchmarks, "BENCHMARKS", {"slow": slow, "slower": slower})
    lines = "slow: one: ratio is 3.0, but must be at most 2\nslower: three: ratio is 4.0, but must be at most 2"
    assert benchmarks.main([]) == lines
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["benchmark"], row["what"]) for row in rows] == [("slow", "one"), ("slow", "two"), ("slower", "three")]
    assert benchmarks.main(["slower"]) == lines.splitlines()[1]


def test_every_policy_with_a_limit_is_measured():
    limits = {"us": 12, "bsh": 12, "ucbe": 20, "bucb": 20, "asha": 20, "prose": 60}
    assert limits.items() <= benchmarks.simulation.LIMITS.items()


def test_a_name_that_is_no_benchmark_fails():
    command = [sys.executable, "-m", "benchmarks", "typo"]
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert "typo" in run.stderr
    assert "simulate" in run.stderr


def test_plates_are_measured_with_as_many_wells_for_every_policy(capsys):
    plates.main(["us", f"sh:budget={plates.BUDGET}", "--replicates", "2"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["noise"], row["policy"], row["plates"]) for row in rows] == [
        (noise, policy, count) for noise in (0.25, 0.5) for policy, count in (("us", 20), ("sh:budget=1920", 24))
    ]
    assert all(0 < row["regret"] < 0.6 for row in rows)
