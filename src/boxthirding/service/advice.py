"""What to do about an error, in words of the API: the library advises programs that call it."""

from typing import Final

from boxthirding.errors import (
    AlreadyTold,
    BoxThirdingError,
    CannotAmend,
    NoHeader,
    PolicyMissing,
    StudyChanged,
    StudyDiffers,
    UnknownTicket,
)

_STUDY: Final = "/api/v1/studies/{name}"

_ADVICE: Final[dict[type[BoxThirdingError], str]] = {
    AlreadyTold: f"to change it, correct it: POST {_STUDY}/corrections",
    CannotAmend: f"choose a policy that can, such as chase; a study that is there takes it by POST {_STUDY}/policy",
    NoHeader: "add them as its first line",
    PolicyMissing: f"continue with another policy, which starts from the results: POST {_STUDY}/policy",
    StudyChanged: "give what it was made with, choose another name, or send force: true to continue with the new one",
    StudyDiffers: f"leave out what the study knows itself, add new arms by POST {_STUDY}/arms, or choose another name",
    UnknownTicket: f"give the id of a ticket that POST {_STUDY}/tickets has handed out",
}
"""By the class of an error, instead of the advice that it carries; one that carries none has said what to do."""


def advice_on(error: BoxThirdingError) -> str:
    """Return what a client of the API can do about an error."""
    return error.advice_from(_ADVICE)


def in_words(error: BoxThirdingError) -> str:
    """Return what is wrong, and what to do."""
    advice = advice_on(error)
    return f"{error.problem}; {advice}" if advice else error.problem
