"""All errors that this package raises on purpose.

BoxThirdingError
├── InvalidInput (also a ValueError)       a value is invalid; the message gives the value and the rule
│   ├── UnknownLabel                       no arm has that label
│   ├── TicketRefused                      the result for this ticket was rejected
│   │   ├── UnknownTicket                  this session never issued it
│   │   ├── AlreadyTold                    the ticket already has a result, which is kept
│   │   └── ArmWithdrawn                   its arm was withdrawn
│   ├── CannotAmend                        the policy does not support known results, corrections or exclusions
│   ├── UnreadableData                     a file is missing, empty or not in the expected format
│   │   ├── NoHeader                       its first line holds data, not column names
│   │   └── PolicyMissing                  the policy of the study is not installed, or has a different version
│   ├── ResultsRefused                     a results file has a different version or settings, or is in use
│   ├── UnknownStudy                       no study has that name, and no arms were given to create one
│   ├── AccessRefused                      the API key is missing, unknown, or lacks permission for this call
│   ├── StudyDiffers                       the study was created with different arms or settings
│   │   └── StudyChanged                   the same labels now refer to different arms, or arm details differ
│   └── StudyFinished                      the study is finished
├── ArmsUnavailable (also a RuntimeError)  an iterator of arms raised
├── EvaluationFailed (also a RuntimeError) an evaluation failed and ended the run; `found` has the best arm so far
├── CommandFailed (also a RuntimeError)    the command that scores an arm failed, or did not print a number
├── SimulationFailed (also a RuntimeError) replicates could not be run or saved; `runs` holds the completed ones
├── StudyUnavailable (also a RuntimeError) the database of a study cannot be reached, or is locked, full or read-only
├── JournalBroken (also a RuntimeError)    a study's journal is corrupt, or was not written by the policy that it names
└── MissingExtra (also an ImportError)     an optional dependency is not installed

Use the attributes, not the message, in code:

- `transient`: whether the same call may succeed later
- `unsure`: whether the call may have succeeded
- `advice`: what a user can do about it
"""

from collections.abc import Mapping
from typing import Any, Self


class BoxThirdingError(Exception):
    """Base class of all errors of this package."""

    def __init__(self, *args: object, advice: str = "", transient: bool = False, unsure: bool = False) -> None:
        super().__init__(*args)
        self.advice = advice
        """What to do about it. The message ends with it; it is empty if there is nothing to add."""
        self.transient = transient
        """Whether the same call may succeed later, because the cause may be temporary."""
        self.unsure = unsure
        """Whether the call may have succeeded: check before you repeat it."""

    @property
    def problem(self) -> str:
        """What is wrong, without the advice."""
        return super().__str__()

    def __str__(self) -> str:
        return f"{self.problem}; {self.advice}" if self.advice else self.problem

    def advice_from(self, ways: Mapping[type["BoxThirdingError"], str]) -> str:
        """Return the replacement advice for this class or its nearest base class, else the error's own advice."""
        return self.advice and next((ways[kind] for kind in type(self).__mro__ if kind in ways), self.advice)

    def again(self) -> Self:
        """Return the same error as a new object, to be raised in another thread."""
        twin = type(self)(*self.args, advice=self.advice, transient=self.transient, unsure=self.unsure)
        twin.__cause__ = self.__cause__
        return twin


class InvalidInput(BoxThirdingError, ValueError):
    """A value is invalid: the message gives the value, the rule and the way out."""


class UnknownLabel(InvalidInput):
    """No arm has that label."""


class TicketRefused(InvalidInput):
    """The result for this ticket was rejected; nothing has changed."""


class UnknownTicket(TicketRefused):
    """The session never issued this ticket."""


class AlreadyTold(TicketRefused):
    """The ticket already has a result, which is kept."""


class ArmWithdrawn(TicketRefused):
    """The ticket's arm has been withdrawn."""


class CannotAmend(InvalidInput):
    """The policy does not support known results, corrections or exclusions; `use()` switches to another policy."""


class UnreadableData(InvalidInput):
    """A file is missing, empty or not in the expected format."""


class NoHeader(UnreadableData):
    """The first line of a table holds data instead of column names."""


class PolicyMissing(UnreadableData):
    """The policy of the study is not installed, or is installed in a different version."""


class ResultsRefused(InvalidInput):
    """A results file has a different version or different settings, or is in use. It was not changed."""


class UnknownStudy(InvalidInput):
    """There is no study of that name, and no arms were given to create one."""


class AccessRefused(InvalidInput):
    """The API key is missing, unknown, or lacks permission for this call."""


class StudyDiffers(InvalidInput):
    """The study was created with different arms or settings. It was not changed."""


class StudyChanged(StudyDiffers):
    """The same labels now refer to different arms, or arm details differ; `force=True` continues with the new ones."""


class StudyFinished(InvalidInput):
    """The study is finished: it issues no more tickets and its result is final."""


class ArmsUnavailable(BoxThirdingError, RuntimeError):
    """The iterator that supplies the arms raised an error."""

    found: Any = None
    """The best arm so far, if `find_best` was running."""


class EvaluationFailed(BoxThirdingError, RuntimeError):
    """An evaluation failed and ended the run; `found` has the best arm so far.

    `__cause__` is the original exception. If raised by `confirm`, `confirmation` holds the results received so far.
    """

    found: Any = None
    confirmation: Any = None


class CommandFailed(BoxThirdingError, RuntimeError):
    """The command failed or did not print a number."""


class SimulationFailed(BoxThirdingError, RuntimeError):
    """Replicates could not be run or saved; `runs` holds the completed ones. Saved results are kept."""

    runs: Any = ()


class StudyUnavailable(BoxThirdingError, RuntimeError):
    """The database of a study is unreachable, locked, full or read-only; the next call connects again.

    Unless `unsure` is True, the call has changed nothing. If it is, the call may have been committed:

    - `study.held()` lists issued tickets;
    - `tell` can safely be repeated, as the first result is kept;
    - `study.arms()` shows the known results that were stored.
    """


class JournalBroken(BoxThirdingError, RuntimeError):
    """A study's journal is corrupt, or was not written by the policy that it names; nothing has been written."""


class MissingExtra(BoxThirdingError, ImportError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}, which is not installed: pip install 'boxthirding[{extra}]'")
