"""Find the best of many noisy options when there is not enough budget to try them all."""

from boxthirding.errors import (
    AlreadyTold,
    ArmsUnavailable,
    ArmWithdrawn,
    BoxThirdingError,
    CommandFailed,
    EvaluationFailed,
    InvalidInput,
    MissingExtra,
    TicketRefused,
    UnknownLabel,
    UnknownTicket,
    UnreadableData,
)
from boxthirding.find import Confirmation, Found, Spending, find_best, find_best_async
from boxthirding.policies import POLICIES, BoxThirding, SequentialHalving, Uniform, parse_policy
from boxthirding.session import AskTell, Lineage, Recommendation, Screening, Session, Ticket
from boxthirding.sim import Run, simulate

__version__ = "0.1.0"

__all__ = [
    "POLICIES",
    "AlreadyTold",
    "ArmWithdrawn",
    "ArmsUnavailable",
    "AskTell",
    "BoxThirding",
    "BoxThirdingError",
    "CommandFailed",
    "Confirmation",
    "EvaluationFailed",
    "Found",
    "InvalidInput",
    "Lineage",
    "MissingExtra",
    "Recommendation",
    "Run",
    "Screening",
    "SequentialHalving",
    "Session",
    "Spending",
    "Ticket",
    "TicketRefused",
    "Uniform",
    "UnknownLabel",
    "UnknownTicket",
    "UnreadableData",
    "find_best",
    "find_best_async",
    "parse_policy",
    "simulate",
]
