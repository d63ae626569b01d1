"""Plans: how many pulls a search takes, and how good its answer will be, before it begins."""

from boxthirding.planning.answers import Granted, Known, Plan, Row
from boxthirding.planning.plan import default_budgets, plan
from boxthirding.planning.wishes import Chance

__all__ = ["Chance", "Granted", "Known", "Plan", "Row", "default_budgets", "plan"]
