"""Arms from an iterator, in a study: what was drawn is in the journal, and no process draws it twice.

Each process that opens the study may bring an iterator of its own, which must give the same arms in the same order. It
is moved past those that the journal has, whichever process drew them. A process without one works with the arms there
are.

An arm may take long to make, so none is made while others wait for the journal: a decision finds arms that were drawn
ahead, or stops there until one has been.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from boxthirding.errors import ArmsUnavailable, BoxThirdingError, InvalidInput, StudyDiffers
from boxthirding.session.labels import Dry, is_label
from boxthirding.session.values import Ticket
from boxthirding.study.payloads import is_json, is_same
from boxthirding.types import Label


class NotDrawn(BaseException):  # no Exception: an iterator's own error is something else
    """The next arm must be drawn first, where no one has to wait for it."""


Trouble: TypeAlias = BoxThirdingError | NotDrawn | None
"""What kept an arm from being handed out."""


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


class ArmSource:
    """The iterator that this process brings, and all that it has given: ahead of the journal, or behind it."""

    def __init__(self, iterator: Iterator[Any], payloads: dict[Label, Any]) -> None:
        self._iterator = iterator
        self._payloads = payloads
        self._drawing = threading.Lock()
        self._is_cut_off = False  # whether it has raised: what it gives next may not be what comes next
        self._given: list[_Drawn] = []
        self._places: list[int] = []  # by arm that the journal has: where it stands in `_given`
        self._refused: set[int] = set()  # places of arms that cannot be taken, such as one that is there already
        self._next = 0  # where the next arm of a decision stands

    def draw_ahead(self, n: int) -> None:
        """See to it that the next n arms are there; this is where the iterator takes its time."""
        with self._drawing:
            while len(self._given) < self._next + n and not (self._given and self._given[-1].error is not None):
                try:
                    self._given.append(self._drawn())
                except BaseException:
                    self._is_cut_off = True
                    raise

    def draw(self) -> Any:
        """Return the next arm, for an event that is being made."""
        while self._next in self._refused:
            self._next += 1
        drawn = self._at(self._next)
        self._next += 1
        return drawn.unpacked()

    def keep(self, payloads: Mapping[Label, Any]) -> None:
        """Keep what was given as arms that were drawn just now."""
        self._payloads.update(payloads)

    def catch_up(
        self, drawn: Sequence[Label], stored: Mapping[Label, dict[str, Any]], knows: Callable[[object], bool]
    ) -> int:
        """Move to where the journal is, and keep the payloads of what it has; return how many arms to draw for that."""
        del self._places[len(drawn) :]  # a decision may have been rolled back
        while len(self._places) < len(drawn):
            number, label = len(self._places), drawn[len(self._places)]
            self._next = self._places[-1] + 1 if self._places else 0
            try:
                place = self._find(number, label, len(drawn), stored, knows)
            except NotDrawn:
                return len(drawn) - number
            self._places.append(place)
        self._next = self._places[-1] + 1 if self._places else 0
        return 0

    def explained(self, trouble: Trouble) -> Trouble:
        """Say of an iterator that raised what to do in a study, where another one may follow it.

        An arm that was refused is said once, and passed over from then on.
        """
        if isinstance(trouble, InvalidInput):
            self._refused.add(self._next - 1)
        if not isinstance(trouble, ArmsUnavailable):
            return trouble
        return _unavailable(trouble.problem, trouble.__cause__)

    def _find(
        self,
        number: int,
        label: Label,
        of: int,
        stored: Mapping[Label, dict[str, Any]],
        knows: Callable[[object], bool],
    ) -> int:
        """Return where the arm stands that the journal has as this number and label."""
        while True:
            try:
                arm = self.draw()
            except StopIteration:
                raise _differs(f"ends after {number:,} of {of:,} arms that the study has drawn") from None
            except Exception as error:
                said = f"the iterator of arms raised {error!r} at arm {number + 1}, which the study has"
                raise _unavailable(said, error) from error
            if not is_label(arm):
                if not is_same(stored.get(label), label, arm):
                    raise _differs(f"gives another arm {number + 1} than the one that the study has as {label!r}")
                self._payloads[label] = arm
                return self._next - 1
            if arm == label:
                return self._next - 1
            if not knows(arm):  # else it was given twice, and refused the second time then as well
                raise _differs(f"gives {arm!r} as arm {number + 1}, but the study has {label!r} there")

    def _at(self, place: int) -> _Drawn:
        if place < len(self._given):
            return self._given[place]
        if self._given and self._given[-1].error is not None:  # asked once more after its end, or after an error
            last = self._given[-1].error
            return _Drawn(None, last if isinstance(last, StopIteration) else _CutOff())
        raise NotDrawn

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


class OwnArms:
    """What this process was given as arms: where that is not the label, and its iterator, if it was given one."""

    def __init__(self, payloads: dict[Label, Any], iterator: Iterator[Any] | None) -> None:
        self.payloads = payloads
        self.source = None if iterator is None else ArmSource(iterator, payloads)

    def not_stored(self) -> dict[Label, Any]:
        """Return what was given here and stands in the journal by a digest alone."""
        return {label: payload for label, payload in self.payloads.items() if not is_json(payload)}

    def draw_ahead(self, n: int) -> None:
        """Let the iterator make arms; no one else waits for that."""
        if self.source is not None:
            self.source.draw_ahead(n)

    def with_payload(self, ticket: Ticket) -> Ticket:
        """Return a ticket with what was given here as its arm."""
        if ticket.label not in self.payloads:
            return ticket
        full = Ticket(*ticket[:4], self.payloads[ticket.label])
        full.origin = ticket.origin
        return full

    def explained(self, trouble: Trouble) -> Trouble:
        """Say what to do about what kept an arm from being handed out."""
        return trouble if self.source is None else self.source.explained(trouble)


class Feed:
    """The iterator that a study's core draws from: the journal while that is read, the source while it decides."""

    def __init__(self, source: ArmSource | None, stored: Mapping[Label, dict[str, Any]]) -> None:
        self.source = source
        self.stored = stored
        """What was given as these, as the journal keeps it, where that is not the label."""
        self.is_live = False
        """Whether to draw from the source when the journal says nothing."""
        self.drawn: list[Label] = []
        """What has been drawn, by any process."""
        self._written: deque[Label] = deque()
        self._ended = False

    def expect(self, labels: Sequence[Label], *, ended: bool) -> None:
        """Give these next, and then end or not, because the journal says so."""
        self._written.extend(labels)
        self._ended = ended

    def keep(self, pairs: Sequence[tuple[Label, Any]]) -> None:
        """Keep arms that were drawn, and what they are."""
        self.drawn.extend([label for label, _ in pairs])
        if self.source is not None and self.is_live:
            self.source.keep({label: payload for label, payload in pairs if payload is not label})

    def catch_up(self, knows: Callable[[object], bool]) -> int:
        """Move the iterator of this process to where the journal is; return how many arms to draw for that."""
        return 0 if self.source is None else self.source.catch_up(self.drawn, self.stored, knows)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._written:
            return self._written.popleft()
        if self._ended:
            raise StopIteration
        if not self.is_live or self.source is None:
            raise Dry
        return self.source.draw()


def _unavailable(said: str, error: BaseException | None) -> ArmsUnavailable:
    """Say that an iterator is of no more use: were it to skip an arm after an error, the rest would be shifted."""
    if isinstance(error, _CutOff):
        said = "the iterator of arms was broken off before, and may have skipped an arm"
    unavailable = ArmsUnavailable(said, advice="open the study with a new iterator to continue")
    unavailable.__cause__ = error
    return unavailable


def _differs(how: str) -> StudyDiffers:
    return StudyDiffers(f"the iterator of arms {how}: give one that gives the same arms in the same order, or none")
