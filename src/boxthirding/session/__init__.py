"""Live sessions: ask for pulls, tell rewards, and have the best answer at any time."""

from boxthirding.policies.lineage import BoxSize
from boxthirding.session.protocol import AskTell
from boxthirding.session.session import Session
from boxthirding.session.values import (
    PAGE,
    ArmResult,
    ArmSummary,
    Box,
    Climber,
    Glance,
    Known,
    Lineage,
    Moment,
    Moments,
    Outlier,
    Recommendation,
    Rival,
    Rung,
    Screening,
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
    "Outlier",
    "Recommendation",
    "Rival",
    "Rung",
    "Screening",
    "Session",
    "Spread",
    "Step",
    "Ticket",
    "View",
]
