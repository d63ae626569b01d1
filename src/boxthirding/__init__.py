"""Find the best of many noisy options when there is not enough budget to try them all."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from boxthirding import policies
from boxthirding._compile import kernel
from boxthirding.errors import (
    AccessRefused,
    AlreadyTold,
    ArmsUnavailable,
    ArmWithdrawn,
    BoxThirdingError,
    CannotAmend,
    CommandFailed,
    EvaluationFailed,
    InvalidInput,
    JournalBroken,
    MissingExtra,
    NoHeader,
    PolicyMissing,
    ResultsRefused,
    SimulationFailed,
    StudyChanged,
    StudyDiffers,
    StudyFinished,
    StudyUnavailable,
    TicketRefused,
    UnknownLabel,
    UnknownStudy,
    UnknownTicket,
    UnreadableData,
)
from boxthirding.find import Confirmation, Examples, Found, NewResult, Retry, Spending, find_best, find_best_async
from boxthirding.policies import *  # noqa: F403  # every policy, so that a new one is listed there only
from boxthirding.session import AskTell, Lineage, Recommendation, Screening, Session, Ticket, View
from boxthirding.types import Progress

if TYPE_CHECKING:
    from boxthirding.client import RemoteStudy
    from boxthirding.lab.results import Run
    from boxthirding.lab.simulate import simulate
    from boxthirding.planning.answers import Plan
    from boxthirding.planning.plan import plan
    from boxthirding.storage import list_studies, open_study
    from boxthirding.study import Study

__version__ = "0.1.0"

__all__ = [
    "AccessRefused",
    "AlreadyTold",
    "ArmWithdrawn",
    "ArmsUnavailable",
    "AskTell",
    "BoxThirdingError",
    "CannotAmend",
    "CommandFailed",
    "Confirmation",
    "EvaluationFailed",
    "Examples",
    "Found",
    "InvalidInput",
    "JournalBroken",
    "Lineage",
    "MissingExtra",
    "NewResult",
    "NoHeader",
    "Plan",
    "PolicyMissing",
    "Progress",
    "Recommendation",
    "RemoteStudy",
    "ResultsRefused",
    "Retry",
    "Run",
    "Screening",
    "Session",
    "SimulationFailed",
    "Spending",
    "Study",
    "StudyChanged",
    "StudyDiffers",
    "StudyFinished",
    "StudyUnavailable",
    "Ticket",
    "TicketRefused",
    "UnknownLabel",
    "UnknownStudy",
    "UnknownTicket",
    "UnreadableData",
    "View",
    "find_best",
    "find_best_async",
    "kernel",
    "list_studies",
    "open_study",
    "plan",
    "simulate",
]
__all__ += policies.__all__

_LATER = {
    "Plan": "boxthirding.planning",
    "RemoteStudy": "boxthirding.client",
    "Run": "boxthirding.lab",
    "Study": "boxthirding.study",
    "list_studies": "boxthirding.storage",
    "open_study": "boxthirding.storage",
    "plan": "boxthirding.planning",
    "simulate": "boxthirding.lab",
}
_MODULES = frozenset({"lab"})


def __getattr__(name: str) -> Any:
    """Load studies, the simulator and theory when they are first used: most programs need none of them."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    """List what is public, loaded or not."""
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})
