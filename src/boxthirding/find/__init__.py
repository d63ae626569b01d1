"""Your function against a session: find the best arm within a budget, with the best answer at any time."""

from boxthirding.find.budget import Budget, Spending
from boxthirding.find.confirm import Confirmation, Confirmed
from boxthirding.find.evaluation import Examples, Retry
from boxthirding.find.find_best import find_best, find_best_async
from boxthirding.find.progress import NewResult
from boxthirding.find.result import Answer, Found

__all__ = [
    "Answer",
    "Budget",
    "Confirmation",
    "Confirmed",
    "Examples",
    "Found",
    "NewResult",
    "Retry",
    "Spending",
    "find_best",
    "find_best_async",
]
