"""Your function against a session: find the best arm within a budget, with the best answer at any time."""

from boxthirding.find.budget import Limits, Spending
from boxthirding.find.confirm import Confirmation, Confirmed
from boxthirding.find.find_best import find_best, find_best_async
from boxthirding.find.progress import NewResult
from boxthirding.find.result import Answer, Found
from boxthirding.find.retry import Retry
from boxthirding.find.task import Examples

__all__ = [
    "Answer",
    "Confirmation",
    "Confirmed",
    "Examples",
    "Found",
    "Limits",
    "NewResult",
    "Retry",
    "Spending",
    "find_best",
    "find_best_async",
]
