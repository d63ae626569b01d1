"""Results in words and as tables: names of arms, sentences that messages and pages share, rows of a DataFrame."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from boxthirding._text import apart, counted, cut, visible, writer
from boxthirding.errors import MissingExtra
from boxthirding.find.intervals import ScoreNoise
from boxthirding.session import ArmSummary, AskTell, Recommendation, View
from boxthirding.types import Label

if TYPE_CHECKING:
    import pandas as pd

RUNNERS_UP: Final = 3

_HOLDERS = 3  # holders, or results, that are named
_LONGEST = 60  # characters of a label
_LONGEST_ARM = 100  # characters of an arm
_VALUE = 40  # characters of one of its values
_GOOD = 0.01  # the share of arms that the screening sentence speaks of
_PULLS: Final = 50  # of each arm that is to be confirmed
_DIGITS, _MOST_DIGITS = 4, 17  # of a number in a sentence
_CLOSE: Final = 2  # arms that may be as good, up to which they are named
_OWN: Final = ("label", "mean", "pulls", "level", "withdrawn")  # columns of a table


def measured(mean: str, pulls: int) -> str:
    """Return a mean with the number of its pulls."""
    return f"mean {mean} over {counted(pulls, 'pull')}"


def named(label: Label) -> str:
    """Return a label on one line, shortened if it is long."""
    return names([label])[label]


def names(labels: Iterable[Label]) -> dict[Label, str]:
    """Return labels that are shown together, by label: long ones are shortened, but stay different.

    >>> [*names([2, 70 * "long " + "story", 70 * "long " + "tale"]).values()]
    ['2', "'long long long long long lo…story'", "'long long long long long lo…tale'"]
    """
    texts = {label: repr(label) for label in labels}
    short = _shortened(texts.values(), _LONGEST)
    return {label: short[text] for label, text in texts.items()}


def format_arms(arms: Iterable[tuple[Label, Any]]) -> list[str]:
    """Return arms that are shown together, on one line each: long values are shortened, but stay different.

    >>> format_arms([(17, {"rate": 0.1, "depth": 3}), ("a", {"name": "a", "price": 2}), ("b", "b")])
    ['rate=0.1, depth=3 (arm 17)', "'a': price=2", "'b'"]
    >>> prompts = [
    ...     "You are a helpful assistant of a shop. Be brief.",
    ...     "You are a helpful assistant of a shop. Be kind.",
    ... ]
    >>> format_arms((number, {"prompt": prompt}) for number, prompt in enumerate(prompts))
    ["prompt='…brief.' (arm 0)", "prompt='…kind.' (arm 1)"]
    """
    arms = [*arms]
    name = names(label for label, _ in arms)
    shown = [_values_of(label, arm) for label, arm in arms]
    written: dict[str, list[str]] = {}
    for values in shown:
        for key, text in values.items():
            written.setdefault(key, []).append(text)
    short = {key: _shortened(texts, _VALUE if key else _LONGEST_ARM) for key, texts in written.items()}
    lines = []
    for (label, _), values in zip(arms, shown, strict=True):
        text = _fitting([f"{key}{short[key][text]}" for key, text in values.items()], _LONGEST_ARM)
        is_number = isinstance(label, int)
        lines.append((f"{text} (arm {label})" if is_number else f"{name[label]}: {text}") if values else name[label])
    return lines


def _values_of(label: Label, arm: Any) -> dict[str, str]:
    """Return the values of an arm that are shown beside its label, by their prefix."""
    if is_label(arm, label):
        return {}
    if not isinstance(arm, Mapping):
        return {"": _line(arm)}
    is_named = isinstance(label, str)  # a number may be equal to a value by chance
    return {f"{visible(key)}=": _line(value) for key, value in arm.items() if not (is_named and is_label(value, label))}


def is_label(value: Any, label: Label) -> bool:
    """Return whether a value is a label itself, without comparing arrays and the like."""
    return value is label or (type(value) is type(label) and value == label)


def _line(value: Any) -> str:
    return visible(" ".join(repr(value).split()))


def _shortened(texts: Iterable[str], longest: int) -> dict[str, str]:
    """Return the reprs of values that are shown together, shortened; strings keep their quotation marks."""
    quotes = {text: text[0] if text[:1] in ("'", '"') and text[-1] == text[0] else "" for text in texts}
    plain = {text: text[1:-1] if quote else text for text, quote in quotes.items()}
    short = apart(plain.values(), longest - 2)
    return {text: f"{quote}{short[plain[text]]}{quote}" for text, quote in quotes.items()}


def _fitting(parts: list[str], longest: int) -> str:
    """Return as many whole parts as fit, at least one, and an ellipsis for the others."""
    text = ", ".join(parts)
    while len(text) > longest and len(parts) > 1:
        parts = parts[:-1]
        text = f"{', '.join(parts)}, …"
    return cut(text, longest)


def explain_order(arms: Iterable[ArmSummary | Recommendation], direction: str, unit: str = "pull") -> str:
    """Return why arms that are listed best first are not in the order of their means; empty, if they are.

    >>> low, high = Recommendation("a", 0.8, 1, None), Recommendation("b", 0.9, 1, None)
    >>> explain_order([low, high], "maximize"), explain_order([high, low], "maximize")
    ('Best first, and not simply by mean: a mean of few pulls is trusted less.', '')
    """
    arms = [*arms]
    means = [arm.mean for arm in arms if arm.mean is not None]
    if means == sorted(means, reverse=direction == "maximize"):
        return ""
    if any(arm.level is not None for arm in arms):
        return "Best first, and not simply by mean: arms of a higher level come first."
    return f"Best first, and not simply by mean: a mean of few {unit}s is trusted less."


def the_next(arms: int) -> str:
    """Return the words for the arms behind the best.

    >>> the_next(1), the_next(3)
    ('the next arm', 'the next 3 arms')
    """
    return "the next arm" if arms == 1 else f"the next {arms:,} arms"


def format_holders(holders: Mapping[str, int]) -> str:
    """Return which holders have how many tickets.

    >>> format_holders({"plate-1.csv": 3, "the lab": 1})
    'plate-1.csv has 3, the lab has 1'
    """
    shown = [f"{holder} has {tickets:,}" for holder, tickets in list(holders.items())[:_HOLDERS]]
    rest = list(holders.values())[_HOLDERS:]
    return ", ".join([*shown, *([f"{counted(len(rest), 'other')} have {sum(rest):,}"] if rest else [])])


def aside_in_words(view: View) -> str:
    """Return which results are excluded as outliers, the latest last."""
    rows = view.outliers[-_HOLDERS:]
    name = names(row.label for row in rows)
    shown = [
        f"{name[row.label]} {row.reward:.6g}{'' if row.ticket is None else f' (ticket {row.ticket})'}" for row in rows
    ]
    dots = "…, " if view.n_outliers > len(shown) else ""
    return f"{counted(view.n_outliers, 'outlier')} excluded: {dots}{', '.join(shown)}"


class Summary(NamedTuple):
    """The sentences of a result."""

    arm: str  # the best arm
    mean: str  # its mean and its interval
    trust: str  # how far to trust it
    advice: str  # how to learn more; empty, if nothing can be gained
    table: tuple[tuple[str, str, int], ...]
    """The best arm and the runners-up: what they are, their means and their pulls."""
    order: str  # why their means are not in order; empty, if they are
    screening: str  # how likely it is that a good arm was tried; empty, if that is not known


def summary(study: AskTell, view: View, best: Recommendation, noise: ScoreNoise) -> Summary:
    """Return the sentences about the best arm of a study."""
    others = study.top(1 + RUNNERS_UP)[1:]
    given = {arm.label: study.payload(arm.label) for arm in (best, *others)}
    arms = format_arms(given.items())
    examples = noise.spread.examples
    interval = () if best.pulls == examples else noise.of(best) or ()
    write = writer([*interval, *(arm.mean for arm in (best, *others))])
    told = measured(write(best.mean), best.pulls)
    if examples is not None:
        seen = "all" if best.pulls == examples else f"{best.pulls:,} of"
        told = f"mean {write(best.mean)} over {seen} {counted(examples, 'example')}"
    return Summary(
        arms[0],
        f"{told}, 95 % interval {' to '.join(map(write, interval))}" if interval else told,
        *_trust(best, others, in_a_sentence(given), noise, 1 if view.direction == "maximize" else -1),
        tuple((name, write(arm.mean), arm.pulls) for name, arm in zip(arms, (best, *others), strict=True)),
        explain_order((best, *others), view.direction),
        str(study.screening(_GOOD) or ""),
    )


def _trust(
    best: Recommendation, others: list[Recommendation], name: Mapping[Label, str], noise: ScoreNoise, sign: int
) -> tuple[str, str]:
    """Return how far to trust the answer, and what to do: intervals do not account for the selection of the best."""
    if noise.is_none:
        return f"Scores {noise.alike()}", ""
    if not noise.is_known or not others:
        return "Winners look better than they are.", _confirm(1 + len(others), "the best" if others else "it")
    close = [other for other in others if not noise.is_ahead(best, other, sign)]
    if not close:
        ahead = f"this one leads {the_next(len(others))} by more than noise explains"
        return f"Winners look better than they are, but {ahead}.", _confirm(1, "it")
    which = _enumerated([name[other.label] for other in close])
    trust = f"Winners look better than they are, and {which} may be as good or better."
    return trust, _confirm(1 + len(close), "them")


def in_a_sentence(given: Mapping[Label, Any]) -> dict[Label, str]:
    """Return the names of arms in a sentence; numbered arms go by those of their parameters that differ.

    >>> in_a_sentence({7: {"rate": 0.11, "depth": 3}, 8: {"rate": 0.12, "depth": 3}, "plain": "plain"})
    {7: 'rate=0.11', 8: 'rate=0.12', 'plain': "'plain'"}
    """
    name = names(given)
    numbered = {label: arm for label, arm in given.items() if isinstance(label, int) and isinstance(arm, Mapping)}
    columns = {key: [arm.get(key) for arm in numbered.values()] for arm in numbered.values() for key in arm}
    written = {key: _distinct(values) for key, values in columns.items()}
    differing = [key for key, texts in written.items() if len({*texts}) > 1]
    texts = {
        label: ", ".join(f"{visible(key)}={written[key][place]}" for key in differing if key in arm)
        for place, (label, arm) in enumerate(numbered.items())
    }
    short = apart(texts.values(), _LONGEST)
    for label, text in texts.items():
        if text:
            name[label] = short[text] if len(differing) == 1 else f"({short[text]})"
    return name


def _distinct(values: Sequence[Any]) -> list[str]:
    """Return values as different texts, numbers with as many digits as that takes."""
    if all(isinstance(value, str) for value in values):
        return [*map(names(values).__getitem__, values)]
    if all(isinstance(value, float) for value in values):
        for digits in range(_DIGITS, _MOST_DIGITS):
            texts = [f"{value:.{digits}g}" for value in values]
            if len({*texts}) == len({*values}):
                return texts
    return [visible(" ".join(repr(value).split())) for value in values]


def _confirm(arms: int, them: str) -> str:
    return f"found.confirm({arms}, pulls={_PULLS}) re-evaluates {them} ({arms * _PULLS} more evaluations)."


def _enumerated(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class Certainty(NamedTuple):
    """Whether the answer could still change, in words."""

    close: tuple[Recommendation, ...]  # the other top arms of the view that may be as good as the answer or better
    is_clear: bool  # whether it leads the next arms by more than noise explains
    words: str


def certainty(view: View, noise: ScoreNoise, names: Sequence[str] = ()) -> Certainty:
    """Return whether the answer of a view could still change; `names` are those of its top arms, the answer first."""
    best, others = view.recommendation, view.top[1:]
    if best is None:
        return Certainty((), is_clear=False, words="There is no answer before the first result.")
    untried = _untried(view)
    if not noise.is_known:
        return Certainty(others, is_clear=False, words="It could change with every result: there are too few yet.")
    is_close = [may_be_as_good(view, noise, other) for other in others]
    close = tuple(other for other, near in zip(others, is_close, strict=True) if near)
    if noise.is_none:
        return Certainty(close, is_clear=not close, words=f"Results {noise.alike()}{untried}")
    if not close:
        ahead = f"It leads {the_next(len(others))} by more than noise explains." if others else ""
        return Certainty((), is_clear=True, words=f"{ahead}{untried}".strip())
    short = apart(names, _LONGEST)
    named = [short[name] for name, near in zip(names[1:], is_close, strict=False) if near]
    some = f"{len(close)} of the next {len(others)} arms"
    if len(close) == len(others):
        more = ", and perhaps more," if view.tried > len(view.top) else ""
        some = f"each of the next {len(others)} arms{more}"
    may = _enumerated([f"“{name}”" for name in named]) if len(close) <= _CLOSE and named else some
    over = "This is the answer, though" if view.status == "finished" else "It could still change:"
    return Certainty(close, is_clear=False, words=f"{over} {may} may be as good or better.")


def may_be_as_good(view: View, noise: ScoreNoise, other: Recommendation) -> bool:
    """Return whether another arm may be as good as the answer of a view, or better: noise explains the lead."""
    best = view.recommendation
    if best is None or not noise.is_known:
        return True
    sign = 1 if view.direction == "maximize" else -1
    return not noise.is_ahead(best, other, sign)


def _untried(view: View) -> str:
    """Return that an arm without a result may be better; empty, if there is none."""
    if view.untried is None:
        return " An arm that was not tried yet could be better."
    if not view.untried:
        return ""
    were = "was" if view.untried == 1 else "were"
    return f" {counted(view.untried, 'arm')} {were} not tried yet, and could be better."


def rows(study: AskTell) -> list[dict[str, Any]]:
    """Return a row for each arm that was tried, best first; the keys of an arm that is a dictionary are columns."""
    tried = study.arms(0, max(1, study.view().tried))
    return [row(arm.label, study.payload(arm.label), {name: getattr(arm, name) for name in _OWN[1:]}) for arm in tried]


def row(label: Any, arm: Any, measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of an arm: its label, what was given as the arm by column, and what was measured.

    A key of an arm that has the name of another column gets `arm_` before it.
    """
    given = {} if is_label(arm, label) else arm if isinstance(arm, Mapping) else {"arm": arm}
    own = ("label", *measured)
    columns = {f"arm_{key}" if key in own else str(key): value for key, value in given.items()}
    return {"label": label, **columns, **measured}


def dataframe(table: list[dict[str, Any]]) -> "pd.DataFrame":
    """Return rows as a pandas DataFrame."""
    try:
        import pandas as pd  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtra("to_dataframe", "pandas", "pandas") from error
    return pd.DataFrame(table, columns=None if table else list(_OWN))
