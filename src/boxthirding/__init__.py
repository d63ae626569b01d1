"""Find the best of many noisy options when there is not enough budget to try them all."""

from boxthirding.errors import (
    AlreadyTold,
    ArmsUnavailable,
    ArmWithdrawn,
    BoxThirdingError,
    InvalidInput,
    MissingExtra,
    TicketRefused,
    UnknownLabel,
    UnknownTicket,
    UnreadableData,
)
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
    "InvalidInput",
    "Lineage",
    "MissingExtra",
    "Recommendation",
    "Run",
    "Screening",
    "SequentialHalving",
    "Session",
    "Ticket",
    "TicketRefused",
    "Uniform",
    "UnknownLabel",
    "UnknownTicket",
    "UnreadableData",
    "parse_policy",
    "simulate",
]
