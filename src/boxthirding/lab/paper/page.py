"""The page: one HTML file with everything in it, readable without a network, on a phone and in the dark."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib import resources
from string import Template
from typing import Final

from boxthirding.lab.paper.claims import Claim, Finding, Measurement, Verdict
from boxthirding.lab.paper.figures import BESIDE, Picture
from boxthirding.lab.paper.figures.picture import Reading

_CLASSES: Final = {Verdict.HOLDS: "holds", Verdict.IN_PART: "in-part", Verdict.FAILS: "fails", Verdict.TOO_FEW: "soft"}
_MARKS: Final = {
    Verdict.HOLDS: "✓",
    Verdict.IN_PART: "◐",
    Verdict.FAILS: "✗",
    Verdict.TOO_FEW: "?",
}  # no colours needed
_FEW = 8  # numbers that are shown without being asked for


@dataclass(frozen=True)
class Page:
    """All that stands on the page."""

    instance: str
    scale: str
    findings: Sequence[tuple[Claim, Finding]]
    sections: Mapping[str, Sequence[Picture]]
    drawn: Mapping[str, bytes]
    """Each picture as SVG, by its key."""
    command: str
    made: Mapping[str, str]
    """Versions and numbers that decide what is on the page."""

    def html(self) -> str:
        """Return the page as text."""
        template = Template(_resource("page.html"))
        return template.substitute(
            style=_resource("page.css").strip(),
            counts="\n".join(filter(None, map(self._count, Verdict))),
            contents=self._contents(),
            instance=escape(self.instance),
            scale=escape(self.scale),
            glance="\n".join(_glance(claim, finding) for claim, finding in self.findings),
            claims="\n".join(self._claim(claim, finding) for claim, finding in self.findings),
            figures="\n".join(self._section(title, pictures) for title, pictures in self._left.items()),
            command=escape(self.command),
            made="\n".join(_row(["th", "td"], pair) for pair in self.made.items()),
        )

    def _count(self, verdict: Verdict) -> str:
        number = sum(finding.verdict is verdict for _, finding in self.findings)
        if verdict is Verdict.TOO_FEW and not number:
            return ""
        words = f"claim {verdict.value}" if number == 1 else f"claims {verdict.of_many}"
        return f'<li class="{_CLASSES[verdict]}"><strong>{number}</strong>{_MARKS[verdict]} {words}</li>'

    @cached_property
    def _pictures(self) -> dict[str, Picture]:
        return {one.key: one for pictures in self.sections.values() for one in pictures}

    @cached_property
    def _placed(self) -> dict[str, str]:
        """By figure, the claim that it stands beside: the first that it decides."""
        placed: dict[str, str] = {}
        for claim, _ in self.findings:
            for key in BESIDE.get(claim.key, ()):
                if key in self._pictures:
                    placed.setdefault(key, claim.key)
        return placed

    @cached_property
    def _left(self) -> dict[str, list[Picture]]:
        """What decides no claim, under its headings."""
        left = {
            title: [one for one in pictures if one.key not in self._placed] for title, pictures in self.sections.items()
        }
        return {title: pictures for title, pictures in left.items() if pictures}

    def _contents(self) -> str:
        claims = "\n".join(
            f'<li><a href="#{claim.key}"><span class="{_CLASSES[finding.verdict]}">{_MARKS[finding.verdict]}</span> '
            f"{escape(claim.title)}</a></li>"
            for claim, finding in self.findings
        )
        links = {"verdicts": "At a glance", "words": "Words"} | {_slug(title): title for title in self._left}
        links |= {"claims": "Claim by claim", "again": "Make it again"}
        items = [
            f'<li><a href="#{key}">{escape(title)}</a>'
            + (f"\n<ol>\n{claims}\n</ol>" if key == "claims" else "")
            + "</li>"
            for key, title in links.items()
        ]
        return "<ul>\n" + "\n".join(items) + "\n</ul>"

    def _claim(self, claim: Claim, finding: Finding) -> str:
        lines = [
            f'<article id="{claim.key}">',
            f"<h3>{escape(claim.title)}: {_badge(finding.verdict)}</h3>",
            f'<p><span class="label">The paper says</span> ({escape(claim.where)}): {escape(claim.says)}</p>',
            f'<p><span class="label">Measured:</span> {escape(finding.reason)}</p>',
            f'<p><span class="label">How it is decided:</span> {escape(claim.rule)}</p>',
            _numbers(finding.measured),
            self._beside(claim),
            "</article>",
        ]
        return "\n".join(filter(None, lines))

    def _beside(self, claim: Claim) -> str:
        """Return the figures that decide a claim, and links to those that stand beside an earlier one."""
        keys = [key for key in BESIDE.get(claim.key, ()) if key in self._pictures]
        ours = [self._pictures[key] for key in keys if self._placed[key] == claim.key]
        others = [self._pictures[key] for key in keys if self._placed[key] != claim.key]
        figures = "\n".join(map(self._drawn, ours))
        links = ", ".join(f'<a href="#{one.key}">{escape(one.title)}</a>' for one in others)
        return "\n".join(
            filter(
                None,
                [
                    f'<div class="figures">\n{figures}\n</div>' if figures else "",
                    f'<p><span class="label">Figures above:</span> {links}</p>' if links else "",
                ],
            )
        )

    def _drawn(self, picture: Picture) -> str:
        table = f"\n{_table(picture.table)}" if picture.table else ""
        return f'<div class="drawn">{_figure(picture, self.drawn[picture.key])}{table}</div>'

    def _section(self, title: str, pictures: Sequence[Picture]) -> str:
        figures = "\n".join(map(self._drawn, pictures))
        return f'<section id="{_slug(title)}">\n<h2>{escape(title)}</h2>\n{figures}\n</section>'


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _badge(verdict: Verdict) -> str:
    return f'<span class="verdict {_CLASSES[verdict]}">{_MARKS[verdict]} {verdict.value}</span>'


def _glance(claim: Claim, finding: Finding) -> str:
    return f'<tr><td><a href="#{claim.key}">{escape(claim.title)}</a></td><td>{_badge(finding.verdict)}</td></tr>'


def _numbers(measured: Sequence[Measurement]) -> str:
    """Return the numbers behind a verdict; many of them open on demand."""
    if not measured:
        return ""
    rows = "\n".join(_row(["td", "number"], (one.what, str(one))) for one in measured)
    table = f'<div class="scroll"><table><tbody>\n{rows}\n</tbody></table></div>'
    if len(measured) <= _FEW:
        return table
    return f"<details><summary>The {len(measured)} numbers</summary>\n{table}\n</details>"


def _figure(picture: Picture, svg: bytes) -> str:
    data = base64.b64encode(svg).decode("ascii")
    return (
        f'<figure id="{picture.key}"><img alt="{escape(picture.title)}" src="data:image/svg+xml;base64,{data}">\n'
        f"<figcaption><strong>{escape(picture.title)}.</strong> {escape(picture.caption)}</figcaption></figure>"
    )


def _table(table: Reading) -> str:
    """Return a table; all columns but the first hold numbers."""
    numbers = len(table.head) - 1
    head = _row(["head", *["head number"] * numbers], table.head)
    body = "\n".join(_labelled_row(table.head, row) for row in table.rows)
    rows = f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>"
    return f'<div class="scroll"><table class="wide">\n{rows}\n</table></div>\n<p>{escape(table.note)}</p>'


def _labelled_row(head: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row whose numbers know the names of their columns, for pages too narrow for columns."""
    labelled = zip(head[1:], cells[1:], strict=True)
    numbers = "".join(f'<td class="number" data-label="{escape(name)}">{escape(cell)}</td>' for name, cell in labelled)
    return f"<tr><td>{escape(cells[0])}</td>{numbers}</tr>"


def _row(kinds: Sequence[str], cells: Iterable[str]) -> str:
    """Return a row of a table; a kind is a tag, or a class of cells."""
    opened = {
        "td": ("<td>", "</td>"),
        "th": ('<th scope="row">', "</th>"),
        "head": ('<th scope="col">', "</th>"),
        "head number": ('<th scope="col" class="number">', "</th>"),
        "number": ('<td class="number">', "</td>"),
    }
    inner = "".join(
        f"{opened[kind][0]}{escape(cell)}{opened[kind][1]}" for kind, cell in zip(kinds, cells, strict=True)
    )
    return f"<tr>{inner}</tr>"


def _slug(title: str) -> str:
    return title.lower().replace(" ", "-")
