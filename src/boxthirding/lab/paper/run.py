"""The whole reproduction: simulate or resume, decide the claims, draw the figures and write the page."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from boxthirding._csv import csv_lines
from boxthirding.figures.style import rendered
from boxthirding.lab.chunks import run_chunk
from boxthirding.lab.error_split import error_split
from boxthirding.lab.paper.cases import SEED, SPLIT_REWARDS, Captions, Case, Scale, caption_case, cases_of, scale_of
from boxthirding.lab.paper.claims import Claim, Finding, Verdict
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.exact_facts import compute_facts
from boxthirding.lab.paper.figures import PaperFigure
from boxthirding.lab.paper.page import CLAIMS, Page, sections
from boxthirding.lab.paper.printed import COMPARED, EPSILONS
from boxthirding.lab.plots import check_matplotlib
from boxthirding.lab.report_folder import check_folder, write_whole
from boxthirding.lab.results import Run
from boxthirding.lab.settings import Setting

PAGE: Final = "index.html"
CLAIMS_FILE: Final = "claims.csv"
FIGURES: Final = "figures"
FORMATS: Final = ("png", "svg")


@dataclass(frozen=True)
class ReproductionResult:
    """The page and the verdicts."""

    page: Path
    findings: tuple[tuple[Claim, Finding], ...]

    def count(self, verdict: Verdict) -> int:
        """Return how many claims have this verdict."""
        return sum(finding.verdict is verdict for _, finding in self.findings)


@dataclass(frozen=True)
class Reproduction:
    """A reproduction whose options were checked; nothing has been written yet."""

    out: Path
    captions: Captions
    scale: Scale
    cases: Mapping[str, Case]
    command: str

    @classmethod
    def planned(
        cls, out: Path, *, quick: bool = False, data: Path | None = None, replicates: int | None = None
    ) -> "Reproduction":
        """Check the options and the folder, and raise for what cannot be done."""
        scale = scale_of(quick=quick, replicates=replicates)
        captions = Captions.found_in(data)
        check_matplotlib()
        check_folder(out)
        # The command that makes the page again, without the folders of this machine.
        words = ["boxthirding", "reproduce", *(["--quick"] if quick else []), *(["--data", "DIR"] if data else [])]
        words += ["--replicates", str(replicates)] if replicates is not None else []
        return cls(out, captions, scale, cases_of(captions, scale), shlex.join(words))

    @cached_property
    def settings(self) -> list[Setting]:
        """Everything that is simulated."""
        return [
            Setting(case.instance, case.rewards, policy, case.budget, case.checkpoints, case.replicates, SEED)
            for case in self.cases.values()
            for policy in case.policies
        ]

    def write(self, runs: Sequence[Run], step: Callable[[str], None] = lambda _: None) -> ReproductionResult:
        """Decide the claims, draw the figures and write the page; `step` is called with a text before each step."""
        step("computing what needs no simulation")
        evidence = self._evidence(runs)
        findings = tuple((claim, claim.finding(evidence)) for claim in CLAIMS)
        figures = sections(evidence)
        drawn = self._draw([one for part in figures.values() for one in part], step)
        write_whole(self.out / CLAIMS_FILE, _claims_csv(findings))
        scale = f"Figures have {self.scale.figures:,} replicates, tables {self.scale.tables:,}."
        if self.scale.name != "full":
            scale += " This is not the full reproduction: with so few, standard errors are large and verdicts coarse."
        made = {**_versions(), "seed": str(SEED)}
        page = Page(self.captions.description, scale, findings, figures, drawn, self.command, made)
        write_whole(self.out / PAGE, page.html())
        return ReproductionResult(self.out / PAGE, findings)

    def _evidence(self, runs: Sequence[Run]) -> Evidence:
        keys = [(case.key, policy) for case in self.cases.values() for policy in case.policies]
        found = dict(zip(keys, zip(self.settings, runs, strict=True), strict=True))
        without_rewards, _ = found[caption_case(SPLIT_REWARDS[0]), "bsh"]
        run_chunk(without_rewards.experiment, 0, 0)  # compile once: the split runs it in several threads
        splits = {
            (case, policy, eps): error_split(*found[case, policy], eps)
            for case in map(caption_case, SPLIT_REWARDS)
            for policy in COMPARED
            for eps in EPSILONS
        }
        return Evidence(compute_facts(self.cases), self.cases, {key: run for key, (_, run) in found.items()}, splits)

    def _draw(self, figures: Sequence[PaperFigure], step: Callable[[str], None]) -> dict[str, bytes]:
        """Write every figure in every format, and its data as CSV; return each as SVG."""
        folder = self.out / FIGURES
        folder.mkdir(exist_ok=True)
        drawn = {}
        for number, one in enumerate(figures, start=1):
            step(f"drawing figure {number} of {len(figures)}")
            write_whole(folder / f"{one.key}.csv", "".join(csv_lines(one.columns, one.rows)))
            figure = one.draw()
            for ending in FORMATS:
                drawn[one.key] = rendered(figure, ending)  # the last format is SVG
                write_whole(folder / f"{one.key}.{ending}", drawn[one.key])
        return drawn


def _claims_csv(findings: Sequence[tuple[Claim, Finding]]) -> str:
    """Return all claims with their verdicts, one row per number behind a verdict."""
    columns = ("claim", "verdict", "says", "where", "reason", "measured", "value", "standard_error")
    rows: list[Sequence[Any]] = []
    for claim, finding in findings:
        described = (claim.key, finding.verdict.value, claim.says, claim.where, finding.reason)
        numbers: list[tuple[Any, ...]] = [
            (one.what, one.estimate.value, one.estimate.error) for one in finding.measured
        ]
        rows += [(*described, *number) for number in numbers or [("", "", "")]]
    return "".join(csv_lines(columns, rows))


def _versions() -> dict[str, str]:
    """Return the versions of everything that makes the page."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in ("boxthirding", "numpy", "numba", "matplotlib"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
