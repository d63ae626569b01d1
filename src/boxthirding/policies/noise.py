"""How noisy a pull is, learned from arms that were pulled more than once: the pooled variance within arms."""

import math
from typing import Final

from boxthirding._compile import kernel
from boxthirding.types import Floats

WITHIN: Final = 0  # squared distances of rewards from the mean of their arm, summed over all arms
REPEATS: Final = 1  # pulls of arms that had been pulled before
NOISE: Final = 2
"""How many numbers `learn` keeps."""

_ENOUGH: Final = 60  # repeats, and there will never be too few
_ROUNDING: Final = 2.0**-52  # of a sum, for each of its terms


@kernel
def learn(noise: Floats, pulls: int, before: float, times: int, total: float, squares: float) -> None:
    """Take in `times` rewards, given by their sums, of an arm that had `pulls` rewards of sum `before`."""
    mean = total / times
    spread = max(0.0, squares - total * mean) if times > 1 else 0.0
    if pulls > 0:
        apart = mean - before / pulls
        if abs(apart) > (pulls + times) * _ROUNDING * abs(mean):  # else the sums were rounded, and that is no noise
            spread += apart * apart * (pulls * times / (pulls + times))
        noise[REPEATS] += times
    else:
        noise[REPEATS] += times - 1
    noise[WITHIN] += spread


@kernel
def sigma(noise: Floats) -> float:
    """Return the standard deviation of a pull, 0 while no arm was pulled twice."""
    return math.sqrt(noise[WITHIN] / noise[REPEATS]) if noise[REPEATS] > 0.0 else 0.0


@kernel
def too_few_repeats(noise: Floats, told: int, in_flight: int) -> bool:
    """Tell whether `told` pulls ask for one more repeat: one by 4 pulls, two by 8, three by 16, and so on."""
    repeats = int(noise[REPEATS]) + in_flight
    return repeats < _ENOUGH and told >> (repeats + 2) > 0
