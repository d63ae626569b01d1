"""What a person reads of a result: its sentences, which text and page share."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from boxthirding._text import apart, counted, visible, writer
from boxthirding.find.intervals import Noise
from boxthirding.find.words import arms_in_words, measured, names, order_in_words, the_next
from boxthirding.session import AskTell, Recommendation, Screening, View
from boxthirding.session.values import percent
from boxthirding.types import Label

RUNNERS_UP: Final = 3
_GOOD = 0.01  # the share of arms that the screening sentence speaks of
_PULLS: Final = 50  # of each arm that is to be confirmed
_LONGEST: Final = 60  # letters of an arm in a sentence
_DIGITS, _MOST_DIGITS = 4, 17  # of a number in it


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
    table: tuple[tuple[str, str, int], ...]
    """The best arm and the runners-up: what they are, their means and their pulls."""
    order: str
    """Why their means are not in order; empty, where they are."""
    screening: str
    """How likely it is that a good arm is in the race at all; empty, where it is not known."""


def summary(study: AskTell, view: View, best: Recommendation, noise: Noise) -> Summary:
    """Return what there is to say of the best arm of a study."""
    others = study.top(1 + RUNNERS_UP)[1:]
    given = {arm.label: study.payload(arm.label) for arm in (best, *others)}
    arms = arms_in_words(given.items())
    interval = _interval(best, noise)
    write = writer([*interval, *(arm.mean for arm in (best, *others))])
    told = measured(write(best.mean), best.pulls)
    return Summary(
        arms[0],
        f"{told}, 95 % interval {' to '.join(map(write, interval))}" if interval else told,
        *_trust(best, others, in_a_sentence(given), noise, 1 if view.direction == "maximize" else -1),
        tuple((name, write(arm.mean), arm.pulls) for name, arm in zip(arms, (best, *others), strict=True)),
        order_in_words((best, *others), view.direction),
        in_the_race(study.screening(_GOOD)),
    )


def _interval(best: Recommendation, noise: Noise) -> tuple[float, ...]:
    """Return the ends of the interval around a mean; nothing, where the noise is not known, or is none."""
    if noise.is_none or not noise.is_known:
        return ()
    return noise.of(best)


def _trust(
    best: Recommendation, others: list[Recommendation], name: Mapping[Label, str], noise: Noise, sign: int
) -> tuple[str, str]:
    """Say how far to believe it, and what to do; an interval knows nothing of selection, so that is said in words."""
    if noise.is_none:
        return f"Scores {noise.alike()}", ""
    if not noise.is_known or not others:
        return "Winners look better than they are:", _confirm(1 + len(others), "the best" if others else "it")
    close = [other for other in others if not noise.is_ahead(best, other, sign)]
    if not close:
        ahead = f"it leads {the_next(len(others))} by more than noise explains"
        return f"Winners look better than they are, but {ahead}:", _confirm(1, "it")
    which = _listed([name[other.label] for other in close])
    trust = f"Winners look better than they are, and {which} may be as good or better:"
    return trust, _confirm(1 + len(close), "them")


def in_a_sentence(given: Mapping[Label, Any]) -> dict[Label, str]:
    """Return what arms are called in a sentence: numbers that are none by those of their parameters that differ.

    >>> in_a_sentence({7: {"rate": 0.11, "depth": 3}, 8: {"rate": 0.12, "depth": 3}, "plain": "plain"})
    {7: 'rate=0.11', 8: 'rate=0.12', 'plain': "'plain'"}
    """
    name = names(given)
    numbered = {label: arm for label, arm in given.items() if isinstance(label, int) and isinstance(arm, Mapping)}
    columns = {key: [arm.get(key) for arm in numbered.values()] for arm in numbered.values() for key in arm}
    written = {key: _values(values) for key, values in columns.items()}
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


def _values(values: Sequence[Any]) -> list[str]:
    """Return values as texts that can be told apart, numbers with as many digits as that takes."""
    if all(isinstance(value, str) for value in values):
        return [*map(names(values).__getitem__, values)]
    if all(isinstance(value, float) for value in values):
        for digits in range(_DIGITS, _MOST_DIGITS):
            texts = [f"{value:.{digits}g}" for value in values]
            if len({*texts}) == len({*values}):
                return texts
    return [visible(" ".join(repr(value).split())) for value in values]


def _confirm(arms: int, them: str) -> str:
    return f"found.confirm({arms}, pulls={_PULLS}) measures {them} again: {arms * _PULLS} more evaluations."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def in_the_race(screening: Screening | None) -> str:
    """Say how likely it is that a good arm is in the race at all; nothing, where that is not known."""
    if screening is None:
        return ""
    arms, candidates = screening.arms, screening.candidates
    if arms == candidates:
        return f"all {counted(candidates, 'arm')} are in the race" if candidates > 1 else ""
    of = counted(candidates, "arm") if arms is None else f"{candidates:,} of {arms:,} arms"
    is_one = arms is not None and arms < 2 / _GOOD  # the best hundredth of so few
    good = "the best of all" if is_one else f"one of the best {100 * _GOOD:g} %"
    race = f"{of} is in the race: it is {good}" if candidates == 1 else f"{of} are in the race: {good} is among them"
    return f"{race} with probability {percent(screening.probability)}"
