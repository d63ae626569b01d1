"""The whole reproduction: simulate or go on, decide the claims, draw, and write the page."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from boxthirding.lab.chunks import Chunk, run_chunk
from boxthirding.lab.error_split import error_split
from boxthirding.lab.folders import check_folder, simulated_in, write_whole
from boxthirding.lab.paper.cases import (
    SEED,
    SPLIT_REWARDS,
    Case,
    Scale,
    bound_cases,
    caption_case,
    figure_cases,
    scale_of,
    table_cases,
)
from boxthirding.lab.paper.claims import CLAIMS, Claim, Finding, Verdict
from boxthirding.lab.paper.contest import Contest, find_contest
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.facts import compute_facts
from boxthirding.lab.paper.figures import Picture, sections
from boxthirding.lab.paper.page import Page
from boxthirding.lab.paper.printed import COMPARED, EPSILONS
from boxthirding.lab.paper.writing import claims_csv, write_figures
from boxthirding.lab.plots import check_matplotlib
from boxthirding.lab.runs import Run
from boxthirding.lab.settings import Setting
from boxthirding.types import Progress

PAGE: Final = "index.html"
CLAIMS_FILE: Final = "claims.csv"
FIGURES: Final = "figures"


@dataclass(frozen=True)
class Outcome:
    """Where the page is, and what came out."""

    page: Path
    findings: tuple[tuple[Claim, Finding], ...]

    def count(self, verdict: Verdict) -> int:
        """Return how many claims have this verdict."""
        return sum(finding.verdict is verdict for _, finding in self.findings)


@dataclass(frozen=True)
class Reproduction:
    """What was asked for, checked: nothing has been written yet."""

    out: Path
    contest: Contest
    scale: Scale
    cases: Mapping[str, Case]
    command: str

    @classmethod
    def planned(
        cls, out: Path, *, quick: bool = False, data: Path | None = None, replicates: int | None = None
    ) -> "Reproduction":
        """Check the options and the folder; refuse what cannot be done."""
        scale = scale_of(quick=quick, replicates=replicates)
        contest = find_contest(data)
        check_matplotlib()
        check_folder(out)
        made = (figure_cases, table_cases, bound_cases)
        cases = {case.key: case for make in made for case in make(contest, scale)}
        return cls(out, contest, scale, cases, _command(quick=quick, data=data, replicates=replicates))

    @cached_property
    def settings(self) -> list[Setting]:
        """Everything that is simulated."""
        pairs = [(case, policy) for case in self.cases.values() for policy in case.policies]
        return [
            Setting(
                case.instance,
                case.rewards,
                policy,
                budget=case.budget,
                checkpoints=case.checkpoints,
                replicates=case.replicates,
                seed=SEED,
            )
            for case, policy in pairs
        ]

    def simulated(self, *, progress: bool | Callable[[Progress], None] = False) -> list[Run]:
        """Simulate what the folder does not hold yet."""
        return simulated_in(self.out, self.settings, progress=progress)

    def written(self, runs: Sequence[Run], step: Callable[[str], None] = lambda _: None) -> Outcome:
        """Decide the claims, draw the figures and write the page; `step` hears what is being done."""
        step("computing what needs no simulation")
        evidence = self._evidence(runs)
        findings = tuple((claim, claim.finding(evidence)) for claim in CLAIMS)
        pictures = sections(evidence)
        drawn = write_figures(self.out / FIGURES, [one for part in pictures.values() for one in part], step)
        write_whole(self.out / CLAIMS_FILE, claims_csv(findings))
        write_whole(self.out / PAGE, self._page(findings, pictures, drawn).html())
        return Outcome(self.out / PAGE, findings)

    def _evidence(self, runs: Sequence[Run]) -> Evidence:
        keys = [(case.key, policy) for case in self.cases.values() for policy in case.policies]
        found = dict(zip(keys, zip(self.settings, runs, strict=True), strict=True))
        silent, _ = found[caption_case(SPLIT_REWARDS[0]), "bsh"]
        run_chunk(Chunk(silent.task, 0, 0))  # compiled here, once: the split asks for it in several threads at a time
        splits = {
            (case, policy, eps): error_split(*found[case, policy], eps)
            for case in map(caption_case, SPLIT_REWARDS)
            for policy in COMPARED
            for eps in EPSILONS
        }
        return Evidence(compute_facts(self.cases), self.cases, {key: run for key, (_, run) in found.items()}, splits)

    def _page(
        self,
        findings: Sequence[tuple[Claim, Finding]],
        pictures: Mapping[str, Sequence[Picture]],
        drawn: Mapping[str, bytes],
    ) -> Page:
        scale = f"Figures have {self.scale.figures:,} replicates, tables {self.scale.tables:,}."
        if self.scale.name != "full":
            scale += " This is not the full reproduction: with so few, standard errors are large and verdicts coarse."
        return Page(
            self.contest.description, scale, findings, pictures, drawn, self.command, {**_versions(), "seed": str(SEED)}
        )


def _command(*, quick: bool, data: Path | None, replicates: int | None) -> str:
    """Return the command that makes the page again, without the folders of this machine."""
    words = ["boxthirding", "reproduce"]
    words += ["--quick"] if quick else []
    words += ["--data", "DIR"] if data is not None else []
    words += ["--replicates", str(replicates)] if replicates is not None else []
    return shlex.join(words)


def _versions() -> dict[str, str]:
    """Return the versions of all that makes the page."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in ("boxthirding", "numpy", "numba", "matplotlib"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
