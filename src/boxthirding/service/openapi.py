"""What each operation replies, for the OpenAPI description: an example of every reply, and the schema that it has.

A reply is written once, as an example whose values have the types of the fields; what an example cannot say (a field
that may be null or missing, a label, any JSON) is marked in it.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple


class Maybe(NamedTuple):
    """A value that may be null."""

    example: Any


class AnyJson(NamedTuple):
    """A value of any kind."""

    example: Any


class ByName(NamedTuple):
    """An object whose keys are names of things, all with values of one kind."""

    example: dict[str, Any]


class Text(NamedTuple):
    """A reply that is no JSON."""

    kind: str
    example: str


class Label(NamedTuple):
    """A label: a text or a whole number."""

    example: str


NOTHING: Final = Text("", "")
"""A reply without a body."""


def schema(value: Any) -> dict[str, Any]:
    """Return the JSON schema of what an example is of; a key that ends in ? may be missing.

    >>> schema({"label": Label("a"), "mean": Maybe(0.5), "skipped?": 2})["required"]
    ['label', 'mean']
    """
    match value:
        case Maybe(example):
            return {"anyOf": [schema(example), {"type": "null"}]}
        case AnyJson():
            return {}
        case Label():
            return {"anyOf": [{"type": "string"}, {"type": "integer"}]}
        case ByName(example):
            return {"type": "object", "additionalProperties": schema(next(iter(example.values())))}
        case dict():
            fields = {name.removesuffix("?"): schema(part) for name, part in value.items()}
            needed = [name for name in value if not name.endswith("?")]
            return {"type": "object", "properties": fields, "required": needed}
        case list():
            return {"type": "array", "items": schema(value[0])}
    return {"type": _TYPES[type(value)]}


def example(value: Any) -> Any:
    """Return the example without its marks."""
    match value:
        case Maybe(inner) | AnyJson(inner) | Label(inner) | ByName(inner):
            return example(inner)
        case dict():
            return {name.removesuffix("?"): example(part) for name, part in value.items()}
        case list():
            return [example(part) for part in value]
    return value


_TYPES: Final = {str: "string", int: "integer", float: "number", bool: "boolean"}

_BEST: Final = {"label": Label("Wrong floor."), "mean": 0.75, "pulls": 12, "level": Maybe(2)}
_RIVAL: Final = {"label": Label("Wrong floor."), "mean": 0.75, "pulls": 12}
_RUNG: Final = {"fewest": 12, "most": 17, "size": 3, "keep_up": Maybe(1)}
_CHANCE: Final = {"probability": 0.98, "candidates": 40, "arms": Maybe(5000), "share": 0.01}
_CARD: Final = {
    "key": "'Wrong floor.'",
    "text": "Wrong floor.",
    "picture": Maybe("5cb6abc0a37fdf4344965946e408954f"),
    "mean": 0.75,
    "pulls": 12,
}
_NAMED_CARD: Final = {**_CARD, "name": "Wrong floor."}
_ANSWER: Final = {**_NAMED_CARD, "level": Maybe(3), "low": Maybe(0.5), "high": Maybe(1.0), "close": True}
_GLANCE: Final = {"pulls": 120, "spent": 118, "open": 3, "held": 2, "recommendation": Maybe(_BEST)}
_VIEW: Final = {
    "version": 1,
    "name": Maybe("captions"),
    "status": "open",
    "policy": "chase",
    "seed": 0,
    "direction": "maximize",
    "arms": Maybe(5000),
    "tried": 40,
    "untried": Maybe(4960),
    "withdrawn": 0,
    "pulls": 120,
    "spent": 118,
    "open": 3,
    "wanted": 1,
    "holders": ByName({"machine-7": 2}),
    "aside": 1,
    "per_minute": Maybe(14.5),
    "excluded": ["rater-4f74-d45003"],
    "set_aside": [
        {
            "label?": Label("Wrong floor."),
            "key?": "'Wrong floor.'",
            "text?": "Wrong floor.",
            "picture?": Maybe("5cb6abc0a37fdf4344965946e408954f"),
            "pull": 3,
            "reward": 1e6,
            "holder": "machine-7",
            "ticket": Maybe(57),
        },
    ],
    "recommendation": Maybe(_BEST),
    "top": [_BEST],
    "boxes": [{"level": Maybe(0), "deferment": Maybe(0), "arms": 2}],
    "screening": Maybe(_CHANCE),
}
_ABOUT: Final = {
    "question": "How funny is this caption?",
    "description": "",
    "picture": Maybe("5cb6abc0a37fdf4344965946e408954f"),
    "scale": [{"label": "funny", "reward": 1.0}],
    "instructions": "",
    "consent": "",
    "thanks": "Thank you!",
    "completion": Maybe("https://app.prolific.com/submissions/complete?cc=C1"),
    "sitting": Maybe(25),
    "repeats": False,
}
_GROWING: Final = (
    *("version", "seed", "wanted", "holders", "excluded"),
    *("recommendation", "top", "boxes", "screening"),
)
_BRIEF: Final = {f"{name}?" if name in _GROWING else name: value for name, value in _VIEW.items()}
_STUDY: Final = {
    **_BRIEF,
    "examples?": Maybe(200),
    "lease?": Maybe(600.0),
    "patience?": 3,
    "n_holders?": 2,
    "n_raters?": 1,
    "seq": 241,
    "about": _ABOUT,
}
_ROW: Final = {
    **{name if name in ("name", "status") else f"{name}?": value for name, value in _VIEW.items()},
    "n_holders?": 2,
    "n_raters?": 1,
    "question?": "How funny is this caption?",
    "leads?": Maybe(_CARD),
    "error": Maybe("its journal is damaged"),
}
_TICKET: Final = {
    "id": 118,
    "arm": 3,
    "label": Label("Wrong floor."),
    "pull": 12,
    "payload?": AnyJson({"author": "ann"}),
    "origin": "55aa8ab3993c44e7",
}
_TICKETS: Final = {"holder": "machine-7", "tickets": [_TICKET]}
_SEEN: Final = {"text": "Wrong floor.", "picture": Maybe("5cb6abc0a37fdf4344965946e408954f")}
_ARM: Final = {
    "label?": Label("Wrong floor."),
    "key?": "'Wrong floor.'",
    "mean": Maybe(0.75),
    "pulls": 12,
    "level": Maybe(2),
    "withdrawn": False,
    **_SEEN,
    "skipped": Maybe(5),
}
_STEP: Final = {
    "pulls": 90,
    "outcome": "lifted",
    "level": 1,
    "deferment": 0,
    "mean": 0.7,
    "own_pulls": 9,
    "rivals": [{"label?": Label("Wrong floor."), "key?": "'Wrong floor.'", "mean": 0.75, "pulls": 12}],
}
_STORY: Final = {
    "label?": Label("Wrong floor."),
    "key?": "'Wrong floor.'",
    "mean": Maybe(0.75),
    "pulls": 12,
    "place": "the answer; at level 2, new here",
    **_SEEN,
    "payload?": AnyJson({"author": "ann"}),
    "skipped": 0,
    "steps": [_STEP],
    "story?": "Wrong floor.: 12 pulls, mean 0.75; the answer; at level 2, new here",
}
_RESULT: Final = {
    "ticket": Maybe(118),
    "holder": "rater-4f74-d45003",
    "reward": 1.0,
    "counts": True,
    "answer": Maybe("funny"),
}
_HOLDER: Final = {
    "holder": "rater-4f74-d45003",
    "told": 25,
    "skipped": 1,
    "open": 0,
    "median_seconds": Maybe(2.5),
    "same_answer": Maybe(0.4),
    "first": 1794826063.3,
    "last": 1794826463.3,
    "excluded": False,
    "unusual": ["much faster than the others"],
    "claims": Maybe(ByName({"id": "5f0c"})),
}
_RATERS: Final = {
    "raters": [_HOLDER],
    "n_raters": 1,
    "n_active": 1,
    "n_found": 1,
    "median_seconds": Maybe(2.5),
    "minutes": [{"minute": 1794826020, "results": 14}],
    "next": Maybe(100),
}
_EVENT: Final = {"seq": 241, "event": "told", "at?": 1794826063.3, "ticket?": 118, "reward?": 1.0}
_KEY: Final = {
    "id": "3d79348646e5",
    "scope": "worker",
    "study": Maybe("captions"),
    "name": "the cluster",
    "made": 1794826000.5,
    "expires": Maybe(1794926000.5),
}
_LINK: Final = {
    "id": "b51a51a02144",
    "study": "captions",
    "name": "mailing list",
    "made": 1794826000.5,
    "expires": Maybe(1794926000.5),
    "raters": 200,
    "signed": False,
}
_PROGRESS: Final = {
    "rated": Maybe(7),
    "of": Maybe(25),
    "done": False,
    "thanks?": "Thank you!",
    "completion?": Maybe("https://app.prolific.com/submissions/complete?cc=C1"),
}
_SITTING: Final = {
    **{name: _ABOUT[name] for name in ("question", "description", "picture", "instructions", "consent")},
    "scale": ["unfunny", "funny"],
    **_PROGRESS,
}
_NEXT: Final = {
    "arms": [{"ticket": 119, "text": "Your table is ready.", "picture": Maybe("5cb6abc0a37fdf4344965946e408954f")}],
    **_PROGRESS,
    "why?": "done",
}
_PROBLEM: Final = {
    "type": "about:blank",
    "title": "There is no such thing here",
    "status": 404,
    "detail": "there is no study 'none' here",
    "advice?": "look at the list of studies",
    "error?": "UnknownStudy",
    "transient?": False,
    "python?": "give a ticket from ask(), or its id",
}
_PLANNED: Final = {
    "budget": 300,
    "regret": 0.08,
    "regret_low": 0.04,
    "regret_high": 0.14,
    "rank": 8.2,
    "percentile": 2.7,
    "top1_chance": 0.4,
    "arms_tried": 125.0,
    "winner_pulls": 36.5,
    "ratio": 2.5,
}
_PLAN: Final = {
    "arms": 300,
    "known": {
        "source": "guesses",
        "noise": Maybe(0.25),
        "spread": Maybe(0.1),
        "spread_high": Maybe(0.2),
        "shows_spread": True,
        "pulls_to_show": Maybe(600),
    },
    "rows": [{**_PLANNED, "percentile_9_of_10": 6.3}],
    "granted": [
        {
            **_PLANNED,
            "want": "top 1 % in 9 of 10 runs",
            "chance": 0.92,
            "chance_low": 0.85,
            "chance_high": 0.99,
            "budget_low": Maybe(200),
            "budget_high": Maybe(500),
        }
    ],
    "notes": ["without Numba fewer runs are simulated, and figures are coarser"],
}
_OUTCOME: Final = {"ticket": 118, "outcome": "told", "problem?": _PROBLEM}
_RATED: Final = {"ratings": [{"ticket": 118, "outcome": "stored", "why?": "it was not given to you"}], **_NEXT}
_QR: Final = "data:image/svg+xml;charset=utf-8,%3Csvg…"
_PICTURE: Final = Text("image/png", "")
_ONE: Final = "/api/v1/studies/{name}"
_RATE: Final = "/api/v1/rating/{link}"

REPLIES: Final[dict[tuple[str, str], tuple[str, Any]]] = {
    ("get", "/health"): ("The server and its database answer.", {"status": "ok"}),
    ("get", "/metrics"): (
        "What is counted.",
        Text("text/plain", 'boxthirding_pulls{study="captions"} 120.0\n'),
    ),
    ("get", "/api/v1/session"): ("The key.", _KEY),
    ("post", "/api/v1/session"): ("The key that the cookie stands for.", _KEY),
    ("delete", "/api/v1/session"): ("The session has ended.", NOTHING),
    ("get", "/api/v1/studies"): ("The studies.", {"studies": [_ROW], "next": Maybe(100)}),
    ("post", "/api/v1/studies"): ("The new study.", _STUDY),
    ("get", _ONE): ("The study.", _STUDY),
    ("put", _ONE): ("The study.", _STUDY),
    ("patch", _ONE): ("The study.", _STUDY),
    ("delete", _ONE): ("It is deleted.", NOTHING),
    **{("post", f"{_ONE}/{verb}"): ("The study.", _STUDY) for verb in ("pause", "resume", "finish", "policy")},
    ("get", f"{_ONE}/top"): ("The best arms.", {"top": [_BEST], "next": Maybe(10)}),
    ("get", f"{_ONE}/boxes"): (
        "The boxes.",
        {"boxes": [{"level": Maybe(0), "deferment": Maybe(0), "size": 2, "arms": [_RIVAL]}], "next": Maybe(100)},
    ),
    ("get", f"{_ONE}/ladder"): (
        "The rungs.",
        {"ladder": [{**_RUNG, "arms": [{**_RIVAL, "standing": "leads"}]}], "next": Maybe(100)},
    ),
    ("get", f"{_ONE}/grid"): (
        "The boxes by level from the top, with the arms of the upper levels; the piles; or the ladder.",
        {
            "seq": 812,
            "arms": Maybe(300),
            "tried": 120,
            "untried": Maybe(180),
            "pulls": 400,
            "direction": "maximize",
            "policy": "chase",
            "boxed": True,
            "anew": False,
            "answer": Maybe("'Wrong floor.'"),
            "levels": [
                {
                    "level": 3,
                    "upper": True,
                    "open": True,
                    "pulls": Maybe([6, 9]),
                    "boxes": [{"deferment": 0, "size": 1, "arms": [_NAMED_CARD], "rest": ["'Going down?'"]}],
                    "pile": 12,
                }
            ],
            "ladder": [{**_RUNG, "arms": [{**_NAMED_CARD, "standing": "leads"}]}],
        },
    ),
    ("get", f"{_ONE}/box"): (
        "A page of its arms.",
        {"size": 12, "first": 0, "arms": [{**_NAMED_CARD, "standing?": "leads"}]},
    ),
    ("get", f"{_ONE}/answer"): (
        "The answer, and the next five.",
        {
            "answer": Maybe(_ANSWER),
            "next": [_ANSWER],
            "since": Maybe({"at": 1_790_000_000.0, "seconds": 90.0, "results": 41}),
            "words": "It could still change: each of the next 9 arms, and perhaps more, may be as good or better.",
            "is_clear": False,
            "pulls": 400,
            "status": "open",
            "screening": Maybe(
                {
                    **_CHANCE,
                    "percent": "98 %",
                    "words": "40 of 300 arms are in the race: the best of all is among them with probability 98 %.",
                }
            ),
        },
    ),
    ("get", f"{_ONE}/history"): (
        "The answer over time, results by time, and by the seconds that they took.",
        {
            "moments": [
                {
                    "results": 400,
                    "label": "'Wrong floor.'",
                    "mean": 0.62,
                    "tried": 120,
                    "at": Maybe(1_790_000_000.0),
                    "text": "Wrong floor.",
                }
            ],
            "pulls": 400,
            "rate": {"start": 1_790_000_000, "minutes": 1, "counts": [12]},
            "seconds": {"edges": [0.0], "counts": [3], "median": Maybe(1.8)},
        },
    ),
    ("get", f"{_ONE}/screening"): ("The chance.", {"screening": Maybe(_CHANCE)}),
    ("get", f"{_ONE}/arms"): ("A page of arms.", {"arms": [_ARM], "next?": Maybe(100)}),
    ("post", f"{_ONE}/arms"): ("The arms are added.", {"added": 1, "arms": Maybe(5001), **_GLANCE}),
    ("get", f"{_ONE}/arm"): ("The arm.", _STORY),
    ("delete", f"{_ONE}/arm"): (
        "It is withdrawn.",
        {"withdrawn": Label("Wrong floor."), "arms": Maybe(4999), **_GLANCE},
    ),
    ("get", f"{_ONE}/arm/results"): (
        "A page of its results, the latest first.",
        {"results": [_RESULT], "next": Maybe(100)},
    ),
    ("get", f"{_ONE}/raters"): ("A page of raters and workers.", _RATERS),
    ("get", f"{_ONE}/events"): ("A page of events.", {"events": [_EVENT], "next": 241}),
    ("get", f"{_ONE}/stream"): (
        "Events as they come.",
        Text("text/event-stream", 'id: 241\ndata: {"seq": 241, "event": "told", "ticket": 118, "reward": 1.0}\n\n'),
    ),
    ("get", f"{_ONE}/results.csv"): ("Every result.", Text("text/csv", "time,rater,arm,answer,reward,seconds\n")),
    ("get", f"{_ONE}/arms.csv"): ("Every arm that was tried.", Text("text/csv", "rank,caption,mean,precision,votes\n")),
    ("get", f"{_ONE}/journal.jsonl"): (
        "Every event.",
        Text("application/x-ndjson", '{"seq": 241, "event": "told", "ticket": 118, "reward": 1.0}\n'),
    ),
    ("get", f"{_ONE}/report.html"): ("The page.", Text("text/html", "<!doctype html>\n<html>…</html>\n")),
    ("post", f"{_ONE}/tickets"): ("The tickets.", {**_TICKETS, **_GLANCE}),
    ("get", f"{_ONE}/tickets"): ("The tickets.", _TICKETS),
    ("post", f"{_ONE}/results"): ("What became of each.", {"results": [_OUTCOME], **_GLANCE}),
    ("post", f"{_ONE}/failures"): ("It is noted.", {"ticket": 118, **_GLANCE}),
    ("post", f"{_ONE}/releases"): ("The tickets that have no holder now.", {"tickets": [118], **_GLANCE}),
    ("post", f"{_ONE}/workers"): ("How long a silent worker is taken for alive.", {"seconds": 60.0}),
    ("post", f"{_ONE}/reclaims"): ("How many tickets were released.", {"released": 1, **_GLANCE}),
    ("post", f"{_ONE}/examples"): ("By pull, the place of the example that it sees.", {"order": [1, 0], **_GLANCE}),
    ("post", f"{_ONE}/observations"): ("The results count.", _GLANCE),
    ("post", f"{_ONE}/corrections"): ("The new reward counts.", _GLANCE),
    ("get", f"{_ONE}/exclusions"): (
        "The answer now, and as it would be.",
        {"excluded": False, "now": {"pulls": 120, "top": [_CARD]}, "then": {"pulls": 95, "top": [_CARD]}},
    ),
    ("post", f"{_ONE}/exclusions"): ("How many results do not count now.", {"results": 25, **_GLANCE}),
    ("delete", f"{_ONE}/exclusions"): ("How many results count again.", {"results": 25, **_GLANCE}),
    ("get", f"{_ONE}/links"): ("The rating links.", {"links": [{**_LINK, "started": 12}]}),
    ("post", f"{_ONE}/links"): (
        "The link; its secret is shown this once.",
        {**_LINK, "secret": "link_qZKt…", "url": "https://rate.example.org/rate/link_qZKt…", "qr": _QR},
    ),
    ("delete", f"{_ONE}/links/{{id}}"): ("It is revoked.", NOTHING),
    ("post", f"{_ONE}/links/{{id}}/signatures"): (
        "The ids with their signatures.",
        {"signatures": [{"id": "ann", "signature": "1410611222c32a4a"}]},
    ),
    ("get", "/api/v1/keys"): ("The keys.", {"keys": [_KEY]}),
    ("post", "/api/v1/keys"): ("The key; its secret is shown this once.", {**_KEY, "secret": "key_8oJQ…"}),
    ("delete", "/api/v1/keys/{id}"): ("It is revoked.", NOTHING),
    ("post", "/api/v1/sheets"): (
        "The columns, and the first rows.",
        {"columns": ["caption"], "label": "caption", "n_rows": 1, "rows": [["Wrong floor."]]},
    ),
    ("post", "/api/v1/plan"): ("What budgets give, and the smallest one for a wish.", _PLAN),
    ("post", "/api/v1/pictures"): (
        "The picture's id.",
        {"id": "5cb6abc0a37fdf4344965946e408954f", "type": "image/png", "bytes": 20480},
    ),
    ("get", "/api/v1/pictures/{id}"): ("The picture.", _PICTURE),
    ("get", f"{_RATE}/pictures/{{id}}"): ("The picture.", _PICTURE),
    ("post", f"{_RATE}/sitting"): ("What the page shows, and how far the rater is.", _SITTING),
    ("post", f"{_RATE}/next"): ("The arms to show.", _NEXT),
    ("post", f"{_RATE}/ratings"): ("What became of each, and the arms to show.", _RATED),
    ("post", f"{_RATE}/skips"): ("The arms to show.", _NEXT),
    ("post", f"{_RATE}/corrections"): ("It is corrected.", {"ticket": 118, **_PROGRESS}),
}
"""By method and path: what the reply says, and an example of it."""


def described(make: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """Return what makes the OpenAPI description, with every reply in it."""

    def openapi() -> dict[str, Any]:
        whole = make()
        for path, operations in whole["paths"].items():
            for method, operation in operations.items():
                _describe(operation, *REPLIES.get((method, path), ("", None)))
        return whole

    return openapi


def _describe(operation: dict[str, Any], words: str, reply: Any) -> None:
    replies = operation["responses"]
    replies.pop("422", None)
    replies["default"] = {"description": "A problem.", "content": _content("application/problem+json", _PROBLEM)}
    if reply is None:
        return
    status = next(status for status in replies if status.startswith("2"))
    replies[status] = {"description": words}
    if isinstance(reply, Text):
        if reply.kind:
            kind = {"type": "string"} if reply.example else {"type": "string", "format": "binary"}
            replies[status]["content"] = {reply.kind: {"schema": kind, "example": reply.example}}
    else:
        replies[status]["content"] = _content("application/json", reply)


def _content(kind: str, reply: Any) -> dict[str, Any]:
    return {kind: {"schema": schema(reply), "example": example(reply)}}
