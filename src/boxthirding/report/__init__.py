"""Figures from saved or fresh results."""

from boxthirding.report.plan_figure import plot_plan
from boxthirding.report.plots import check_plot_file, log_spaced, plot_regret

__all__ = ["check_plot_file", "log_spaced", "plot_plan", "plot_regret"]
