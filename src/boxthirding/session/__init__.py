"""Live sessions: ask for pulls, tell rewards, have a recommendation at every moment."""

from boxthirding.session.protocol import AskTell, Box, Lineage, Recommendation, Rival, Screening, Step, Ticket
from boxthirding.session.session import Session

__all__ = ["AskTell", "Box", "Lineage", "Recommendation", "Rival", "Screening", "Session", "Step", "Ticket"]
