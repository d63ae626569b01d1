"""The policies, one file an algorithm."""

from boxthirding.policies.box_thirding import BoxThirding
from boxthirding.policies.sequential_halving import SequentialHalving
from boxthirding.policies.spec import POLICIES, parse_policy
from boxthirding.policies.uniform import Uniform

__all__ = ["POLICIES", "BoxThirding", "SequentialHalving", "Uniform", "parse_policy"]
