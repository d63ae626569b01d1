"""What a person reads of a result: its sentences, which text and page share."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from boxthirding._text import counted, visible
from boxthirding.find.noise import Noise
from boxthirding.find.words import named
from boxthirding.session import AskTell, Recommendation
from boxthirding.session.protocol import percent
from boxthirding.types import Label

RUNNERS_UP: Final = 3
_GOOD = 0.01  # the share of arms that the screening sentence speaks of
_LONGEST = 100  # letters of an arm
_VALUE = 40  # letters of one of its values
_CONFIRM = "found.confirm({}, pulls=50) measures {} again."


class Summary(NamedTuple):
    """The sentences of a result."""

    arm: str
    """What won."""
    mean: str
    """What it scored, and how far noise may have moved that."""
    trust: str
    """How far to believe it."""
    advice: str
    """How to know more; empty, where nothing can be gained."""
    others: tuple[tuple[str, Recommendation], ...]
    """The runners-up, with what they are."""
    screening: str
    """How likely it is that a good arm is in the race at all; empty, where it is not known."""


def summary(study: AskTell, best: Recommendation, noise: Noise) -> Summary:
    """Return what there is to say of the best arm of a study."""
    others = study.top(1 + RUNNERS_UP)[1:]
    return Summary(
        shown(study, best.label),
        _mean(best, noise),
        *_trust(best, others, noise, 1 if study.view().direction == "maximize" else -1),
        tuple((shown(study, other.label), other) for other in others),
        _screening(study),
    )


def shown(study: AskTell, label: Label) -> str:
    """Return an arm as it was given: dictionaries as their keys and values, long texts shortened."""
    return arm_in_words(label, study.payload(label))


def arm_in_words(label: Label, arm: Any) -> str:
    """Return an arm on one line.

    >>> (
    ...     arm_in_words(17, {"rate": 0.1, "depth": 3}),
    ...     arm_in_words("a", {"name": "a", "price": 2}),
    ...     arm_in_words("a", "a"),
    ... )
    ('rate=0.1, depth=3 (arm 17)', "'a': price=2", "'a'")
    """
    if is_label(arm, label):
        return named(label)
    if isinstance(arm, Mapping):
        text = ", ".join(
            f"{visible(key)}={_short(value, _VALUE)}" for key, value in arm.items() if not is_label(value, label)
        )
        text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    else:
        text = _short(arm, _LONGEST)
    return f"{text} (arm {label})" if isinstance(label, int) else f"{named(label)}: {text}"


def is_label(value: Any, label: Label) -> bool:
    """Tell whether a value is a label itself; arrays and the like are not even compared."""
    return value is label or (type(value) is type(label) and value == label)


def _short(value: Any, longest: int) -> str:
    text = visible(" ".join(repr(value).split()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _mean(best: Recommendation, noise: Noise) -> str:
    told = f"mean {best.mean:.4g} over {counted(best.pulls, 'pull')}"
    if noise.is_none or not noise.is_known:
        return told
    half = noise.half_width(best)
    return f"{told}, 95 % interval {best.mean - half:.4g} to {best.mean + half:.4g}"


def _trust(best: Recommendation, others: list[Recommendation], noise: Noise, sign: int) -> tuple[str, str]:
    """Say how far to believe it, and what to do; an interval knows nothing of selection, so that is said in words."""
    if noise.is_none:
        return "Scores of the same arm never differed, so its mean is exact.", ""
    if not noise.is_known:
        return "Winners look better than they are:", _CONFIRM.format(1 + len(others), "the best")
    close = [other for other in others if not noise.is_ahead(sign * (best.mean - other.mean), best, other)]
    if not close:
        trust = "Winners look better than they are, but it leads by more than noise explains:"
        return trust, _CONFIRM.format(1, "it")
    names = _listed([named(other.label) for other in close])
    trust = f"Winners look better than they are, and {names} may be as good or better:"
    return trust, _CONFIRM.format(1 + len(close), "them")


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _screening(study: AskTell) -> str:
    screening = study.screening(_GOOD)
    if screening is None:
        return ""
    arms, candidates = screening.arms, screening.candidates
    if arms == candidates:
        return f"all {counted(candidates, 'arm')} are in the race" if candidates > 1 else ""
    of = counted(candidates, "arm") if arms is None else f"{candidates:,} of {arms:,} arms"
    race = f"{of} {'is' if candidates == 1 else 'are'} in the race"
    is_one = arms is not None and arms < 2 / _GOOD  # the best hundredth of so few
    good = "the best of all" if is_one else f"one of the best {100 * _GOOD:g} %"
    return f"{race}: {good} is among them with probability {percent(screening.probability)}"
