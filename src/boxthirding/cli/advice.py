"""What to do about an error, in words of the command line: the library advises programs."""

from typing import Final

from boxthirding.errors import (
    AlreadyTold,
    BoxThirdingError,
    CannotAmend,
    EvaluationFailed,
    NoHeader,
    PolicyMissing,
    StudyChanged,
    StudyDiffers,
    UnknownStudy,
    UnknownTicket,
)

_ADVICE: Final[dict[type[BoxThirdingError], str]] = {
    AlreadyTold: "`boxthirding study correct` changes it",
    CannotAmend: "`boxthirding study use STUDY chase` lets a policy decide that can",
    EvaluationFailed: "--on-error withdraw continues without arms that fail",
    NoHeader: "add them as its first line, or give --no-header",
    PolicyMissing: "`boxthirding study use STUDY chase` continues with another policy, which starts from the results",
    StudyChanged: "give what it was made with, choose another --name, or give --force to continue with the new one",
    StudyDiffers: "leave out what the study knows itself, add new arms with `boxthirding study add`, or choose another "
    "--name",
    UnknownStudy: "`boxthirding study ask STUDY --arms FILE` makes one",
    UnknownTicket: "`boxthirding study export STUDY` prints all tickets with their arms and rewards",
}
"""By the class of an error, instead of the advice that it carries; one that carries none has said what to do."""


def in_words(error: BoxThirdingError) -> str:
    """Return what is wrong, and what to type."""
    advice = error.advice_from(_ADVICE)
    return f"{error.problem}; {advice}" if advice else error.problem
