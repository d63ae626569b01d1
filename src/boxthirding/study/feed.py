"""Arms from an iterator, in a study: what was drawn stands in the journal, and no process draws it twice.

Each process that opens the study may bring an iterator of its own, which must give the same arms in the same order. It
is moved past those that the journal has, whoever drew them. A process without one goes on with the arms there are.

An arm may take long to make, so none is made while others wait for the journal: whoever decides finds arms that were
drawn ahead, or stops there until one has been.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from boxthirding.errors import ArmsUnavailable, BoxThirdingError, StudyDiffers
from boxthirding.session.labels import Dry, is_label
from boxthirding.types import Label


class NotDrawn(BaseException):  # no Exception: an iterator's own error is something else to whoever draws from one
    """The next arm must be drawn first, where nobody has to wait for it."""


Trouble: TypeAlias = BoxThirdingError | NotDrawn | None
"""What kept an arm from being dealt."""


class _CutOff(Exception):
    """The iterator has raised before."""


class _Drawn(NamedTuple):
    """What an iterator gave: an arm, or the error that it raised, StopIteration at its end."""

    arm: Any
    error: Exception | None = None

    def unpacked(self) -> Any:
        """Return the arm, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.arm


class Supply:
    """The iterator that this process brings: ahead of the journal, or behind it."""

    def __init__(self, iterator: Iterator[Any], payloads: dict[Label, Any]) -> None:
        self._iterator = iterator
        self._payloads = payloads
        self._drawing = threading.Lock()
        self._is_cut_off = False  # whether it has raised: what it gives next may not be what comes next
        self._ahead: deque[_Drawn] = deque()  # given, and in no event that was committed
        self._taken: list[_Drawn] = []  # given in the transaction under way
        self.passed = 0
        """How many of the study's drawn arms it is past."""
        self._committed = 0  # of those, how many are in events that were committed

    def draw_ahead(self, n: int) -> None:
        """See to it that up to n arms are ready; this is where the iterator takes its time."""
        with self._drawing:
            while len(self._ahead) < n:
                try:
                    drawn = self._drawn()
                    self._ahead.append(drawn)
                except BaseException:
                    self._is_cut_off = True
                    raise
                if drawn.error is not None:
                    return

    def explained(self, trouble: Trouble) -> Trouble:
        """Say of an iterator that raised what to do in a study, where another one may follow it."""
        if not isinstance(trouble, ArmsUnavailable):
            return trouble
        return _unavailable(str(trouble).partition("; ask again")[0], trouble.__cause__)

    def draw(self) -> Any:
        """Return the next arm, for an event that is being made."""
        drawn = self._next()
        self._taken.append(drawn)
        return drawn.unpacked()

    def committed(self) -> None:
        """Forget what was taken: it is in the journal."""
        self._taken, self._committed = [], self.passed  # no interrupt comes between the two

    def rolled_back(self) -> None:
        """Take back what was taken: no event has it."""
        self._ahead.extendleft(reversed(self._taken))
        self._taken.clear()
        self.passed = self._committed

    def catch_up(self, drawn: Sequence[Label], knows: Callable[[object], bool]) -> None:
        """Move past the arms that the journal has, and keep their payloads."""
        while self.passed < len(drawn):
            label = drawn[self.passed]
            try:
                arm = self._next().unpacked()
            except StopIteration:
                raise _differs(f"ends after {self.passed:,} of {len(drawn):,} arms that the study has drawn") from None
            except Exception as error:
                said = f"the iterator of arms raised {error!r} at arm {self.passed + 1}, which the study has"
                raise _unavailable(said, error) from error
            if not is_label(arm):
                self._payloads[label] = arm
            elif arm != label:
                if knows(arm):
                    continue  # given twice, and refused the second time then as well
                raise _differs(f"gives {arm!r} as arm {self.passed + 1}, but the study has {label!r} there")
            self.passed += 1
            self._committed = self.passed

    def _drawn(self) -> _Drawn:
        """Ask the iterator itself, never again after it raised; an error is raised where the arm is needed."""
        if self._is_cut_off:
            return _Drawn(None, _CutOff())
        try:
            return _Drawn(next(self._iterator))
        except StopIteration as end:
            return _Drawn(None, end)
        except Exception as error:  # noqa: BLE001
            self._is_cut_off = True
            return _Drawn(None, error)

    def _next(self) -> _Drawn:
        if not self._ahead:
            raise NotDrawn
        return self._ahead.popleft()


class Feed:
    """The iterator that a study's session draws from: the journal while that is read, a supply while it decides."""

    def __init__(self, supply: Supply | None = None) -> None:
        self.supply = supply
        self.is_live = False
        """Whether to draw from the supply when the journal says nothing."""
        self.drawn: list[Label] = []
        """What has been drawn, by anybody."""
        self._written: deque[Label] = deque()
        self._ended = False

    def expect(self, labels: Sequence[Label], *, ended: bool) -> None:
        """Give these next, and then end or not, because the journal says so."""
        self._written.extend(labels)
        self._ended = ended

    @property
    def is_used_up(self) -> bool:
        """Whether all that the journal said was drawn has been."""
        return not self._written

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._written:
            return self._written.popleft()
        if self._ended:
            raise StopIteration
        if not self.is_live or self.supply is None:
            raise Dry
        return self.supply.draw()


def _unavailable(said: str, error: BaseException | None) -> ArmsUnavailable:
    """Say that an iterator is of no more use: were it to skip an arm after an error, the rest would be shifted."""
    if isinstance(error, _CutOff):
        said = "the iterator of arms was broken off before, and may have skipped an arm"
    unavailable = ArmsUnavailable(f"{said}; open the study with a new one to go on")
    unavailable.__cause__ = error
    return unavailable


def _differs(how: str) -> StudyDiffers:
    return StudyDiffers(f"the iterator of arms {how}: give one that gives the same arms in the same order, or none")
