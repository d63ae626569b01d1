"""What a process was given as arms: objects under labels, and perhaps an iterator that gives more.

What was drawn from an iterator is in the journal, and no process draws it twice. Each process that opens the study may
bring an iterator of its own, which must give the same arms in the same order: it is moved past those that the journal
has. A process without one works with the arms there are.

An arm may take long to make, so none is made while others wait for the journal: a decision finds arms that were drawn
ahead, or stops there until one has been.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from boxthirding.errors import ArmsUnavailable, BoxThirdingError, InvalidInput, StudyDiffers
from boxthirding.session.labels import Dry, is_label
from boxthirding.study.arm_payloads import is_json, is_same
from boxthirding.types import Label


class NotDrawn(BaseException):  # no Exception: an iterator's own error is something else
    """The next arm must be drawn first, while no one waits for it."""


class _CutOff(Exception):
    """The iterator has raised before."""


class _Drawn(NamedTuple):
    """What an iterator gave: an arm, or the error that it raised, StopIteration at its end."""

    arm: Any
    error: Exception | None = None


class ArmSource:
    """The objects that this process was given as arms, and all that its iterator has given.

    The iterator may be ahead of the journal or behind it.
    """

    def __init__(self, payloads: dict[Label, Any] | None = None, iterator: Iterator[Any] | None = None) -> None:
        self.payloads = {} if payloads is None else payloads
        """By label, what was given as an arm, where that is not the label."""
        self.iterator = iterator
        self._drawing = threading.Lock()
        self._is_cut_off = False  # whether it has raised: what it gives next may not be the next arm
        self._given: list[_Drawn] = []
        self._places: list[int] = []  # by arm that the journal has: where it stands in `_given`
        self._refused: set[int] = set()  # places of arms that cannot be taken, such as one that is there already
        self._next = 0  # where the next arm of a decision stands

    def not_stored(self) -> dict[Label, Any]:
        """Return the objects of which the journal has only a digest."""
        return {label: payload for label, payload in self.payloads.items() if not is_json(payload)}

    def draw_ahead(self, n: int) -> None:
        """Draw until the next n arms are there; this is where the iterator takes its time."""
        with self._drawing:
            while self.iterator is not None and len(self._given) < self._next + n and not self._has_raised():
                try:
                    self._given.append(self._drawn(self.iterator))
                except BaseException:
                    self._is_cut_off = True
                    raise

    def draw(self) -> Any:
        """Return the next arm, or raise what the iterator raised there."""
        while self._next in self._refused:
            self._next += 1
        if self._next < len(self._given):
            arm, error = self._given[self._next]
        elif self._has_raised():  # asked once more after its end, or after an error
            arm, error = None, self._given[-1].error
            error = error if isinstance(error, StopIteration) else _CutOff()
        else:
            raise NotDrawn
        self._next += 1
        if error is not None:
            raise error
        return arm

    def catch_up(
        self, drawn: Sequence[Label], stored: Mapping[Label, dict[str, Any]], knows: Callable[[object], bool]
    ) -> int:
        """Move to where the journal is, and keep the payloads of what it has; return how many arms to draw for that."""
        del self._places[len(drawn) :]  # a decision may have been rolled back
        for number in range(len(self._places), len(drawn)):
            self._next = self._places[-1] + 1 if self._places else 0
            try:
                self._places.append(self._find(number, drawn, stored, knows))
            except NotDrawn:
                return len(drawn) - number
        self._next = self._places[-1] + 1 if self._places else 0
        return 0

    def explained(self, trouble: BoxThirdingError) -> BoxThirdingError:
        """Add to the error of an iterator what to do in a study, where another one may follow it.

        The error of an arm that was refused is raised once, and the arm skipped from then on.
        """
        if self.iterator is not None and isinstance(trouble, InvalidInput):
            self._refused.add(self._next - 1)
        if self.iterator is None or not isinstance(trouble, ArmsUnavailable):
            return trouble
        return _unavailable(trouble.problem, trouble.__cause__)

    def _find(
        self,
        number: int,
        drawn: Sequence[Label],
        stored: Mapping[Label, dict[str, Any]],
        knows: Callable[[object], bool],
    ) -> int:
        """Return where the arm stands that the journal has as this number."""
        label = drawn[number]
        while True:
            try:
                arm = self.draw()
            except StopIteration:
                raise _differs(f"ends after {number:,} of {len(drawn):,} arms that the study has drawn") from None
            except Exception as error:
                said = f"the iterator of arms raised {error!r} at arm {number + 1}, which the study has"
                raise _unavailable(said, error) from error
            if not is_label(arm):
                if not is_same(stored.get(label), label, arm):
                    raise _differs(f"gives another arm {number + 1} than the one that the study has as {label!r}")
                self.payloads[label] = arm
                return self._next - 1
            if arm == label:
                return self._next - 1
            if not knows(arm):  # else it was given twice, and refused the second time then as well
                raise _differs(f"gives {arm!r} as arm {number + 1}, but the study has {label!r} there")

    def _has_raised(self) -> bool:
        return bool(self._given) and self._given[-1].error is not None

    def _drawn(self, iterator: Iterator[Any]) -> _Drawn:
        """Ask the iterator itself, never again after it raised; its error is raised where the arm is needed."""
        if self._is_cut_off:
            return _Drawn(None, _CutOff())
        try:
            return _Drawn(next(iterator))
        except StopIteration as end:
            return _Drawn(None, end)
        except Exception as error:  # noqa: BLE001
            self._is_cut_off = True
            return _Drawn(None, error)


class Feed:
    """The iterator that a study's core draws from: the journal while that is read, the source while it decides."""

    def __init__(self, source: ArmSource, stored: Mapping[Label, dict[str, Any]]) -> None:
        self.source = source
        self.stored = stored  # what was given as arms, as the journal stores it, where that is not the label
        self.is_live = False  # whether to draw from the source when the journal has no more
        self.drawn: list[Label] = []  # what has been drawn, by any process
        self._written: deque[Label] = deque()
        self._ended = False

    def expect(self, labels: Sequence[Label], *, ended: bool) -> None:
        """Give these next, and then end or not, as the journal has it."""
        self._written.extend(labels)
        self._ended = ended

    def keep(self, pairs: Sequence[tuple[Label, Any]]) -> None:
        """Keep arms that were drawn, and what they are."""
        self.drawn.extend([label for label, _ in pairs])
        if self.is_live:
            self.source.payloads.update({label: payload for label, payload in pairs if payload is not label})

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._written:
            return self._written.popleft()
        if self._ended:
            raise StopIteration
        if not self.is_live or self.source.iterator is None:
            raise Dry
        return self.source.draw()


def _unavailable(said: str, error: BaseException | None) -> ArmsUnavailable:
    """Return the error of an iterator that cannot be used again: it may skip an arm after an error."""
    if isinstance(error, _CutOff):
        said = "the iterator of arms was interrupted before, and may have skipped an arm"
    unavailable = ArmsUnavailable(said, advice="open the study with a new iterator to continue")
    unavailable.__cause__ = error
    return unavailable


def _differs(how: str) -> StudyDiffers:
    return StudyDiffers(f"the iterator of arms {how}: give one that gives the same arms in the same order, or none")
