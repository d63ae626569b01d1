"""The files beside the page: every figure as PNG and SVG, the data of each as CSV, and the claims."""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from boxthirding.figures.style import rendered
from boxthirding.lab.folders import write_whole
from boxthirding.lab.paper.claims import Claim, Finding
from boxthirding.lab.paper.figures import Picture

FORMATS: Final = ("png", "svg")


def write_figures(folder: Path, pictures: Sequence[Picture], step: Callable[[str], None]) -> dict[str, bytes]:
    """Write every picture in every format, and its data; return each as SVG."""
    folder.mkdir(exist_ok=True)
    drawn = {}
    for number, picture in enumerate(pictures, start=1):
        step(f"drawing figure {number} of {len(pictures)}")
        write_whole(folder / f"{picture.key}.csv", _csv([picture.columns, *picture.rows]))
        figure = picture.draw()
        contents = {ending: rendered(figure, ending) for ending in FORMATS}
        for ending, content in contents.items():
            write_whole(folder / f"{picture.key}.{ending}", content)
        drawn[picture.key] = contents["svg"]
    return drawn


def claims_csv(findings: Sequence[tuple[Claim, Finding]]) -> str:
    """Return every claim with its verdict and the numbers behind it, a row for each number."""
    rows: list[Sequence[Any]] = [("claim", "verdict", "says", "where", "reason", "measured", "value", "standard_error")]
    for claim, finding in findings:
        told = (claim.key, finding.verdict.value, claim.says, claim.where, finding.reason)
        numbers: list[tuple[Any, ...]] = [
            (one.what, one.estimate.value, one.estimate.error) for one in finding.measured
        ]
        rows += [(*told, *number) for number in numbers or [("", "", "")]]
    return _csv(rows)


def _csv(rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
