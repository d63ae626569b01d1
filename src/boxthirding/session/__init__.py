"""Live sessions: ask for pulls, tell rewards, and have the best answer at any time."""

from boxthirding.session.history import Moment
from boxthirding.session.protocol import AskTell
from boxthirding.session.session import Session
from boxthirding.session.values import (
    PAGE,
    ArmResult,
    ArmSummary,
    Box,
    BoxSize,
    Climber,
    Glance,
    Known,
    Lineage,
    Moments,
    Recommendation,
    Rival,
    Rung,
    Screening,
    SetAside,
    Spread,
    Step,
    Ticket,
    View,
)

__all__ = [
    "PAGE",
    "ArmResult",
    "ArmSummary",
    "AskTell",
    "Box",
    "BoxSize",
    "Climber",
    "Glance",
    "Known",
    "Lineage",
    "Moment",
    "Moments",
    "Recommendation",
    "Rival",
    "Rung",
    "Screening",
    "Session",
    "SetAside",
    "Spread",
    "Step",
    "Ticket",
    "View",
]
