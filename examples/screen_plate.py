"""Screen 2,000 compounds on plates of 96 wells: read a list of compounds, write plate maps, read the readings.

Here a random generator plays the plate reader. In your program, replace `read_plate` by waiting for the readings. Each
plate has its own files, so that no results are lost in between.
"""

import csv
import random
import sys
import tempfile
from pathlib import Path

import boxthirding as b3

ROWS, COLUMNS = "ABCDEFGH", range(1, 13)
WELLS = [f"{row}{column}" for row in ROWS for column in COLUMNS]
PLATES = 12
NOISE = 0.1
SPOILED = 0.01  # the share of wells without a reading


def write_compounds(file: Path) -> None:
    """Write a list of compounds with their true activities, which the screening does not use."""
    draw = random.Random(6)
    with file.open("w", newline="", encoding="utf-8") as lines:
        rows = csv.writer(lines)
        rows.writerow(["compound", "activity"])
        rows.writerows([f"C{number:04d}", round(draw.betavariate(1, 6), 4)] for number in range(2_000))


def read_compounds(file: Path) -> dict[str, float]:
    """Return the compounds with their true activities."""
    with file.open(newline="", encoding="utf-8") as lines:
        return {row["compound"]: float(row["activity"]) for row in csv.DictReader(lines)}


def write_plate(file: Path, tickets: list[b3.Ticket]) -> None:
    """Write which compound goes into which well. A compound may be in several wells, as repeats."""
    with file.open("w", newline="", encoding="utf-8") as lines:
        rows = csv.writer(lines)
        rows.writerow(["well", "ticket", "compound"])
        rows.writerows([well, ticket.id, ticket.label] for well, ticket in zip(WELLS, tickets, strict=False))


def read_plate(plate: Path, readings: Path, activity: dict[str, float], draw: random.Random) -> None:
    """Play the plate reader: write a noisy reading for each well, and no reading for a few spoiled wells."""
    with plate.open(newline="", encoding="utf-8") as lines, readings.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["ticket", "reading"])
        for row in csv.DictReader(lines):
            spoiled = draw.random() < SPOILED
            rows.writerow([row["ticket"], "" if spoiled else draw.gauss(activity[row["compound"]], NOISE)])


def tell(session: b3.Session, readings: Path) -> None:
    """Tell the readings of a plate. A well without a reading fails: the next plate has its ticket again."""
    with readings.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["reading"]:
                session.tell(int(row["ticket"]), float(row["reading"]))
            else:
                session.fail(int(row["ticket"]))


def main(folder: Path) -> None:
    """Fill one plate after the other, and write the short list to a file."""
    compounds = folder / "compounds.csv"
    write_compounds(compounds)
    activity = read_compounds(compounds)
    draw = random.Random(7)

    session = b3.Session(list(activity), seed=0)
    for number in range(1, PLATES + 1):
        plate, readings = folder / f"plate-{number:02d}.csv", folder / f"readings-{number:02d}.csv"
        write_plate(plate, session.ask(len(WELLS)))
        read_plate(plate, readings, activity, draw)
        tell(session, readings)
        best = session.recommend()
        print(f"plate {number:2d}: {best.label}, mean {best.mean:.3f} of {best.pulls} wells")

    with (folder / "short-list.csv").open("w", newline="", encoding="utf-8") as lines:
        rows = csv.writer(lines)
        rows.writerow(["compound", "mean", "wells"])
        rows.writerows([entry.label, f"{entry.mean:.4f}", entry.pulls] for entry in session.top(10))

    print(session.screening(0.01))
    better = sum(value > activity[best.label] for value in activity.values())
    print(f"in truth {better} of {len(activity):,} compounds are better than {best.label}; the files are in {folder}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
