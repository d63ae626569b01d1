"""The simulator: replicates of a policy on an instance with known means."""

from boxthirding.sim.simulate import Interrupted, Run, simulate

__all__ = ["Interrupted", "Run", "simulate"]
