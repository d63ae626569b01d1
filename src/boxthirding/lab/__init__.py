"""The lab: simulations of policies on problems with known true means, and the studies built on them."""

from boxthirding.lab.error_split import ErrorSplit, error_split
from boxthirding.lab.instances import NAMES, Instance, captions, equal, from_csv, named, poly, square
from boxthirding.lab.results import Interrupted, Run, load
from boxthirding.lab.reward_draws import Source, draw
from boxthirding.lab.rewards import (
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
from boxthirding.lab.settings import Description, Setting
from boxthirding.lab.simulate import simulate
from boxthirding.lab.sweep import Forecast, Watcher, sweep

__all__ = [
    "FORMS",
    "NAMES",
    "Bernoulli",
    "Description",
    "Deterministic",
    "ErrorSplit",
    "Forecast",
    "Gaussian",
    "Instance",
    "Interrupted",
    "Kumaraswamy",
    "RewardModel",
    "Run",
    "Setting",
    "Source",
    "Table",
    "Votes",
    "Watcher",
    "captions",
    "draw",
    "equal",
    "error_split",
    "from_csv",
    "from_scores",
    "from_table",
    "load",
    "named",
    "parse_rewards",
    "poly",
    "simulate",
    "square",
    "sweep",
]
