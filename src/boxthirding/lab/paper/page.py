"""The page of the reproduction: which claims and figures it has, and how they become one HTML file.

The file needs no network, fits a phone and has a dark mode.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib import resources
from string import Template
from typing import Final

from boxthirding.lab.paper.cases import CAPTION_REWARDS, GAPS, NOISY, SPLIT_REWARDS, caption_case, table_case
from boxthirding.lab.paper.claims import Claim, Finding, Measurement, Verdict, regret, structure, theory
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.figures import FigureTable, PaperFigure
from boxthirding.lab.paper.figures.drawings import arrange_figure, remedian_figure
from boxthirding.lab.paper.figures.regret import box_figure, regret_against_pulls, table_figure
from boxthirding.lab.paper.figures.screening import candidates_figure, instances_figure, levels_figure, split_figure
from boxthirding.lab.paper.printed import EPSILONS, TABLES

# All claims, in the order of the page.
CLAIMS: Final = tuple(
    one for part in (regret, structure, theory) for one in vars(part).values() if isinstance(one, Claim)
)

_NONE, _POWER, _VOTES = (caption_case(spec) for spec in ("none", "kumaraswamy", "bernoulli"))
_TABLES: Final = tuple(table_case(table.arms) for table in TABLES)
_SPLITS: Final = tuple((caption_case(spec), eps) for spec in SPLIT_REWARDS for eps in EPSILONS)

# The figures that decide each claim. A figure is shown with the first of its claims; the others link to it.
BESIDE: Final = {
    "lowest-when-noisy": tuple(f"regret-{case}" for case in NOISY),
    "best-without-noise": (f"regret-{_NONE}",),
    "uniform-stagnates": tuple(f"regret-{case}" for case in NOISY),
    "uniform-under-power-law": (f"regret-{_POWER}",),
    "brackets-under-power-law": (f"boxes-{_POWER}", f"boxes-{_VOTES}"),
    "poly-is-hardest": ("instances", *(f"regret-{case}" for case in GAPS)),
    "guideline": tuple(f"boxes-{caption_case(spec)}" for spec in ("gaussian:0.5", "gaussian:0.2", "none")),
    "rows-of-the-paper": _TABLES,
    "rows-of-baselines": _TABLES,
    "close-to-fixed-budget": _TABLES,
    "better-than-anytime": _TABLES,
    "half-is-lifted": ("levels",),
    "remedian": ("remedian",),
    "instance-table": ("instances",),
    "candidate-orders": ("candidates",),
    "candidate-bounds": ("candidates",),
    "exact-non-inclusion": tuple(f"split-{case}-eps-{eps:g}" for case, eps in _SPLITS),
    "one-exponent": tuple(f"regret-{case}" for case in GAPS),
    "regret-rate": tuple(f"regret-{case}" for case in GAPS),
}

_CLASSES: Final = {Verdict.HOLDS: "holds", Verdict.IN_PART: "in-part", Verdict.FAILS: "fails", Verdict.TOO_FEW: "soft"}
_MARKS: Final = dict(zip(Verdict, "✓◐✗?", strict=True))  # verdicts differ without their colours, too
_FEW = 8  # numbers shown without a click


def sections(evidence: Evidence) -> dict[str, list[PaperFigure]]:
    """Return all figures by heading."""
    captions = [caption_case(spec) for spec in CAPTION_REWARDS]
    return {
        "How Box Thirding works": [remedian_figure(), arrange_figure(), levels_figure(evidence)],
        "The instances": [instances_figure(evidence)],
        "Regret on the captions": [regret_against_pulls(evidence, key) for key in captions],
        "Regret on instances made by formula": [regret_against_pulls(evidence, key) for key in GAPS],
        "Spread of the runs": [box_figure(evidence, key) for key in captions],
        "The two tables": [table_figure(evidence, table) for table in TABLES],
        "Screening and its errors": [
            candidates_figure(evidence),
            *(split_figure(evidence, case, eps) for case, eps in _SPLITS),
        ],
    }


@dataclass(frozen=True)
class Page:
    """The contents of the page."""

    instance: str
    scale: str
    findings: Sequence[tuple[Claim, Finding]]
    sections: Mapping[str, Sequence[PaperFigure]]
    drawn: Mapping[str, bytes]  # each figure as SVG, by its key
    command: str
    made: Mapping[str, str]  # versions and numbers that decide the results

    def html(self) -> str:
        """Return the page as text."""
        row = '<tr><th scope="row">{}</th><td>{}</td></tr>'
        return Template(_resource("page.html")).substitute(
            style=_resource("page.css").strip(),
            counts=_lines(map(self._count, Verdict)),
            contents=self._contents(),
            instance=escape(self.instance),
            scale=escape(self.scale),
            glance=_lines(
                f'<tr><td><a href="#{claim.key}">{escape(claim.title)}</a></td><td>{_badge(finding.verdict)}</td></tr>'
                for claim, finding in self.findings
            ),
            claims=_lines(self._claim(claim, finding) for claim, finding in self.findings),
            figures=_lines(
                f'<section id="{_slug(title)}">\n<h2>{escape(title)}</h2>\n'
                f"{_lines(map(self._figure, figures))}\n</section>"
                for title, figures in self._left.items()
            ),
            command=escape(self.command),
            made=_lines(row.format(escape(name), escape(value)) for name, value in self.made.items()),
        )

    def _count(self, verdict: Verdict) -> str:
        number = sum(finding.verdict is verdict for _, finding in self.findings)
        if verdict is Verdict.TOO_FEW and not number:
            return ""
        words = f"claim {verdict.value}" if number == 1 else f"claims {verdict.of_many}"
        return f'<li class="{_CLASSES[verdict]}"><strong>{number}</strong>{_MARKS[verdict]} {words}</li>'

    @cached_property
    def _figures(self) -> dict[str, PaperFigure]:
        return {one.key: one for figures in self.sections.values() for one in figures}

    @cached_property
    def _placed(self) -> dict[str, str]:
        """By figure, the first claim that it decides."""
        placed: dict[str, str] = {}
        for claim, _ in self.findings:
            for key in BESIDE.get(claim.key, ()):
                if key in self._figures:
                    placed.setdefault(key, claim.key)
        return placed

    @cached_property
    def _left(self) -> dict[str, list[PaperFigure]]:
        """The figures that decide no claim, by heading."""
        left = {title: [one for one in all_ if one.key not in self._placed] for title, all_ in self.sections.items()}
        return {title: figures for title, figures in left.items() if figures}

    def _contents(self) -> str:
        claims = _lines(
            f'<li><a href="#{claim.key}"><span class="{_CLASSES[finding.verdict]}">{_MARKS[finding.verdict]}</span> '
            f"{escape(claim.title)}</a></li>"
            for claim, finding in self.findings
        )
        links = {"verdicts": "At a glance", "words": "Words"} | {_slug(title): title for title in self._left}
        links |= {"claims": "Claim by claim", "again": "Make it again"}
        below = {"claims": f"\n<ol>\n{claims}\n</ol>"}
        items = (f'<li><a href="#{key}">{escape(title)}</a>{below.get(key, "")}</li>' for key, title in links.items())
        return f"<ul>\n{_lines(items)}\n</ul>"

    def _claim(self, claim: Claim, finding: Finding) -> str:
        """Return a claim with the figures that decide it, and links to those of earlier claims."""
        figures = [self._figures[key] for key in BESIDE.get(claim.key, ()) if key in self._figures]
        shown = [one for one in figures if self._placed[one.key] == claim.key]
        links = ", ".join(f'<a href="#{one.key}">{escape(one.title)}</a>' for one in figures if one not in shown)
        return _lines(
            [
                f'<article id="{claim.key}">',
                f"<h3>{escape(claim.title)}: {_badge(finding.verdict)}</h3>",
                f'<p><span class="label">The paper says</span> ({escape(claim.where)}): {escape(claim.says)}</p>',
                f'<p><span class="label">Measured:</span> {escape(finding.reason)}</p>',
                f'<p><span class="label">How it is decided:</span> {escape(claim.rule)}</p>',
                _numbers(finding.measured),
                f'<div class="figures">\n{_lines(map(self._figure, shown))}\n</div>' if shown else "",
                f'<p><span class="label">Figures above:</span> {links}</p>' if links else "",
                "</article>",
            ]
        )

    def _figure(self, figure: PaperFigure) -> str:
        data = base64.b64encode(self.drawn[figure.key]).decode("ascii")
        table = f"\n{_table(figure.table)}" if figure.table else ""
        return (
            f'<div class="drawn"><figure id="{figure.key}"><img alt="{escape(figure.title)}" '
            f'src="data:image/svg+xml;base64,{data}">\n<figcaption><strong>{escape(figure.title)}.</strong> '
            f"{escape(figure.caption)}</figcaption></figure>{table}</div>"
        )


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _lines(parts: Iterable[str]) -> str:
    return "\n".join(filter(None, parts))


def _badge(verdict: Verdict) -> str:
    return f'<span class="verdict {_CLASSES[verdict]}">{_MARKS[verdict]} {verdict.value}</span>'


def _numbers(measured: Sequence[Measurement]) -> str:
    """Return the numbers behind a verdict; if they are many, they open on demand."""
    if not measured:
        return ""
    rows = _lines(f'<tr><td>{escape(one.what)}</td><td class="number">{escape(str(one))}</td></tr>' for one in measured)
    table = f'<div class="scroll"><table><tbody>\n{rows}\n</tbody></table></div>'
    if len(measured) <= _FEW:
        return table
    return f"<details><summary>The {len(measured)} numbers</summary>\n{table}\n</details>"


def _table(table: FigureTable) -> str:
    """Return a table whose columns, except the first, hold numbers.

    Each number has the name of its column, for screens too narrow for columns.
    """
    first, *names = map(escape, table.head)
    head = f'<th scope="col">{first}</th>' + "".join(f'<th scope="col" class="number">{name}</th>' for name in names)
    body = []
    for label, *cells in table.rows:
        numbers = zip(names, map(escape, cells), strict=True)
        shown = "".join(f'<td class="number" data-label="{name}">{cell}</td>' for name, cell in numbers)
        body.append(f"<tr><td>{escape(label)}</td>{shown}</tr>")
    rows = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{_lines(body)}\n</tbody>"
    return f'<div class="scroll"><table class="wide">\n{rows}\n</table></div>\n<p>{escape(table.note)}</p>'


def _slug(title: str) -> str:
    return title.lower().replace(" ", "-")
