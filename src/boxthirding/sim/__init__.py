"""The simulator: replicates of a policy on an instance with known means."""

from boxthirding.sim.descriptions import Description
from boxthirding.sim.error_split import ErrorSplit, error_split
from boxthirding.sim.progress import Forecast, Watcher
from boxthirding.sim.results import load
from boxthirding.sim.runs import Interrupted, Run
from boxthirding.sim.settings import Setting
from boxthirding.sim.simulate import simulate
from boxthirding.sim.sweep import sweep

__all__ = [
    "Description",
    "ErrorSplit",
    "Forecast",
    "Interrupted",
    "Run",
    "Setting",
    "Watcher",
    "error_split",
    "load",
    "simulate",
    "sweep",
]
