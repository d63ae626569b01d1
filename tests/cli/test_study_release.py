"""`boxthirding study release`: tickets that are lost go to the next who asks."""

import csv
from pathlib import Path

import pytest
from invoking import done, refused

from boxthirding import open_study


@pytest.fixture(autouse=True)
def folder(folder):
    Path("arms.txt").write_text("\n".join(f"C{number:03d}" for number in range(50)))
    return folder


def tickets(plate):
    with Path(plate).open(newline="") as file:
        return [int(row["ticket"]) for row in csv.DictReader(file)]


def test_a_plate_that_is_lost_is_handed_out_again(folder):
    done("ask", "screen.db", "-n", 4, "--arms", "arms.txt", "--out", "plate-1.csv")
    done("ask", "screen.db", "-n", 2, "--out", "plate-2.csv")
    assert (tickets("plate-1.csv"), tickets("plate-2.csv")) == ([0, 1, 2, 3], [4, 5])
    Path("plate-1.csv").unlink()
    said = done("release", "screen.db", "--holder", "plate-1.csv")
    assert said.startswith("4 tickets released: the next to ask is given them.\nStudy main: 0 pulls, 6 tickets open")
    done("ask", "screen.db", "-n", 5, "--out", "plate-3.csv")
    assert tickets("plate-3.csv") == [0, 1, 2, 3, 6]
    with open_study("screen.db", "main") as opened:
        assert opened.view().holders[str(folder.resolve() / "plate-2.csv")] == 2


def test_tickets_are_released_by_their_numbers():
    done("ask", "screen.db", "-n", 4, "--arms", "arms.txt", "--out", "plate-1.csv")
    assert done("release", "screen.db", 2, 0).startswith("2 tickets released")
    with open_study("screen.db", "main", holder="me") as opened:
        assert [ticket.id for ticket in opened.ask(2)] == [2, 0]


def test_a_holder_is_also_known_by_its_name():
    with open_study("run.db", "main", arms=20, holder="worker 3") as opened:
        opened.ask(3)
    assert done("release", "run.db", "--holder", "worker 3", "--name", "main").startswith("3 tickets released")


def test_what_is_not_held_is_refused():
    done("ask", "screen.db", "-n", 2, "--arms", "arms.txt", "--out", "plate-1.csv")
    with open_study("screen.db", "main") as opened:
        opened.tell(0, 0.5)
    assert "ticket 0 was told already" in refused("release", "screen.db", 1, 0)
    assert "ticket 7 was not issued" in refused("release", "screen.db", 7)
    assert "holder 'nobody' has no open tickets: holders who have some are" in refused(
        "release", "screen.db", "--holder", "nobody"
    )
    assert "neither tickets nor a holder is given, but must be one" in refused("release", "screen.db")
    assert "plate-1.csv' are given, but must be one of them" in refused(
        "release", "screen.db", 1, "--holder", "plate-1.csv"
    )
    assert "not a valid integer" in refused("release", "screen.db", "one")
    with open_study("screen.db", "main") as opened:
        assert (opened.open, sum(opened.view().holders.values())) == (1, 1)
