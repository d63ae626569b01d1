"""The studies of a place, each opened once and shared by all requests, with what is said about it to raters."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from boxthirding._checks import served_name
from boxthirding._text import counted, cut
from boxthirding.errors import BoxThirdingError, InvalidInput, UnknownStudy
from boxthirding.policies.spec import needs_import
from boxthirding.service.batches import Batches
from boxthirding.service.rater_stats import Tally
from boxthirding.service.remote_workers import RemoteWorkers
from boxthirding.service.streams import Announcer
from boxthirding.storage import list_studies, open_study
from boxthirding.storage.opening import delete_study
from boxthirding.storage.server_records import Records
from boxthirding.study import Study
from boxthirding.study.settings import ABOUT

LATELY: Final = 60.0
"""Seconds after its last request for which a holder counts as active; closed browsers hold tickets for longer."""

_FEWEST, _MOST = 2, 11  # answers on a scale


@dataclass(frozen=True)
class Choice:
    """A button, and the reward that it stands for."""

    label: str
    reward: float


@dataclass(frozen=True)
class About:
    """What raters are shown, and how they are led through."""

    question: str = ""
    description: str = ""
    picture: str | None = None  # the id of an upload
    scale: tuple[Choice, ...] = ()
    instructions: str = ""
    consent: str = ""
    thanks: str = ""
    completion: str | None = None  # where a rater goes in the end, as Prolific wants it
    sitting: int | None = None  # ratings of one rater, at most
    repeats: bool = False  # whether a rater may be given an arm more than once

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**asdict(self), "scale": [asdict(answer) for answer in self.scale]}

    def reward(self, label: str) -> float:
        """Return the reward of an answer."""
        for answer in self.scale:
            if answer.label == label:
                return answer.reward
        labels = ", ".join(repr(answer.label) for answer in self.scale)
        raise InvalidInput(f"the answer is {label[:80]!r}, but must be one of {labels or 'none: there is no scale'}")

    def answer(self, reward: float) -> str | None:
        """Return the answer that stands for a reward, if one does."""
        return next((answer.label for answer in self.scale if answer.reward == reward), None)


def about_of(details: Mapping[str, Any]) -> About:
    """Return what a study's details say to raters."""
    said = dict(details.get(ABOUT) or {})
    scale = tuple(Choice(**answer) for answer in said.pop("scale", ()))
    return About(scale=scale, **{name: value for name, value in said.items() if name in About.__dataclass_fields__})


def _about_given(said: Any) -> dict[str, Any]:
    """Return what a program's details say to raters; raise unless raters could be shown it."""
    try:
        return check_about(about_of({ABOUT: said})).as_dict()
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"the detail {ABOUT!r} is {cut(repr(said), 80)}, but must be what raters are shown, such as "
            "{'question': …, 'scale': [{'label': …, 'reward': …}, …]}: give it another name"
        ) from None


def check_about(about: About) -> About:
    """Raise if a scale cannot be answered, or if two answers have the same label or reward."""
    if about.scale and not _FEWEST <= len(about.scale) <= _MOST:
        raise InvalidInput(f"the scale has {counted(len(about.scale), 'answer')}, but must have {_FEWEST} to {_MOST}")
    labels: set[str] = set()
    of_reward: dict[float, str] = {}
    for label, reward in ((answer.label, answer.reward) for answer in about.scale):
        if label in labels:
            raise InvalidInput(f"the answer {label!r} is on the scale twice, but each must be another one")
        other = of_reward.setdefault(reward, label)
        if other != label:
            raise InvalidInput(
                f"the answers {other!r} and {label!r} both stand for the reward {reward:g}, but each must have one of "
                f"its own",
                advice="give one of them another reward, or leave it out",
            )
        labels.add(label)
    return about


class Served:
    """An open study, what its events add up to for raters, and the streams of its events."""

    def __init__(self, study: Study, records: Records, clock: Callable[[], float] = time.time) -> None:
        self.study = study
        self._clock = clock
        self.tally = Tally(study, records)
        self.announcer = Announcer(study)
        self.batches = Batches(study)
        self.workers = RemoteWorkers(study)
        self.arms: dict[int, dict[str, Any]] = {}
        """What raters see of the arms of their open tickets, as far as it was looked up."""
        self.guests: set[int] = set()
        """Those of them that a browser has under an id of another: each browser rates what it was given."""
        self._about: tuple[Mapping[str, Any] | None, About] = (None, About())

    @property
    def about(self) -> About:
        """What raters are shown."""
        details = self.tally.details_at_hand()
        if details is None:  # reading a long journal takes seconds: no page waits for that
            return about_of(self.study.details)
        if self._about[0] is not details:
            self._about = (details, about_of(details))
        return self._about[1]

    def active(self) -> set[str]:
        """Return the raters and programs who were heard of in the last minute."""
        return self.tally.heard_since(self._clock() - LATELY)

    def close(self) -> None:
        """Close the study."""
        self.tally.keep()
        self.study.close()

    def describe(self, about: About) -> None:
        """Replace what raters are shown."""
        self.study.describe({**self.study.details, ABOUT: about.as_dict()})


class Studies:
    """The open studies of a place; thread-safe."""

    def __init__(
        self,
        place: str,
        records: Records,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.place = place
        self._clock = clock
        self._records = records
        self._open: dict[str, Served] = {}
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """Return the names of all studies there are."""
        return list_studies(self.place)

    def all_at_hand(self) -> list[Served]:
        """Return the studies that are open."""
        return list(self._open.values())

    def at_hand(self, name: str) -> Served | None:
        """Return a study, if it is open and no other process has deleted it."""
        served = self._open.get(name)
        return None if served is None or served.study.is_gone else served

    def get(self, name: str) -> Served:
        """Return a study that is there."""
        if (served := self.at_hand(name)) is not None:
            return served
        with self._lock:
            if self.at_hand(name) is None:
                self._drop(name)
            return self._opened(name)

    def origin(self, name: str | None) -> str:
        """Return what tells a study from another of its name; nothing, if there is none that can be read."""
        try:
            return "" if name is None else str(self.get(name).study.origin)
        except BoxThirdingError:
            return ""  # for the one who looks at the study to say

    def is_same(self, name: str, origin: str, *, fresh: bool) -> bool:
        """Return whether a study is there and of this origin; with `fresh`, as the database has it now."""
        try:
            if fresh:
                with suppress(UnknownStudy):  # then the next line opens the one that was made after it
                    _ = self.get(name).study.seq
            return self.get(name).study.origin == origin
        except UnknownStudy:
            return False

    def new(self, name: str, arms: Any, about: About, **settings: Any) -> Served:
        """Make a study; refuse a name that is taken."""
        check_policy(settings.get("policy"))
        with self._lock:
            if name in self.names():
                raise InvalidInput(f"there is a study {name!r} already: choose another name, or delete that one first")
            self._drop(name)
            return self._opened(served_name(name), arms=arms, details={ABOUT: check_about(about).as_dict()}, **settings)

    def keep(self, name: str, details: Mapping[str, Any] | None, **settings: Any) -> Served:
        """Return a study, made if it is not there and else held against what is given, as `open_study` does."""
        is_there = name in self.names()
        if not is_there:
            served_name(name)
        if not (is_there and settings.get("policy") == self.get(name).study.view().policy):
            check_policy(settings.get("policy"))
        about = self.get(name).study.details.get(ABOUT) if is_there else About().as_dict()
        if details is not None and ABOUT in details:
            about = _about_given(details[ABOUT])
        if details is not None or not is_there:
            settings["details"] = {**(details or {}), **({} if about is None else {ABOUT: about})}
        with self._lock:
            study = open_study(self.place, name, **settings)
            study.close()
            if name in self._open and self._open[name].study.origin != study.origin:
                self._drop(name)
            return self._opened(name)

    def delete(self, name: str) -> None:
        """Delete a study permanently."""
        with self._lock:
            delete_study(self.place, name)
            self._drop(name)

    def close(self) -> None:
        """Close all studies."""
        with self._lock:
            for served in self._open.values():
                served.close()
            self._open.clear()

    def _drop(self, name: str) -> None:
        """Close a study that was deleted, here or by another process."""
        if name in self._open:
            self._open.pop(name).study.close()

    def _opened(self, name: str, **settings: Any) -> Served:
        if name not in self._open:
            try:
                study = open_study(self.place, name, **settings)
            except UnknownStudy:
                raise UnknownStudy(f"there is no study {name!r} here: look at the list of studies") from None
            self._open[name] = Served(study, self._records, self._clock)
        return self._open[name]


def check_policy(spec: str | None) -> None:
    """Raise if a SPEC would make the server import a module: it runs installed policies only."""
    if spec is not None and needs_import(spec):
        raise InvalidInput(
            f"policy is {spec!r}, but a server imports no module on request",
            advice="install its package there with an entry point boxthirding.policies, and give that name",
        )


def arms_from(rows: Iterable[tuple[Any, Any]]) -> Any:
    """Return (label, payload) pairs as arms; a payload that is None stands for the label itself."""
    arms: dict[Any, Any] = {}
    for position, (label, payload) in enumerate(rows):
        if label in arms:
            raise InvalidInput(f"label {label!r} stands at position {position} again, but a label must be unique")
        arms[label] = label if payload is None else payload
    return arms
