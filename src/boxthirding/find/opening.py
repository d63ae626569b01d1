"""Open the study that a run works on: one in memory, in a database or on a server, or one that is open already."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from boxthirding._text import counted
from boxthirding.errors import ArmsUnavailable, InvalidInput, StudyChanged, StudyDiffers, UnknownStudy
from boxthirding.find.evaluation import Examples
from boxthirding.find.interrupts import InterruptibleIterator
from boxthirding.find.search import unavailable
from boxthirding.session import AskTell, Known, Session
from boxthirding.session.amendments import pairs_of
from boxthirding.session.labels import is_label
from boxthirding.session.values import Details
from boxthirding.types import Label, Policy

if TYPE_CHECKING:
    from boxthirding.client import RemoteStudy
    from boxthirding.study import Study

Arms = int | Iterable[Any] | Mapping[Label, Any]
Place = str | Path | tuple[str | Path, str]  # a path or URL, or that and the name of a study in it

_PAIR = 2


@dataclass(frozen=True)
class RunSettings:
    """What a run makes its study with; None stands for what the study has, or the default."""

    arms: Arms | None
    policy: Policy | None = None
    seed: int | None = None
    direction: str | None = None
    known: Known | None = None  # with examples, by the index of the example
    examples: Examples | None = None
    details: Details | None = None
    force: bool = False
    """Whether other arms under the same labels, other examples and other details replace those of the study."""

    def for_study(self, known: Known | None) -> dict[str, Any]:
        """Return the arguments of `open_study`; `known` is by pull."""
        return {**vars(self), "examples": None if self.examples is None else self.examples.most, "known": known}

    def known_by_pull(self, study: AskTell | None) -> Known | None:
        """Return the known results with the pulls that see their examples; `study` is None if it is still to be made.

        With examples that may be repeated, the pulls do not matter.
        """
        known, examples = self.known, self.examples
        if known is None or examples is None or (examples.repeat and not isinstance(known, Mapping)):
            return known
        if study is None:
            examples = examples.seeded(0 if self.seed is None else self.seed)
        else:
            with suppress(*([StudyChanged] if self.force else [])):  # with force, the study takes the new examples
                examples = examples.seeded(study.seed)
                examples = examples.paired(study)
        by_pull: dict[Label, Any] = {}
        for label, rewards in pairs_of(known):
            if not is_label(label):
                raise InvalidInput(f"a known result is of {label!r}, but a label must be a string or an integer")
            if isinstance(rewards, Mapping):
                pulls = by_pull.setdefault(label, {})
                for example, reward in rewards.items():
                    pull = examples.pull_of(example)
                    if pull in pulls:
                        raise InvalidInput(f"example {example} of {label!r} is known twice, but counts once")
                    pulls[pull] = reward
            elif examples.repeat:
                by_pull[label] = rewards
            else:
                raise InvalidInput(
                    f"the known result of {label!r} is {rewards!r} and names no example, but must: give "
                    "known={label: {index of the example: reward}}"
                )
        if examples.repeat:  # `known` is a mapping, so it has each label once
            return {label: [*found.values()] if isinstance(found, dict) else found for label, found in by_pull.items()}
        return by_pull


class Opened(NamedTuple):
    """The study that a run asks and tells."""

    study: AskTell
    examples: Examples | None  # in the order that the study has
    is_shared: bool = True  # whether other processes may work on it, or did
    is_ours: bool = False  # whether it was opened for this run, which closes it


def open_for_run(  # the study, and what find_best was given beside it
    stack: ExitStack, study: Place | AskTell | None, settings: RunSettings, timeout: float
) -> Opened:
    """Return the session or study of a run; `stack` closes it if this function opened it."""
    examples = settings.examples
    if isinstance(settings.arms, Iterator):
        settings = replace(settings, arms=InterruptibleIterator(settings.arms))
    try:
        if study is None:
            if settings.arms is None:
                raise InvalidInput("arms is None, but only a study that is there has arms of its own: give arms")
            given = settings.for_study(settings.known_by_pull(None))
            of_session = ("arms", "policy", "seed", "direction", "examples", "known")
            session = Session(**{name: given[name] for name in of_session if given[name] is not None})
            return Opened(session, paired(session, examples, is_new=True), is_shared=False)
        if hasattr(study, "ask") and not isinstance(study, type):
            _refuse_settings(settings)
            opened: Any = study
        else:
            opened = open_or_make(*place_and_name(study), settings, timeout=timeout)
            stack.callback(opened.close)
        _check_number_of_examples(opened, examples)
        _check_arms(opened)
        return Opened(opened, paired(opened, examples), is_ours=opened is not study)
    except ArmsUnavailable as error:  # from the first arm
        raise unavailable(error) from error.__cause__


def open_or_make(
    url: str,
    name: str | None,
    settings: RunSettings,
    *,
    timeout: float | None = None,
    check: Callable[["Study | RemoteStudy"], None] | None = None,
) -> "Study | RemoteStudy":
    """Open a study, or make it; what it is made with is checked before anything is written.

    `check` is called with a study that is there already, and raises what is wrong with it.
    """
    from boxthirding.client.addresses import is_remote  # noqa: PLC0415  # most runs keep no study

    known = settings.known
    if check is not None or (known is not None and settings.examples is not None):
        try:
            there = open_place(url, name, timeout=timeout)
        except UnknownStudy:
            known = settings.known_by_pull(None)
            if not (is_remote(url) or isinstance(settings.arms, Iterator)):  # a server does it itself
                rehearse(name or "", settings.for_study(known))
        else:
            with there:
                if check is not None:
                    check(there)
                known = settings.known_by_pull(there)
    try:
        study = open_place(url, name, timeout=timeout, **settings.for_study(known))
    except StudyDiffers:
        with open_place(url, name, timeout=timeout) as there:
            _check_number_of_examples(there, settings.examples)
        raise
    if settings.force:
        paired(study, settings.examples, force=True)
    return study


def open_place(url: str, name: str | None, *, timeout: float | None = None, **settings: Any) -> "Study | RemoteStudy":
    """Open a study in a database or on a server; the package that this takes is loaded only then."""
    from boxthirding.client.addresses import is_remote  # noqa: PLC0415  # most runs keep none

    if timeout is not None:
        settings["timeout"] = timeout
    if is_remote(url):
        from boxthirding.client import RemoteStudy  # noqa: PLC0415

        return RemoteStudy(url, name=name, **settings)
    from boxthirding.storage.opening import NAME, open_study  # noqa: PLC0415

    return open_study(url, NAME if name is None else name, **settings)


def place_and_name(place: object) -> tuple[str, str | None]:
    """Return the path or URL of a study, and its name, if that is given beside it."""
    if isinstance(place, str | Path):
        return str(place), None
    if isinstance(place, tuple | list) and len(place) == _PAIR and isinstance(place[0], str | Path):
        return str(place[0]), place[1]
    raise InvalidInput(
        f"study is {place!r}, but must be a path or URL, or a pair of that and the name of a study (find_best also "
        "takes an open study)"
    )


def paired(study: AskTell, examples: Examples | None, *, is_new: bool = False, force: bool = False) -> Examples | None:
    """Return examples in the order that a study has; refuse others than those that it was made with."""
    if examples is not None:
        return examples.seeded(study.seed).paired(study, is_new=is_new, force=force)
    if not is_new and hasattr(study, "pair"):
        study.pair((), ())
    return None


def rehearse(name: str, settings: dict[str, Any]) -> None:
    """Raise if the settings cannot become a study, before a database is created."""
    from boxthirding.storage.memory import MemoryJournal  # noqa: PLC0415  # the same
    from boxthirding.study import Settings, Study  # noqa: PLC0415

    Study(name, MemoryJournal(), Settings(**settings)).close()


def _refuse_settings(settings: RunSettings) -> None:
    """Raise on settings that an open study already has."""
    for name in ("policy", "seed", "direction"):
        value = getattr(settings, name)
        if value is not None:
            raise InvalidInput(f"{name} is {value!r}, but the open study has its own: leave it out")
    if settings.arms is not None:
        raise InvalidInput("arms were given, but the open study has its own: give None instead")
    if settings.known is not None:  # the same call may be made again, and nothing tells which of them are there already
        raise InvalidInput("known results were given beside an open study: call its observe_all() with them, once")


def _check_arms(study: Any) -> None:
    """Raise if the study stores only digests of arms: `evaluate` would be called with their labels."""
    missing = study.not_here() if hasattr(study, "not_here") else []
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise InvalidInput(
            f"arm {missing[0]!r}{more} of the study cannot be evaluated here, as an arm that is no JSON is not stored",
            advice="give the same arms again, here or to open_study()",
        )


def _check_number_of_examples(study: AskTell, examples: Examples | None) -> None:
    """Raise unless there are as many examples as in the study, whose pulls are pairs of an arm and an example."""
    most = None if examples is None else examples.most
    if most != study.examples:
        if most is not None and study.examples is not None:
            paired(study, examples)  # it names the first example that is missing or too many
        has = "no examples" if study.examples is None else f"{counted(study.examples, 'example')} that run out"
        given = "none" if examples is None else f"{len(examples):,}{' that may be repeated' if most is None else ''}"
        raise StudyDiffers(
            f"the study has {has}, but {given} {'is' if given == '1' else 'are'} given",
            advice="give examples= as when it was made, or use another study",
        )
