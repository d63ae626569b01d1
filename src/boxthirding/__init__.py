"""Find the best of many noisy options when there is not enough budget to try them all."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from boxthirding._compile import kernel
from boxthirding.errors import (
    AlreadyTold,
    ArmsUnavailable,
    ArmWithdrawn,
    BoxThirdingError,
    CommandFailed,
    EvaluationFailed,
    InvalidInput,
    JournalBroken,
    MissingExtra,
    ResultsRefused,
    SimulationFailed,
    StudyClosed,
    StudyDiffers,
    StudyUnavailable,
    TicketRefused,
    UnknownLabel,
    UnknownStudy,
    UnknownTicket,
    UnreadableData,
)
from boxthirding.find import Confirmation, Found, Spending, find_best, find_best_async
from boxthirding.policies import (
    POLICIES,
    UCBE,
    AdaptiveBoxThirding,
    Asha,
    BoxThirding,
    BracketingSequentialHalving,
    BracketingUCB,
    DoublingSequentialHalving,
    Prose,
    SequentialHalving,
    SuccessiveRejects,
    Uniform,
    parse_policy,
)
from boxthirding.session import AskTell, Lineage, Recommendation, Screening, Session, Ticket
from boxthirding.sim import Run, simulate

if TYPE_CHECKING:
    from boxthirding.storage import list_studies, open_study
    from boxthirding.study import Study

__version__ = "0.1.0"

__all__ = [
    "POLICIES",
    "UCBE",
    "AdaptiveBoxThirding",
    "AlreadyTold",
    "ArmWithdrawn",
    "ArmsUnavailable",
    "Asha",
    "AskTell",
    "BoxThirding",
    "BoxThirdingError",
    "BracketingSequentialHalving",
    "BracketingUCB",
    "CommandFailed",
    "Confirmation",
    "DoublingSequentialHalving",
    "EvaluationFailed",
    "Found",
    "InvalidInput",
    "JournalBroken",
    "Lineage",
    "MissingExtra",
    "Prose",
    "Recommendation",
    "ResultsRefused",
    "Run",
    "Screening",
    "SequentialHalving",
    "Session",
    "SimulationFailed",
    "Spending",
    "Study",
    "StudyClosed",
    "StudyDiffers",
    "StudyUnavailable",
    "SuccessiveRejects",
    "Ticket",
    "TicketRefused",
    "Uniform",
    "UnknownLabel",
    "UnknownStudy",
    "UnknownTicket",
    "UnreadableData",
    "find_best",
    "find_best_async",
    "kernel",
    "list_studies",
    "open_study",
    "parse_policy",
    "simulate",
]

_LATER = {"Study": "boxthirding.study", "list_studies": "boxthirding.storage", "open_study": "boxthirding.storage"}


def __getattr__(name: str) -> Any:
    """Load studies when somebody opens one: most programs do not."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
