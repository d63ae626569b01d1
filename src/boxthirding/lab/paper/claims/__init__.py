"""The claims of the paper, each decided by what was measured."""

from typing import Final

from boxthirding.lab.paper.claims import regret, structure, tables, theory
from boxthirding.lab.paper.claims.claim import Claim, Finding, Measurement, Verdict

CLAIMS: Final = (*regret.CLAIMS, *tables.CLAIMS, *structure.CLAIMS, *theory.CLAIMS)
"""All of them, in the order of the page."""

__all__ = ["CLAIMS", "Claim", "Finding", "Measurement", "Verdict"]
