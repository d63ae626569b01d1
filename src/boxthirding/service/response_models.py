"""The models of JSON replies, for the OpenAPI description alone: routes return ready responses, which nothing checks.

What a reply takes over from the library is described by the library's own types.
"""

from collections.abc import Collection
from typing import Any, Final, get_type_hints

from pydantic import create_model

from boxthirding.planning.answers import Known
from boxthirding.policies.lineage import BoxSize
from boxthirding.service.keys import Key
from boxthirding.service.links import Link
from boxthirding.service.studies import About
from boxthirding.session import values
from boxthirding.study import pace
from boxthirding.types import Label


def _model(name: str, kind: type | None = None, optional: Collection[str] = (), /, **fields: Any) -> Any:
    """Return the model of an object with the fields of a type and some more; optional ones may be missing."""
    hints: dict[str, Any] = {} if kind is None else get_type_hints(kind)
    definitions: Any = {field: (hint, None if field in optional else ...) for field, hint in (hints | fields).items()}
    return create_model(name, **definitions)


def _rows(name: str, kind: type | None = None, optional: Collection[str] = (), /, **fields: Any) -> Any:
    """Return the type of a list of such objects."""
    return _list(_model(name, kind, optional, **fields))


def _page(name: str, row: Any, **more: Any) -> Any:
    """Return the model of a page: its rows, and where the next page begins."""
    return _model(f"{name.title()}Page", **{name: _list(row)}, **more, next=int | None)


def _list(model: Any) -> Any:
    kind: Any = list
    return kind[model]


_Best = _model("Best", values.Recommendation)

_LOOK: Final = {"text": str, "picture": str | None}
_BY_KEY: Final = {"key": str, **_LOOK}  # in brief replies, in the place of the label
_OR_KEY: Final = ("label", *_BY_KEY)
_CARD: Final = {**_BY_KEY, "mean": float | None, "pulls": int}
_NAMED_CARD: Final = {**_CARD, "name": str}
_GLANCE: Final = {**get_type_hints(values.Glance), "recommendation": _Best | None}

_NOT_ALWAYS: Final = ("advice", "error", "python", "reason", "transient", "unsure", "errors")
_TEXTS: Final = dict.fromkeys(("type", "title", "detail", "advice", "error", "python", "reason"), str)
_PROBLEM: Final = {**_TEXTS, "status": int, "transient": bool, "unsure": bool, "errors": list[dict[str, str]]}
Problem = _model("Problem", None, _NOT_ALWAYS, **_PROBLEM)

# Studies

_VIEW: Final = {
    **get_type_hints(values.View),
    "outliers": _rows("Outlier", values.Outlier, _OR_KEY, **_BY_KEY),
    "recommendation": _Best | None,
    "top": _list(_Best),
    "boxes": _rows("BoxSize", BoxSize),
    "version": int,
    "n_holders": int,
    "n_raters": int,
}
_STUDY: Final = {**_VIEW, "examples": int | None, "lease": float | None, "patience": int, "seq": int, "about": About}
_ROW: Final = {**_VIEW, "question": str, "leads": _model("Card", **_CARD) | None, "error": str | None}
_BRIEF: Final = (  # not in brief replies, or only there
    *("version", "seed", "queued", "holders", "excluded", "recommendation", "top", "boxes", "screening"),
    *("examples", "lease", "patience", "n_holders", "n_raters"),
)

Study = _model("Study", None, _BRIEF, **_STUDY)
Studies = _page("studies", _model("StudyRow", None, {*_ROW} - {"name", "status", "error"}, **_ROW))
Glance = _model("Glance", **_GLANCE)
Examples = _model("Examples", order=list[int], **_GLANCE)
Sheet = _model("Sheet", columns=list[str], label=str, n_rows=int, rows=list[list[str]])

_FIGURES: Final = {
    "budget": int,
    **dict.fromkeys(("regret", "regret_low", "regret_high", "rank", "percentile"), float),
    **dict.fromkeys(("top1_chance", "arms_tried", "winner_pulls", "ratio"), float),
}
_WISH: Final = {
    "want": str,
    **dict.fromkeys(("chance", "chance_low", "chance_high"), float),
    **dict.fromkeys(("budget_low", "budget_high"), int | None),
}
_PLANNED: Final = _rows("PlanRow", **_FIGURES, percentile_9_of_10=float)
_GRANTED: Final = _rows("Granted", **_FIGURES, **_WISH)
Plan = _model("Plan", arms=int, known=Known, rows=_PLANNED, granted=_GRANTED, notes=list[str])

# Arms

_STEP: Final = {"rivals": _rows("StepRival", values.Rival, _OR_KEY, **_BY_KEY)}
_ARM: Final = {**_BY_KEY, "skipped": int | None}
_STORY: Final = {**_ARM, "steps": _rows("Step", values.Step, **_STEP), "payload": Any, "story": str}

Top = _page("top", _Best)
Boxes = _page("boxes", _model("Box", values.Box, arms=_rows("Rival", values.Rival)))
Ladder = _page("ladder", _model("Rung", values.Rung, arms=_rows("Climber", values.Climber)))
Spread = _model(
    "Spread", values.Spread, answers=list[float] | None, arms=_rows("ArmMoments", values.Moments, label=Label)
)
Difficulties = _page("difficulties", _model("Difficulty", values.Difficulty))
Screening = _model("ScreeningOfStudy", screening=values.Screening | None)
Arms = _model("ArmsPage", None, ("next",), arms=_rows("Arm", values.ArmSummary, _OR_KEY, **_ARM), next=int | None)
Arm = _model("ArmStory", values.Lineage, (*_OR_KEY, "payload", "story"), **_STORY)
ArmsAdded = _model("ArmsAdded", added=int, arms=int | None, **_GLANCE)
ArmWithdrawn = _model("ArmWithdrawn", withdrawn=Label, arms=int | None, **_GLANCE)
ArmResults = _page("results", _model("ArmResult", values.ArmResult, answer=str | None))

# What the page of a study draws

_CARDS: Final = _rows("NamedCard", **_NAMED_CARD)
_BOX: Final = {"deferment": int, "size": int, "arms": _CARDS, "rest": list[str]}
_LEVEL: Final = {"level": int, "upper": bool, "open": bool, "pulls": list[int] | None, "pile": int}
_CLIMBER: Final = {**_NAMED_CARD, "standing": str}
_COUNTS: Final = {**dict.fromkeys(("seq", "tried", "pulls"), int), **dict.fromkeys(("arms", "untried"), int | None)}
_RUNNER: Final = {**_NAMED_CARD, "level": int | None, "low": float | None, "high": float | None, "close": bool}
_Runner = _model("Runner", **_RUNNER)

Grid = _model(
    "Grid",
    **_COUNTS,
    direction=str,
    policy=str,
    boxed=bool,
    anew=bool,
    answer=str | None,
    levels=_rows("Level", **_LEVEL, boxes=_rows("ShownBox", **_BOX)),
    ladder=_rows("ShownRung", values.Rung, arms=_rows("ShownClimber", **_CLIMBER)),
)
BoxPage = _model("BoxPage", size=int, first=int, arms=_rows("BoxPageCard", None, ("standing",), **_CLIMBER))
Answer = _model(
    "Answer",
    answer=_Runner | None,
    next=_list(_Runner),
    since=_model("Since", at=float, seconds=float, results=int) | None,
    words=str,
    is_clear=bool,
    pulls=int,
    status=str,
    screening=_model("ScreeningInWords", values.Screening, percent=str, words=str) | None,
)
History = _model(
    "History",
    moments=_rows("Moment", values.Moment, label=str, text=str),
    pulls=int,
    rate=_model("Bars", pace.Bars),
    seconds=_model("Times", pace.Times, median=float | None),
)

# What happened

_HOLDER: Final = {
    **dict.fromkeys(("told", "skipped", "open"), int),
    **dict.fromkeys(("median_seconds", "same_answer"), float | None),
    "holder": str,
    "first": float,
    "last": float,
    "excluded": bool,
    "unusual": list[str],
    "claims": dict[str, str] | None,
}
_MINUTES: Final = {"median_seconds": float | None, "minutes": _rows("Minute", minute=int, results=int)}
Raters = _page("raters", _model("Holder", **_HOLDER), n_raters=int, n_active=int, n_found=int, **_MINUTES)
Events = _model("Events", events=_rows("Event", None, ("at",), seq=int, event=str, at=float), next=int)

# Tickets and results

_HELD: Final = {"holder": str, "tickets": _rows("Ticket", values.Ticket, ("payload",), origin=str)}
_OUTCOME: Final = {"ticket": int, "outcome": str, "problem": Problem}
_Seen = _model("Seen", pulls=int, top=_rows("SeenCard", **_CARD))

Tickets = _model("Tickets", **_HELD)
TicketsGiven = _model("TicketsGiven", **_HELD, **_GLANCE)
Outcomes = _model("Outcomes", results=_rows("Outcome", None, ("problem",), **_OUTCOME), **_GLANCE)
TicketFailed = _model("TicketFailed", ticket=int, **_GLANCE)
TicketsReleased = _model("TicketsReleased", tickets=list[int], **_GLANCE)
Silence = _model("Silence", seconds=float)
Reclaimed = _model("Reclaimed", released=int, **_GLANCE)
ResultsChanged = _model("ResultsChanged", results=int, **_GLANCE)
ExclusionPreview = _model("ExclusionPreview", excluded=bool, now=_Seen, then=_Seen)

# Keys, links and pictures

Keys = _model("Keys", keys=list[Key])
KeyWithSecret = _model("KeyWithSecret", Key, secret=str)
Links = _model("Links", links=_rows("LinkInUse", Link, started=int))
LinkWithSecret = _model("LinkWithSecret", Link, secret=str, url=str, qr=str)
Signatures = _model("Signatures", signatures=_rows("Signature", id=str, signature=str))
Picture = _model("PictureKept", id=str, type=str, bytes=int)
Health = _model("Health", status=str)

# Rating

_PROGRESS: Final = {"rated": int | None, "of": int | None, "done": bool, "thanks": str, "completion": str | None}
_WORDS: Final = dict.fromkeys(("question", "description", "instructions", "consent", "rater"), str)
_NEXT: Final = {"arms": _rows("ArmToRate", ticket=int, **_LOOK), **_PROGRESS, "why": str}
_RATED: Final = {"ticket": int, "outcome": str, "why": str}
_MAYBE: Final = ("thanks", "completion", "why")  # at the end, or where no arm is left

Sitting = _model("Sitting", None, _MAYBE, **_WORDS, picture=str | None, scale=list[str], **_PROGRESS)
Next = _model("Next", None, _MAYBE, **_NEXT)
Rated = _model("Rated", None, _MAYBE, ratings=_rows("RatingOutcome", None, ("why",), **_RATED), **_NEXT)
Corrected = _model("Corrected", None, _MAYBE, ticket=int, **_PROGRESS)
