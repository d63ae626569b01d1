"""Reward models and instances: what a simulated pull gives, and the true means it scatters around."""

from boxthirding.rewards.draws import Source, draw
from boxthirding.rewards.instances import (
    NAMES,
    Instance,
    captions,
    equal,
    from_csv,
    named,
    poly,
    square,
)
from boxthirding.rewards.models import (
    FORMS,
    Bernoulli,
    Deterministic,
    Gaussian,
    Kumaraswamy,
    RewardModel,
    Table,
    Votes,
    from_scores,
    from_table,
    parse_rewards,
)

__all__ = [
    "FORMS",
    "NAMES",
    "Bernoulli",
    "Deterministic",
    "Gaussian",
    "Instance",
    "Kumaraswamy",
    "RewardModel",
    "Source",
    "Table",
    "Votes",
    "captions",
    "draw",
    "equal",
    "from_csv",
    "from_scores",
    "from_table",
    "named",
    "parse_rewards",
    "poly",
    "square",
]
