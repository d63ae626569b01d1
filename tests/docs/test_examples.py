"""The programs in examples/ run as they are, and say what they promise."""

import csv
import re
import subprocess
import sys

import pytest
from pages import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(name, folder, *arguments):
    ended = subprocess.run(
        [sys.executable, ROOT / "examples" / name, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_prompt_is_chosen_that_is_far_better_than_a_typical_one(tmp_path):
    printed = run("choose_prompt.py", tmp_path)
    chosen, best, typical = map(float, re.findall(r"([\d.]+)%", printed.splitlines()[-2]))
    assert typical + 20 < chosen <= best
    assert "1,500 of 1,500 pulls, 0 left" in printed


def test_settings_are_timed_for_as_long_as_it_says_and_the_winner_beside_the_default(tmp_path):
    printed = run("time_configurations.py", tmp_path)
    assert "the time is up" in printed
    assert [line.split(":")[0] for line in printed.splitlines()[-2:]][1] == "level=6 wbits=15 memory=8 strategy=0"


def test_plates_go_out_and_readings_come_back_as_files(tmp_path):
    printed = run("screen_plate.py", tmp_path, tmp_path)
    plates = [
        list(csv.reader(file.read_text(encoding="utf-8").splitlines())) for file in sorted(tmp_path.glob("plate-*.csv"))
    ]
    assert len(plates) == 12
    assert {len(plate) for plate in plates} == {97}
    assert len({row[1] for plate in plates for row in plate[1:]}) >= 12 * 95  # spoiled wells come again
    assert len((tmp_path / "short-list.csv").read_text(encoding="utf-8").splitlines()) == 11
    better = int(re.search(r"in truth (\d+) of 2,000", printed)[1])
    assert better < 20


def test_without_a_folder_the_plates_leave_nothing_behind(tmp_path):
    run("screen_plate.py", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.name)
def test_every_example_is_tested_and_named_in_the_documentation(example):
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "howto").glob("*.md"))
    assert f"examples/{example.name}" in pages
    assert f'run("{example.name}"' in (ROOT / "tests" / "docs" / "test_examples.py").read_text(encoding="utf-8")
