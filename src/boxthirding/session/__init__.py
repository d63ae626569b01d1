"""Live sessions: ask for pulls, tell rewards, and have the best answer at any time."""

from boxthirding.session.protocol import (
    PAGE,
    ArmSummary,
    AskTell,
    Box,
    BoxSize,
    Glance,
    Known,
    Lineage,
    Recommendation,
    Rival,
    Screening,
    Step,
    Ticket,
    View,
)
from boxthirding.session.session import Session

__all__ = [
    "PAGE",
    "ArmSummary",
    "AskTell",
    "Box",
    "BoxSize",
    "Glance",
    "Known",
    "Lineage",
    "Recommendation",
    "Rival",
    "Screening",
    "Session",
    "Step",
    "Ticket",
    "View",
]
