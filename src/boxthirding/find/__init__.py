"""Your function against a session: find the best arm within a budget, with an answer at every moment."""

from boxthirding.find.budget import Limits, Spending
from boxthirding.find.confirm import Confirmation, Confirmed
from boxthirding.find.find import find_best, find_best_async
from boxthirding.find.found import Found

__all__ = ["Confirmation", "Confirmed", "Found", "Limits", "Spending", "find_best", "find_best_async"]
