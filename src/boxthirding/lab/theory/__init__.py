"""What can be said before a single reward is seen: candidate sets, probabilities and bounds, each with its statement.

Growth roots and costs by level are in `boxthirding.schedules`, which the policies use themselves. Statements are those
of the Box Thirding paper; where it slips, the function says so and does what its proof supports.
"""

from boxthirding.lab.theory.candidate_sets import Candidates, candidates, candidates_at
from boxthirding.lab.theory.combined import box_thirding_bound, bracketing_bound, combined_order, uniform_bound
from boxthirding.lab.theory.complexity import complexity_h1, complexity_h2, good_arms, lower_bound
from boxthirding.lab.theory.halving import (
    comparison_bound,
    growth_objective,
    halving_bound,
    halving_constant,
    halving_effort,
    level_shares,
    logarithmic_halving_bound,
    round_bound,
    summed_halving_bound,
)
from boxthirding.lab.theory.medians import remedian
from boxthirding.lab.theory.rates import (
    CRITICAL_ALPHA,
    RegretBound,
    critical_budget,
    power_gaps,
    power_good_arms,
    regret_bound,
    regret_order,
    sample_complexity,
)
from boxthirding.lab.theory.sizes import (
    Interval,
    bracket_candidate_bounds,
    candidate_bounds,
    candidate_share,
    finished_bracket,
    level_bounds,
    promoted,
    promotions,
)
from boxthirding.screening import is_data_poor, non_inclusion, non_inclusion_bound

__all__ = [
    "CRITICAL_ALPHA",
    "Candidates",
    "Interval",
    "RegretBound",
    "box_thirding_bound",
    "bracket_candidate_bounds",
    "bracketing_bound",
    "candidate_bounds",
    "candidate_share",
    "candidates",
    "candidates_at",
    "combined_order",
    "comparison_bound",
    "complexity_h1",
    "complexity_h2",
    "critical_budget",
    "finished_bracket",
    "good_arms",
    "growth_objective",
    "halving_bound",
    "halving_constant",
    "halving_effort",
    "is_data_poor",
    "level_bounds",
    "level_shares",
    "logarithmic_halving_bound",
    "lower_bound",
    "non_inclusion",
    "non_inclusion_bound",
    "power_gaps",
    "power_good_arms",
    "promoted",
    "promotions",
    "regret_bound",
    "regret_order",
    "remedian",
    "round_bound",
    "sample_complexity",
    "summed_halving_bound",
    "uniform_bound",
]
