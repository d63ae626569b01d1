"""Every error this package raises on purpose, in one tree.

BoxThirdingError
├── InvalidInput (also a ValueError)       a value breaks a rule; the message has both
│   ├── UnknownLabel                       no arm has that label
│   ├── TicketRefused                      the result of this ticket cannot be taken
│   │   ├── UnknownTicket                  this session never issued it
│   │   ├── AlreadyTold                    its result is in; the first one counts
│   │   └── ArmWithdrawn                   its arm is gone
│   ├── CannotAmend                        the policy cannot take results that no job of its own asked for
│   ├── UnreadableData                     a file cannot be read, or does not hold what it must
│   │   ├── NoHeader                       its first line holds data, not the names of columns
│   │   └── PolicyMissing                  the policy of a study, or the version of its rule, is not here
│   ├── ResultsRefused                     a results file cannot be resumed
│   ├── UnknownStudy                       there is no study of that name, and no arms to make one with
│   ├── AccessRefused                      a server does not know the key, or does not let it do this
│   ├── StudyDiffers                       a study was made with other arms, or with other settings
│   │   └── StudyChanged                   its arms are other things than before; to continue with them can be forced
│   └── StudyFinished                      the study has been finished for good
├── ArmsUnavailable (also a RuntimeError)  an iterator of arms raised
├── EvaluationFailed (also a RuntimeError) an evaluation failed and ended the run; it has the best so far
├── CommandFailed (also a RuntimeError)    a program that scores an arm failed, or printed no number
├── SimulationFailed (also a RuntimeError) replicates could not be run or saved; it has those that are complete
├── StudyUnavailable (also a RuntimeError) the database of a study cannot be reached, or is locked, full or read-only
├── JournalBroken (also a RuntimeError)    a study's journal is damaged, or disagrees with the rule that it names
└── MissingExtra (also an ImportError)     an optional dependency is not installed

Programs read attributes, never messages: `transient` tells whether the same call may succeed later, `unsure` whether it
may have been carried out all the same, `advice` what a person can do about it.
"""

from collections.abc import Mapping
from typing import Any, Self


class BoxThirdingError(Exception):
    """Any error of this package."""

    def __init__(self, *args: object, advice: str = "", transient: bool = False, unsure: bool = False) -> None:
        super().__init__(*args)
        self.advice = advice
        """What to do about it. The message ends with it; it is empty if there is nothing to add."""
        self.transient = transient
        """Whether the same call may succeed later, because the trouble may be temporary."""
        self.unsure = unsure
        """Whether the call may have been carried out all the same: look before you repeat it."""

    @property
    def problem(self) -> str:
        """What is wrong, without the advice."""
        return super().__str__()

    def __str__(self) -> str:
        return f"{self.problem}; {self.advice}" if self.advice else self.problem

    def advice_from(self, ways: Mapping[type["BoxThirdingError"], str]) -> str:
        """Return the advice in other words, by the class of the error; its own, where none are for it."""
        return self.advice and next((ways[kind] for kind in type(self).__mro__ if kind in ways), self.advice)

    def again(self) -> Self:
        """Return the same error as a new object, to be raised in another thread."""
        twin = type(self)(*self.args, advice=self.advice, transient=self.transient, unsure=self.unsure)
        twin.__cause__ = self.__cause__
        return twin


class InvalidInput(BoxThirdingError, ValueError):
    """A value breaks a rule: the message gives the value, the rule and the way out."""


class UnknownLabel(InvalidInput):
    """No arm has that label."""


class TicketRefused(InvalidInput):
    """The result of a ticket cannot be taken; nothing has changed."""


class UnknownTicket(TicketRefused):
    """The ticket was never issued here."""


class AlreadyTold(TicketRefused):
    """The ticket's result is in already; the first answer counts."""


class ArmWithdrawn(TicketRefused):
    """The ticket's arm has been withdrawn."""


class CannotAmend(InvalidInput):
    """The policy cannot take known results, corrections or exclusions: go on with another one by `use`."""


class UnreadableData(InvalidInput):
    """A file is missing, empty or not of the form that was asked for."""


class NoHeader(UnreadableData):
    """The first line of a table holds data, where the names of its columns are expected."""


class PolicyMissing(UnreadableData):
    """The policy that a study names cannot decide here: it is not installed, or its rule is of another version."""


class ResultsRefused(InvalidInput):
    """A results file is of another version or of other settings, or in use; it has not been touched."""


class UnknownStudy(InvalidInput):
    """There is no study of that name, and no arms were given to make one with."""


class AccessRefused(InvalidInput):
    """A server was given no key or one that it does not know, or the key does not let one do this."""


class StudyDiffers(InvalidInput):
    """A study was made with other arms, or with other settings, than it is opened with; it has not been touched."""


class StudyChanged(StudyDiffers):
    """Arms are other things than before under the same labels, or details differ; `force` continues with the new."""


class StudyFinished(InvalidInput):
    """The study has been finished for good: it hands out no more tickets, and nothing changes its answer."""


class ArmsUnavailable(BoxThirdingError, RuntimeError):
    """The iterator that arms come from raised an error."""

    found: Any = None
    """The best so far, where `find_best` was under way."""


class EvaluationFailed(BoxThirdingError, RuntimeError):
    """An evaluation failed and ended the run; `from` says how, and `found` is the best so far.

    When it was `confirm` that ended, `confirmation` has the fresh pulls that had come in.
    """

    found: Any = None
    confirmation: Any = None


class CommandFailed(BoxThirdingError, RuntimeError):
    """A program that was to print a number did not."""


class SimulationFailed(BoxThirdingError, RuntimeError):
    """Replicates could not be run or saved; what was saved before stays, and `runs` has what is complete."""

    runs: Any = ()


class StudyUnavailable(BoxThirdingError, RuntimeError):
    """The database of a study is unreachable, locked, full or read-only; the next call connects again.

    Unless `unsure` is True, the call has changed nothing. If it is, the call may have been committed: `held` lists
    tickets that were given, a tell may be repeated, because the first answer counts, and of known results `arms` has
    the pulls that are there.
    """


class JournalBroken(BoxThirdingError, RuntimeError):
    """A study's journal is damaged, or disagrees with the rule that it names; nothing has been written."""


class MissingExtra(BoxThirdingError, ImportError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}, which is not installed: pip install 'boxthirding[{extra}]'")
