"""A result as notebooks show it: one block of HTML that needs nothing else, in the colours of the page around it."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Final

from boxthirding._text import counted, sentence, writer
from boxthirding.figures.session_plots import Point
from boxthirding.figures.svg import answer_curve
from boxthirding.find.summary import Summary
from boxthirding.session import Lineage, Recommendation, Rung
from boxthirding.session.values import Step, folded
from boxthirding.types import Label

_LAST: Final = 6  # steps of the climb that are shown
_OUTCOMES: Final = {
    "lifted": "first of three, lifted",
    "shifted": "second of three, stays and waits",
    "discarded": "third of three, dropped from the boxes",
}
_STYLE: Final = """
.b3-found{max-width:46em;font-size:14px;line-height:1.5;color:inherit;overflow-wrap:anywhere}
.b3-found .b3-best{font-size:1.35em;font-weight:600;line-height:1.3;margin:.1em 0}
.b3-found .b3-soft{opacity:.75}
.b3-found .b3-parts{display:flex;flex-wrap:wrap;gap:.6em 2em;margin:.7em 0}
.b3-found .b3-parts>div{flex:1 1 19em;min-width:0}
.b3-found .b3-title{font-weight:600;margin-bottom:.2em}
.b3-found table.b3-top{border-collapse:collapse;width:100%;margin:.7em 0;border:0;color:inherit;
background:none;font-size:1em}
.b3-found .b3-top th,.b3-found .b3-top td{text-align:left;vertical-align:top;padding:.15em .6em .15em 0;border:0;
background:none;color:inherit;max-width:none;white-space:normal}
.b3-found .b3-top tr{background:none;border:0;border-bottom:1px solid rgba(128,128,128,.25)}
.b3-found .b3-top .b3-n{text-align:right;font-variant-numeric:tabular-nums;padding-right:0;padding-left:.6em;
white-space:nowrap}
.b3-found .b3-ladder .b3-n{padding:.15em .8em .15em 0}
.b3-found .b3-first{font-weight:600}
.b3-found .b3-ladder .b3-soft{font-weight:400}
.b3-found svg{width:100%;max-width:420px;height:auto;display:block}
.b3-found svg text{fill:currentColor;opacity:.75;font:11px sans-serif}
.b3-found .b3-line{fill:none;stroke:#3b8eea;stroke-width:2}
.b3-found .b3-dot{fill:#3b8eea}
.b3-found .b3-now{fill:#e8833a}
.b3-found .b3-grid{stroke:currentColor;opacity:.18}
.b3-found ol.b3-climb{list-style:none;margin:0;padding:0}
.b3-found .b3-climb li{margin:.15em 0;padding-left:4.6em;position:relative}
.b3-found .b3-level{position:absolute;left:0;font-size:.8em;padding:0 .5em;border-radius:.7em;
background:rgba(59,142,234,.2);margin-top:.2em}
"""


def page(sentences: Summary, path: str, answers: Sequence[Point], account: Sequence[str]) -> str:
    """Return a result as HTML: the answer, how far to trust it, the runners-up, the curve, the climb, what it took.

    `path` is the climb or the ladder, as HTML.
    """
    pictures = [f'<div class="b3-title">The answer over time</div>{answer_curve(answers)}', path]
    parts = [
        f'<div class="b3-soft">The best arm</div><div class="b3-best">{escape(sentences.arm)}</div>',
        f"<div>{escape(sentences.mean)}</div>",
        f"<div>{escape(sentences.trust)} {escape(sentences.advice)}</div>",
        _table(sentences),
        f'<div class="b3-parts">{"".join(f"<div>{picture}</div>" for picture in pictures if picture)}</div>',
        _notes([sentences.screening, *account]),
    ]
    return f'<div class="b3-found"><style>{_STYLE}</style>{"".join(parts)}</div>'


def nothing(account: Sequence[str]) -> str:
    """Return the block for a run without a result."""
    head = '<div class="b3-best">Nothing found: no evaluation gave a result</div>'
    return f'<div class="b3-found"><style>{_STYLE}</style>{head}{_notes(account)}</div>'


def _table(sentences: Summary) -> str:
    cells = "".join(
        f'<tr><td>{escape(name)}</td><td class="b3-n">{mean}</td><td class="b3-n">{pulls:,}</td></tr>'
        for name, mean, pulls in sentences.table
    )
    head = '<tr><th>arm</th><th class="b3-n">mean</th><th class="b3-n">pulls</th></tr>'
    return f'<table class="b3-top">{head}{cells}</table>{_notes([sentences.order.removesuffix(".")])}'


def climb(story: Lineage, best: Recommendation, unit: str = "pull") -> str:
    """Return the path of the winner through the levels, or an empty text if the policy has none.

    `unit` is the page's word for a pull.
    """
    met = [place for place, step in enumerate(story.steps) if step.rivals]
    if not met:
        return ""
    steps = story.steps[met[0] :]
    left_out = len(steps) - _LAST
    shown = steps[-_LAST:]
    means = [mean for step in shown if step.rivals for mean in (step.mean, *(rival.mean for rival in step.rivals))]
    write = writer([best.mean, *means])
    rows = [f'<li class="b3-soft">{counted(left_out, "step")} before</li>'] if left_out > 0 else []
    rows += [f'<li><span class="b3-level">level {step.level}</span>{escape(_told(step, write))}</li>' for step in shown]
    now = f"{write(best.mean)} over {counted(best.pulls, unit)}"
    rows.append(f'<li><span class="b3-level">now</span>{now}; {escape(story.place)}</li>')
    return f'<div class="b3-title">Its climb</div><ol class="b3-climb">{"".join(rows)}</ol>'


def ladder(
    rungs: Sequence[Rung],
    names: Mapping[Label, str],
    write: Callable[[float], str],
    *,
    is_final: bool,
    unit: str = "pull",
) -> str:
    """Return a table of how many arms have how many pulls, those with the most on top, and the best of each rung.

    `is_final` is whether every arm has been tried, and `unit` the page's word for a pull.
    """
    rows = []
    for rung in reversed(folded(rungs)):
        pulls = f"{rung.fewest:,}" if rung.fewest == rung.most else f"{rung.fewest:,}–{rung.most:,}"
        best, first = "", ""
        for arm in rung.arms[:1]:
            said = write(arm.mean) + (", the leader" if arm.standing == "leads" else "")
            if rung.keep_up:
                said += f"; {rung.keep_up:,} of these arms {'keeps' if rung.keep_up == 1 else 'keep'} up"
            first = ' class="b3-first"' if arm.standing == "leads" else ""
            name = f'<span translate="no">{escape(names[arm.label])}</span>'
            best = f'{name} <span class="b3-soft">{said}</span>'
        rows.append(f'<tr{first}><td class="b3-n">{pulls}</td><td class="b3-n">{rung.size:,}</td><td>{best}</td></tr>')
    number = '<th scope="col" class="b3-n">'
    head = f'{number}{unit}s</th>{number}arms</th><th scope="col">the best of them</th>'
    table = f'<table class="b3-top b3-ladder"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return f"<div>{_rule(rungs, unit, is_final=is_final)}</div>{table}"


def _rule(rungs: Sequence[Rung], unit: str, *, is_final: bool) -> str:
    """Describe what makes arms climb."""
    higher = f"The higher an arm stands, the more {unit}s it has."
    if any(rung.keep_up is None for rung in rungs):
        return higher
    did = "rated" if unit == "rating" else "pulled"
    if is_final:
        could = f"those that could still be the best are {did} in turn"
        return f"{higher} Every arm has been tried, so all are in the final: {could}."
    return (
        f"A new arm is {did} once. While an arm keeps up with the leader, it is {did} more and climbs; the others stay "
        "where they are. The best also meet in a final, so an arm that does not keep up may climb too."
    )


def _told(step: Step, write: Callable[[float], str]) -> str:
    """Describe what happened to an arm in a box of three, or when the arms left below were introduced again."""
    if not step.rivals:
        return "introduced again"
    rivals = " and ".join(write(rival.mean) for rival in step.rivals)
    return f"{write(step.mean)} against {rivals}: {_OUTCOMES.get(step.outcome, step.outcome)}"


def _notes(lines: Sequence[str]) -> str:
    return "".join(f'<div class="b3-soft">{escape(sentence(line))}</div>' for line in lines if line)
