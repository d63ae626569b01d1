"""A study as one page to hand on: the answer, how it came about, how it was collected, and what may be believed."""

import base64
import math
from collections.abc import Callable, Sequence
from html import escape
from importlib import resources
from importlib.metadata import version
from typing import Any, Final, NamedTuple

from boxthirding._text import apart, as_date, counted, cut, sentence, visible
from boxthirding.figures.svg import answer_curve, bars, line, whisker
from boxthirding.find.intervals import ScoreNoise
from boxthirding.find.notebook import climb, ladder
from boxthirding.find.summary import Certainty, certainty, explain_order, may_be_as_good
from boxthirding.session import Moment, Recommendation, View
from boxthirding.session.protocol import points
from boxthirding.study import Entry, Study
from boxthirding.study.events import Told
from boxthirding.study.pace import Pace
from boxthirding.study.settings import ABOUT, scale_of
from boxthirding.types import Label

Picture = Callable[[str], tuple[str, bytes] | None]  # what returns the kind and the bytes of a picture by its id

_LONGEST: Final = 300  # letters of an arm in the list
_NAME: Final = 60  # letters of an arm in a sentence
_UNIT: Final = "rating"  # what the page calls a pull
_PARTS: Final = 200  # of the range of means on a page: what is finer is noise
_DECIMALS, _MOST_DECIMALS = 3, 8  # of equal means, and of any
_SMALL: Final = 500_000  # bytes of a picture in the list, which has ten of them
_STATUS: Final = {"open": "running"}  # as the dashboard says it


_BOXES: Final = "Three arms meet in a box. The best is lifted and rated more, the middle waits, the worst is dropped."


class _Collected(NamedTuple):
    """How the results came in."""

    pace: Pace
    holders: int
    first: float | None
    last: float | None


class _Arms:
    """What arms are, as people were shown them."""

    def __init__(self, study: Study, picture: Picture) -> None:
        self._study, self._picture = study, picture

    def text(self, label: Label) -> str:
        payload = self._study.payload(label)
        text = payload.get("text") if isinstance(payload, dict) else None
        return visible(text if isinstance(text, str) and text else label)

    def columns(self, label: Label) -> str:
        """Return what the file of arms has beside the name of an arm, in words; empty, if that is nothing."""
        payload = self._study.payload(label)
        row = payload if isinstance(payload, dict) else {}
        told = {name: value for name, value in row.items() if isinstance(value, str | int | float) and value != label}
        words = (f"{name} {value}" for name, value in told.items() if name not in ("text", "picture") and value != "")
        return cut(visible(", ".join(words)), _LONGEST)

    def image(self, label: Label, largest: int | None = None) -> str:
        """Return the picture of an arm, in the page itself; empty, if it has none, or one of more bytes."""
        payload = self._study.payload(label)
        key = payload.get("picture") if isinstance(payload, dict) else None
        found = self._picture(key) if isinstance(key, str) else None
        if found is None or (largest is not None and len(found[1]) > largest):
            return ""
        kind, data = found
        source = f"data:{kind};base64,{base64.b64encode(data).decode()}"
        return f'<img src="{source}" alt="{escape(cut(self.text(label), _LONGEST))}">'


def study_page(study: Study, picture: Picture = lambda _: None) -> str:
    """Return a study as HTML that needs no other file and no network.

    Parameters
    ----------
    study : Study
        The study; only read.
    picture : callable, optional
        Returns the kind and bytes of an arm's picture by its id, or None. Default: no pictures.

    """
    view, history, collected, said = study.view(), study.history(), _collected(study), study.details.get(ABOUT)
    about = said if isinstance(said, dict) else {}  # what raters were shown, if a server collected the results
    arms = _Arms(study, picture)
    noise = ScoreNoise(study.spread(arm.label for arm in view.top), [*scale_of(study.details).values()])
    told = certainty(view, noise, [arms.text(arm.label) for arm in view.top])
    best = view.recommendation
    parts = [_head(view, about)]
    if best is None:
        parts.append("<p>No result yet, so there is no answer.</p>")
    else:
        parts += [
            _answer(best, arms, "" if about else arms.columns(best.label), _measured(view, best, noise), told),
            _top(view, arms, noise),
            _part("How it got there", _climbed(study, best))
            if study.has_boxes
            else _part("The ladder", _ladder(study, arms, view, noise)),
            _part("The curves", _curves(view.pulls, history, collected)),
        ]
    facts = _facts(view, collected, about, arms)
    cells = "".join(f"<tr><th scope=row>{escape(name)}</th><td>{value}</td></tr>" for name, value in facts)
    parts.append(_part("How it was collected", f"<table class=facts>{cells}</table>"))
    if best is not None:
        items = "".join(f"<li>{escape(text)}</li>" for text in _believed(view, noise, told))
        parts.append(_part("What may be believed", f"<ul>{items}</ul>"))
    parts.append(f'<footer class="soft">Made with boxthirding {_kept(version("boxthirding"))}.</footer>')
    title = escape(about.get("question") or f"Study {view.name}")
    style, script = _file("report.css"), f"{_file('numbers.js')}{_file('report_locale.js')}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{title}</title><style>{style}</style></head>'
        f'<body><main>{"".join(parts)}</main><script type="module">{script}</script></body></html>\n'
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _kept(text: str) -> str:
    """Return what people wrote: its numbers stay as they are."""
    return f'<span translate="no">{escape(text)}</span>'


def _collected(study: Study) -> _Collected:
    pace, holders = Pace(), set[str | None]()
    owner: dict[int, str] = {}
    first = last = None
    for entry in study.events(damaged=True):
        event = entry.event if isinstance(entry, Entry) else None
        if event is None:
            continue
        pace.add(event)
        for ticket in getattr(event, "tickets", ()):
            owner[ticket[0] if isinstance(ticket, tuple) else ticket] = getattr(event, "holder", "")
        if isinstance(event, Told):
            holders.add(event.holder or owner.pop(event.ticket, None))
            first = event.at if first is None else min(first, event.at)
            last = event.at if last is None else max(last, event.at)
    return _Collected(pace, len(holders), first, last)


def _head(view: View, about: dict[str, Any]) -> str:
    status = _STATUS.get(view.status, view.status)
    name = f'<p class="soft">Study {_kept(visible(view.name))}, {status}</p>'
    return f"<header><h1>{_kept(about.get('question') or visible(view.name))}</h1>{name}</header>"


def _answer(best: Recommendation, arms: _Arms, columns: str, mean: str, told: Certainty) -> str:
    """Return the answer; columns of a contest, which raters did not see, are not handed on."""
    clear = " clear" if told.is_clear else ""
    row = f'<p class="soft">{_kept(columns)}</p>' if columns else ""
    return (
        f'<section class="best"><h2>The answer</h2>{arms.image(best.label)}'
        f'<p class="winner">{_kept(arms.text(best.label))}</p>{row}'
        f"<p>{mean}</p>"
        f'<p class="belief{clear}">{escape(told.words)}</p></section>'
    )


def _measured(view: View, best: Recommendation, noise: ScoreNoise) -> str:
    written, span = _writer(view, noise), noise.of(best)
    interval = "" if span is None else f", 95 % interval {written(span[0])} to {written(span[1])}"
    return f"Mean {written(best.mean)} over {counted(best.pulls, 'rating')}{interval}."


def _writer(view: View, noise: ScoreNoise) -> Callable[[float], str]:
    """Return what writes means with as many decimals as tell those of this page apart."""
    spans = [noise.of(arm) or (arm.mean, arm.mean) for arm in view.top]
    wide = max(high for _, high in spans) - min(low for low, _ in spans)
    decimals = min(_MOST_DECIMALS, max(0, math.ceil(-math.log10(wide / _PARTS)))) if 0 < wide < math.inf else _DECIMALS
    return lambda value: f"{value:.{decimals}f}"


def _top(view: View, arms: _Arms, noise: ScoreNoise) -> str:
    found = [(arm, noise.of(arm)) for arm in view.top]
    spans = [end for _, span in found if span is not None for end in span]
    shared = (min(spans), max(spans)) if spans else (0.0, 1.0)
    written = _writer(view, noise)
    has_levels = any(arm.level is not None for arm in view.top)
    texts = apart((arms.text(arm.label) for arm in view.top), _LONGEST)
    rows = []
    for place, (arm, span) in enumerate(found, 1):
        close = '<span class="soft"> may be as good</span>' if place > 1 and may_be_as_good(view, noise, arm) else ""
        picture = "" if span is None else whisker(arm.mean, *span, shared)
        words = "–" if span is None else f"{written(span[0])} to {written(span[1])}"
        level = f'<td class="n">{"" if arm.level is None else arm.level}</td>' if has_levels else ""
        rows.append(
            f'<tr{" class=first" if place == 1 else ""}><td class="n">{place}</td>'
            f"<td>{arms.image(arm.label, _SMALL)}{_kept(texts[arms.text(arm.label)])}{close}</td>"
            f'<td class="n">{written(arm.mean)}</td><td class="span">{picture}<span class="soft">{words}</span></td>'
            f'<td class="n">{arm.pulls:,}</td>{level}</tr>'
        )
    head = "".join(
        f'<th scope="col"{" class=n" if name in _NUMBERS else ""}>{name}</th>'
        for name in ("no.", "arm", "mean", "95 % interval", "ratings", *(["level"] if has_levels else []))
    )
    table = f"<table class=top><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    title = f"The best {len(found)} of {counted(view.tried, 'arm')} tried"
    if len(found) == view.tried:
        title = "The only arm tried" if view.tried == 1 else f"All {view.tried} arms tried, the best first"
    order = explain_order(view.top, view.direction, _UNIT)
    why = f'<p class="soft">{order}</p>' if order else ""
    return _part(title, f'{why}<div class="wide">{table}</div>')


_NUMBERS: Final = ("no.", "mean", "ratings", "level")


def _climbed(study: Study, best: Recommendation) -> str:
    story = study.why(best.label)
    said = climb(story, best, _UNIT)
    if not said:
        return "<p>It has met no other arm in a box yet.</p>"
    return f"<p>{_BOXES}</p>{said}"


def _ladder(study: Study, arms: _Arms, view: View, noise: ScoreNoise) -> str:
    rungs = study.ladder(count=1)
    texts = {arm.label: arms.text(arm.label) for rung in rungs for arm in rung.arms}
    short = apart(texts.values(), _LONGEST)
    names = {label: short[text] for label, text in texts.items()}
    return ladder(rungs, names, _writer(view, noise), is_final=view.untried == 0, unit=_UNIT)


def _curves(pulls: int, history: Sequence[Moment], collected: _Collected) -> str:
    now = history[-1]
    across = "ratings" if now.results == pulls else "ratings, with those that do not count"
    tried: list[tuple[float, float]] = [(0, 0), *((moment.results, moment.tried) for moment in history)]
    figures = [
        ("The mean of the answer", answer_curve(points(history), _UNIT)),
        ("Arms tried", line(tried, f"{counted(now.tried, 'arm')} tried with {counted(pulls, 'rating')}", across)),
    ]
    start, minutes, counts = collected.pace.bars()
    if counts:
        each = "minute" if minutes == 1 else f"{minutes} minutes" if minutes < _HOUR else f"{minutes // _HOUR} hours"
        form = "day" if minutes * len(counts) > _DAYS else "time"
        moments = [start + 60 * minutes * place for place in range(len(counts))]
        rows = [(_clock(at, form), n) for at, n in zip(moments, counts, strict=True)]
        marks = [_marks(at, form) for at in moments]
        picture = bars(rows, f"Ratings per {each}", f"ratings per {each}, UTC", marks)
        figures.append(("Ratings over time", picture))
    edges, counts = collected.pace.times()
    if counts:
        rows = [(f"{edge:g}", n) for edge, n in zip(edges, counts, strict=True)]
        rows[-1] = (f"{edges[-1]:g}+", counts[-1])
        picture = bars(rows, "Ratings by the seconds they took", "seconds at the start of each bar")
        figures.append(("Response times", picture))
    return (
        '<div class="figures">'
        + "".join(f"<figure><figcaption>{title}</figcaption>{picture}</figure>" for title, picture in figures)
        + "</div>"
    )


_HOUR: Final = 60
_DAYS: Final = 2 * 24 * 60  # minutes, from which on bars have dates


_FORMS: Final = {"date": "%-d %B %Y, %H:%M", "day": "%-d %b", "time": "%H:%M"}  # as report_locale.js has them


def _clock(at: float, form: str) -> str:
    return as_date(at).strftime(_FORMS[form])


def _marks(at: float, form: str) -> str:
    """Return the attributes by which the page's script finds a moment."""
    return f'data-form="{form}" data-at="{as_date(at).timestamp():.0f}"'


def _date(at: float) -> str:
    return f"<time {_marks(at, 'date')}>{_clock(at, 'date')} UTC</time>"


def _period(collected: _Collected) -> str:
    """Return when the first and the last result came; empty, if there is none."""
    if collected.first is None or collected.last is None:
        return ""
    return f"{_date(collected.first)} to {_date(collected.last)}"


def _valued(label: str, reward: str) -> str:
    """Return an answer with its reward, unless its label is that."""
    return _kept(label) if label == reward else f"{_kept(label)} ({reward})"


def _facts(view: View, collected: _Collected, about: dict[str, Any], arms: _Arms) -> list[tuple[str, str]]:
    """Return how the results were collected, a name and a value each, as HTML."""
    scale = ", ".join(_valued(label, f"{reward:g}") for label, reward in scale_of({ABOUT: about}).items())
    given, tried = "as many as an iterator gave", view.tried
    if view.arms is not None and view.untried is not None:
        given, tried = f"{view.arms:,}", view.arms - view.untried
    rows = [
        ("Question", _kept(about["question"]) if about.get("question") else ""),
        ("Scale", scale),
        ("Arms", f"{given}; {tried:,} tried" + (f"; {view.withdrawn:,} more withdrawn" if view.withdrawn else "")),
        ("Results that count", f"{view.pulls:,}" + (f" of {view.spent:,} told" if view.spent != view.pulls else "")),
        ("Raters and workers", f"{collected.holders:,}"),
        ("Excluded", ", ".join(_kept(visible(holder)) for holder in view.excluded)),
        ("Outliers", _outliers(view, arms)),
        ("First and last result", _period(collected)),
        (
            "Response time",
            "" if (half := collected.pace.median_seconds()) is None else f"half under {half:.2g} seconds",
        ),
        ("Better is", "larger" if view.direction == "maximize" else "smaller"),
        ("Policy", _kept(f"{view.policy}, seed {view.seed}")),
    ]
    return [(name, value) for name, value in rows if value]


def _outliers(view: View, arms: _Arms) -> str:
    """Return the number of outliers, and the latest ones."""
    if not view.n_outliers:
        return ""
    texts = apart((arms.text(row.label) for row in view.outliers), _NAME)
    rows = [f"{_kept(texts[arms.text(row.label)])} {row.reward:.6g}" for row in reversed(view.outliers)]
    dots = ", …" if view.n_outliers > len(rows) else ""
    return f"{counted(view.n_outliers, 'outlier')} excluded: {', '.join(rows)}{dots}"


def _believed(view: View, noise: ScoreNoise, told: Certainty) -> list[str]:
    """Return what the answer can bear, a sentence each."""
    lines = [told.words]
    if not noise.is_none:
        lines.append(
            "Winners look better than they are: an arm that is best by luck is chosen more often than one that is not. "
            "Expect a fresh measurement of the answer to be somewhat worse than its mean here."
        )
    if noise.is_known and not noise.is_none:
        lines.append("The intervals say how far noise may have moved each mean; they know nothing of that selection.")
    if view.screening is None:
        lines.append("Known results put some arms first, so the chance that a good arm was tried is not exact.")
    else:
        lines.append(sentence(view.screening))
    if view.excluded:
        lines.append(f"Results of {counted(len(view.excluded), 'rater')} were left out by hand.")
    if view.status != "finished":
        lines.append("The study was still running when this page was made.")
    return lines


def _part(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"
