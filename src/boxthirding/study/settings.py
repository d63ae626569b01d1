"""What a study is made with, as its first event stores it, and how what a caller gives is compared with that.

Its details may contain a scale: the answers that raters choose from, and the reward of each.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from boxthirding._checks import positive, whole
from boxthirding._text import counted, cut
from boxthirding.errors import InvalidInput, StudyChanged, StudyDiffers
from boxthirding.policies.spec import as_policy, format_spec
from boxthirding.session.amendments import check_details, listed
from boxthirding.session.core import Core
from boxthirding.session.labels import sort_out
from boxthirding.session.values import Details, Known
from boxthirding.study.arm_payloads import is_same, kept, kept_all
from boxthirding.study.events import Created, Labels, Payloads
from boxthirding.study.state import StudyState, package, version_of
from boxthirding.types import Label, Policy

ABOUT: Final = "rating"  # the key of a study's details with what raters are shown

_LONGEST: Final = 60  # characters of a text in a message


@dataclass(frozen=True)
class Settings:
    """What a caller says about a study that is opened; None stands for what the study has, or the default."""

    arms: int | Iterable[Any] | Mapping[Label, Any] | None = None
    policy: Policy | str | None = None
    seed: int | None = None
    direction: str | None = None
    patience: int | None = None
    lease: float | None = None
    examples: int | None = None
    details: Details | None = None
    known: Known | None = None
    force: bool = False  # whether other arms under the same labels, and other details, replace those of the study

    def __post_init__(self) -> None:
        if self.lease is not None:
            object.__setattr__(self, "lease", positive("lease", self.lease))

    def check(self) -> None:
        """Raise if no study can be made with these settings, whatever its arms are."""
        created = created_from(self, GivenArms(), 0.0)
        Core(1, direction=created.direction, examples=created.examples)
        if self.known is not None:
            listed(self.known)


@dataclass
class GivenArms:
    """The arms that a caller gives, sorted out."""

    labels: Labels | None = None  # None for an iterator, and when none were given
    payloads: dict[Label, Any] = field(default_factory=dict)  # what was given, where that is not the label
    iterator: Iterator[Any] | None = None

    def kept(self) -> Payloads | None:
        """Return what was given as a journal stores it."""
        if not self.payloads or self.labels is None:
            return None
        return kept_all((label, self.payloads.get(label, label)) for label in self.labels)


def given(arms: int | Iterable[Any] | Mapping[Label, Any] | None) -> GivenArms:
    """Sort out the arms that a caller gives."""
    if arms is None:
        return GivenArms()
    match sort_out(arms):
        case range() as labels:
            return GivenArms(labels)
        case list() as pairs:
            payloads = {label: payload for label, payload in pairs if payload is not label}
            return GivenArms(_as_labels([label for label, _ in pairs]), payloads)
        case iterator:
            return GivenArms(iterator=iterator)


def _as_labels(labels: list[Label]) -> Labels:
    """Return labels as a range where they are 0, 1, 2, …: as positions are."""
    return range(len(labels)) if labels and labels == [*range(len(labels))] else tuple(labels)


def created_from(settings: Settings, arms: GivenArms, at: float) -> Created:
    """Return the first event of a new study; a state made from it checks the rest."""
    policy = as_policy(settings.policy)
    return Created(
        at=at,
        origin=os.urandom(8).hex(),
        arms=arms.labels,
        payloads=arms.kept(),
        policy=format_spec(policy),
        policy_version=version_of(policy),
        seed=whole("seed", 0 if settings.seed is None else settings.seed, least=0),
        direction="maximize" if settings.direction is None else settings.direction,
        patience=whole("patience", 3 if settings.patience is None else settings.patience, least=1),
        lease=settings.lease,
        examples=settings.examples,
        details=None if settings.details is None else check_details(settings.details),
        package=package(),
    )


def check_same(state: StudyState, settings: Settings, arms: GivenArms) -> None:
    """Raise if settings differ from those of the study, and say in what."""
    created = state.created
    policy = None if settings.policy is None else format_spec(as_policy(settings.policy))
    differences = [
        f"{what} {ours}, not {theirs}" if ours is not None else f"no {what}, not {theirs}"
        for what, theirs, ours in (
            ("policy", policy, state.chosen.spec),
            ("seed", settings.seed, created.seed),
            ("direction", settings.direction, created.direction),
            ("patience", settings.patience, created.patience),
            ("lease", settings.lease, created.lease),
        )
        if theirs is not None and theirs != ours
    ]
    if settings.examples not in (None, created.examples):
        had = "no examples" if created.examples is None else counted(created.examples, "example")
        differences.append(f"{had}, not {settings.examples:,}")
    if settings.arms is not None:
        differences += _other_labels(state, arms)
    if differences:
        raise StudyDiffers(
            f"study {state.name!r} was made with {'; with '.join(differences)}",
            advice="leave out what the study knows itself, add new arms with add(), or choose another name",
        )
    if not settings.force:
        _check_same_things(state, settings, arms)


def changed(
    state: StudyState, settings: Settings, arms: GivenArms
) -> tuple[dict[Label, dict[str, Any] | None], dict[str, Any] | None]:
    """Return the arms and the details that differ from those of the study, as a journal stores them."""
    others: dict[Label, dict[str, Any] | None] = {
        label: kept(payload)
        for label, payload in arms.payloads.items()
        if not is_same(state.stored.get(label), label, payload)
    }
    others.update(dict.fromkeys(_just_labels_now(state, arms)))
    details = None if settings.details is None else check_details(settings.details)
    return others, None if details == state.details else details


def _check_same_things(state: StudyState, settings: Settings, arms: GivenArms) -> None:
    """Raise if other objects are given under the same labels, or other details."""
    name = state.name
    way = "give what it was made with, choose another name, or pass force=True to continue with the new one"
    for label, payload in arms.payloads.items():
        if not is_same(state.stored.get(label), label, payload):
            stored = state.stored.get(label)
            raise StudyChanged(
                f"arm {label!r} of study {name!r} {_difference(label, stored, payload)}, so its results would be mixed "
                "with those of another arm",
                advice=way,
            )
    for label in _just_labels_now(state, arms):
        raise StudyChanged(f"arm {label!r} of study {name!r} is not just its label, as now given", advice=way)
    if settings.details is not None:
        details = check_details(settings.details)
        theirs = state.details or {}
        for key in [*details, *theirs]:
            if details.get(key) != theirs.get(key):
                raise StudyChanged(
                    f"study {name!r} was made {_other_detail(key, theirs, details)}, so results of two kinds would be "
                    "mixed",
                    advice=way,
                )


def _other_detail(key: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Describe how details differ."""
    if key not in theirs:
        return f"without {key}, not with {key} {cut(repr(ours[key]), _LONGEST)}"
    if key not in ours:
        return f"with {key} {cut(repr(theirs[key]), _LONGEST)}, not without it"
    before, now = _apart(repr(theirs[key]), repr(ours[key]))
    return f"with {key} {before}, not {now}"


def _difference(label: Label, stored: dict[str, Any] | None, payload: Any) -> str:
    """Describe how an arm differs from the stored one: of two mappings, the first key that differs."""
    ours = label if stored is None else stored.get("json")
    if isinstance(ours, dict) and isinstance(payload, dict):
        for key in [*payload, *ours]:
            if key not in ours or key not in payload or ours[key] != payload[key]:
                mine, yours = (repr(each[key]) if key in each else "nothing" for each in (ours, payload))
                return f"has {cut(mine, _LONGEST)} as its {key}, not {cut(yours, _LONGEST)}"
    text = repr(ours) if stored is None or "json" in stored else "another object"
    return f"is {cut(text, _LONGEST)}, not {cut(repr(payload), _LONGEST)}"


def _just_labels_now(state: StudyState, arms: GivenArms) -> list[Label]:
    """Return the labels that are given alone, but have an object in the study."""
    if arms.labels is None or len(state.stored) <= len(arms.payloads):
        return []
    is_given = _in_range(arms.labels) if isinstance(arms.labels, range) else frozenset(arms.labels).__contains__
    return [label for label in state.stored if label not in arms.payloads and is_given(label)]


def _other_labels(state: StudyState, arms: GivenArms) -> Iterator[str]:
    """Describe how the arms differ; those that were added later may be anywhere, or be left out."""
    made, knows = state.created.arms, state.core.labels.knows
    if made is None or arms.iterator is not None:
        if made is not None:
            yield "a sequence or a number of arms, not an iterator"
        elif arms.iterator is None:
            yield "an iterator of arms, not a sequence or a number"
        return  # what an iterator gives is compared when it is drawn from
    theirs: Labels = arms.labels or ()
    if isinstance(made, range) and isinstance(theirs, range):
        if made != theirs and not (
            len(theirs) > len(made) and all(map(knows, theirs[len(made) :])) and theirs[: len(made)] == made
        ):
            yield f"{_ranged(made)}, not {_ranged(theirs)}" + _way_to_add(made, theirs)
        return
    first = made if isinstance(made, range) else frozenset(made)
    is_first = _in_range(made) if isinstance(made, range) else first.__contains__
    known = [label for label in theirs if is_first(label)]
    new = [label for label in theirs if not is_first(label) and not knows(label)]
    if new and known == [*made]:
        more = f" and {len(new) - 1:,} more" if len(new) > 1 else ""
        yield f"{len(made):,} arms, not {len(made) + len(new):,} ({new[0]!r}{more} must be added first)"
        return
    begun = [label for label in theirs if is_first(label) or not knows(label)]
    for position, (mine, yours) in enumerate(zip(made, begun, strict=False)):
        if mine != yours:
            yield f"arm {mine!r} at position {position}, not {yours!r}"
            return
    if len(begun) < len(made):
        yield f"{len(made):,} arms, not {len(begun):,}"


def _in_range(labels: range) -> Any:
    return lambda label: type(label) is int and label in labels


def _ranged(labels: range) -> str:
    return f"{len(labels):,} arms" if labels == range(len(labels)) else f"arms {labels!r}"


def _way_to_add(made: range, theirs: range) -> str:
    if len(theirs) > len(made) and theirs[: len(made)] == made:
        return f" ({theirs[len(made)]!r} and what follows must be added first)"
    return ""


def _apart(one: str, other: str) -> tuple[str, str]:
    """Return two texts, long ones from shortly before they differ."""
    if max(len(one), len(other)) <= _LONGEST:
        return one, other
    same = len(os.path.commonprefix([one, other]))  # noqa: RUF071  # letters, not folders
    first = max(0, same - _LONGEST // 3)
    one, other = (cut(f"…{text[first:]}" if first else text, _LONGEST) for text in (one, other))
    return one, other


def scale_of(details: Details | None) -> dict[str, float]:
    """Return the answers on the scale in a study's details, each with its reward; none without a scale."""
    try:
        return {answer["label"]: float(answer["reward"]) for answer in (details or {})[ABOUT]["scale"]}
    except (KeyError, TypeError, ValueError):  # details of a program that have nothing to do with raters
        return {}


def check_rewards(state: StudyState, rewards: Iterable[float]) -> None:
    """Raise if the study has a scale and a reward is not on it."""
    scale = scale_of(state.details)
    for reward in rewards if scale else ():
        if reward not in scale.values():
            raise InvalidInput(
                f"the reward is {_exact(reward)}, but must be one of the study's scale: {_answers(scale)}",
                advice="give one of these, or make a study of its own for other rewards",
            )


def check_change(state: StudyState, details: Details | None) -> None:
    """Raise if new details would change the rewards on the scale after results were told."""
    before, after, ledger = scale_of(state.details), scale_of(details), state.core.ledger
    if before == after or not ledger.rows:
        return
    if before:
        moved = [label for label, reward in after.items() if before.get(label, reward) != reward]
        if set(before.values()) == set(after.values()) and not moved:
            return
        problem = f"the scale is {_answers(before)}, and cannot become {_answers(after)} once there are ratings"
    else:
        rewards = (ledger.result(row).reward for row in range(ledger.rows))
        other = next((reward for reward in rewards if reward not in after.values()), None)
        if other is None:
            return
        problem = f"there is a result of {_exact(other)}, but every result must be on the new scale: {_answers(after)}"
    way = "keep the rewards, with other words for the answers if you like, or make another study with a new scale"
    raise InvalidInput(problem, advice=way)


def _answers(scale: Mapping[str, float]) -> str:
    answers = sorted(scale.items(), key=lambda answer: answer[1])
    return ", ".join(f"{_exact(reward)} ({label})" for label, reward in answers) or "none"


def _exact(reward: float) -> str:
    """Return a reward with all its digits: it may differ from those on the scale in the last."""
    return repr(reward).removesuffix(".0")
