"""How a simulated reward is drawn: the sum of any number of pulls at once, exact in law.

One `draw` serves every reward model, so one compiled driver does too. Scalars go through `math` and loops only:
that is what keeps interpreted and compiled runs equal to the last bit.
"""

import math
from typing import Final, NamedTuple

from boxthirding._compile import kernel
from boxthirding.rng import uniform
from boxthirding.types import Floats, Ints

GAUSSIAN: Final = 0
DETERMINISTIC: Final = 1
BERNOULLI: Final = 2
KUMARASWAMY: Final = 3
TABLE: Final = 4

# Successes expected of one inversion: its first term stays above 2**-20, far above the steps of a uniform number.
_CHUNK = 10.0
_PIECE = 65_536  # pulls between two looks at whether the run is to end


class Source(NamedTuple):
    """What `draw` needs of a reward model on an instance; one Numba type for all of them."""

    code: int  # which model: one of the constants above
    sigma: float  # the standard deviation of Gaussian noise; 0.0 for the others
    means: Floats  # [N] the true mean of each arm under this model
    values: Floats  # [N, K] the possible values of each arm; [1, 1] where the model has no table
    cumulative: Floats  # [N, K] their cumulative probabilities, the last exactly 1.0
    stop: Ints  # [1] whether the run is to end: where it is not 0, a draw gives up, and what it returns means nothing


@kernel
def draw(source: Source, arm: int, times: int, with_squares: bool, stream: Ints) -> tuple[float, float]:
    """Return the sum and the sum of squares of `times` pulls of an arm; the latter is 0.0 unless asked for."""
    mean = float(source.means[arm])
    if source.code == GAUSSIAN:
        total = times * mean + math.sqrt(times) * source.sigma * normal(stream)
        squares = 0.0
        if with_squares:  # the mean and the scatter around it are independent (Cochran)
            squares = total * total / times + source.sigma * source.sigma * chi_square(times - 1, stream)
    elif source.code == DETERMINISTIC:
        total = times * mean
        squares = total * total / times if with_squares else 0.0  # squares - total² / times is exactly 0
    elif source.code == BERNOULLI:
        total = float(binomial(times, mean, stream, source.stop))
        squares = total if with_squares else 0.0  # 0 and 1 are their own squares
    else:
        total, squares = _one_by_one(source, arm, times, with_squares, stream)
    return total, squares


@kernel
def _one_by_one(source: Source, arm: int, times: int, with_squares: bool, stream: Ints) -> tuple[float, float]:
    """Sum pulls of Kumaraswamy(μ / (1 - μ), 1), the law of u^((1 - μ) / μ), or of an arm of a table."""
    mean = float(source.means[arm])
    is_power = source.code == KUMARASWAMY
    if is_power and (mean <= 0.0 or mean >= 1.0):  # the limits of the law
        return times * mean, times * mean if with_squares else 0.0
    exponent = (1.0 - mean) / mean if is_power else 0.0
    total = 0.0
    squares = 0.0
    left = times
    while left > 0 and source.stop[0] == 0:
        piece = min(left, _PIECE)
        left -= piece
        for _ in range(piece):
            u = uniform(stream)
            value = math.pow(u, exponent) if is_power else look_up(source.values, source.cumulative, arm, u)
            total += value
            squares += value * value
    return total, squares if with_squares else 0.0


@kernel
def look_up(values: Floats, cumulative: Floats, arm: int, u: float) -> float:
    """Return the value of an arm at a quantile: the first with u <= cumulative, which is never one of probability 0."""
    low = 0
    high = cumulative.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        if u <= cumulative[arm, middle]:
            high = middle
        else:
            low = middle + 1
    return float(values[arm, low])


@kernel
def normal(stream: Ints) -> float:
    """Return a standard normal number, from one uniform."""
    return normal_quantile(uniform(stream))


@kernel
def normal_quantile(p: float) -> float:
    """Return the standard normal quantile of p, to about 16 digits (Wichura 1988, AS 241, PPND16).

    Its outermost region, p below e^-25, is left out: a uniform number of ours is at least 2^-32.
    """
    q = p - 0.5
    if -0.425 <= q <= 0.425:  # noqa: PLR2004  # the bounds and coefficients of AS 241
        r = 0.180625 - q * q
        above = 2.5090809287301226727e3 * r + 3.3430575583588128105e4
        above = above * r + 6.7265770927008700853e4
        above = above * r + 4.5921953931549871457e4
        above = above * r + 1.3731693765509461125e4
        above = above * r + 1.9715909503065514427e3
        above = above * r + 1.3314166789178437745e2
        above = above * r + 3.3871328727963666080
        below = 5.2264952788528545610e3 * r + 2.8729085735721942674e4
        below = below * r + 3.9307895800092710610e4
        below = below * r + 2.1213794301586595867e4
        below = below * r + 5.3941960214247511077e3
        below = below * r + 6.8718700749205790830e2
        below = below * r + 4.2313330701600911252e1
        return q * above / (below * r + 1.0)
    r = math.sqrt(-math.log(p if q < 0.0 else 1.0 - p)) - 1.6
    above = 7.74545014278341407640e-4 * r + 2.27238449892691845833e-2
    above = above * r + 2.41780725177450611770e-1
    above = above * r + 1.27045825245236838258
    above = above * r + 3.64784832476320460504
    above = above * r + 5.76949722146069140550
    above = above * r + 4.63033784615654529590
    above = above * r + 1.42343711074968357734
    below = 1.05075007164441684324e-9 * r + 5.47593808499534494600e-4
    below = below * r + 1.51986665636164571966e-2
    below = below * r + 1.48103976427480074590e-1
    below = below * r + 6.89767334985100004550e-1
    below = below * r + 1.67638483018380384940
    below = below * r + 2.05319162663775882187
    z = above / (below * r + 1.0)
    return -z if q < 0.0 else z


@kernel
def chi_square(freedom: int, stream: Ints) -> float:
    """Return a chi-square number with a whole number of degrees of freedom, 0 included."""
    if freedom < 1:
        return 0.0
    if freedom == 1:
        z = normal(stream)
        return z * z
    return 2.0 * gamma(freedom / 2.0, stream)


@kernel
def gamma(shape: float, stream: Ints) -> float:
    """Return a gamma number of scale 1 and shape 1 or more (Marsaglia and Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = uniform(stream)
            if u < 1.0 - 0.0331 * (x * x) * (x * x):
                return d * v  # the squeeze, which spares nearly all logarithms
            if math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v


@kernel
def binomial(times: int, chance: float, stream: Ints, stop: Ints) -> int:
    """Return how many of `times` independent trials succeed."""
    if chance > 0.5:  # noqa: PLR2004  # count the rarer outcome; 1 - chance is exact here
        return times - _rare(times, 1.0 - chance, stream, stop)
    return _rare(times, chance, stream, stop)


@kernel
def _rare(times: int, chance: float, stream: Ints, stop: Ints) -> int:
    """Count successes of chance at most 1/2 by inversion, in chunks that expect few of them."""
    if chance <= 0.0:
        return 0
    odds = chance / (1.0 - chance)
    log_failure = math.log1p(-chance)
    chunk = int(min(float(times), _CHUNK / chance))
    successes = 0
    left = times
    while left > 0 and stop[0] == 0:
        n = min(left, chunk)
        u = uniform(stream)
        term = math.exp(n * log_failure)  # the chance of k successes, k = 0, 1, 2, …
        k = 0
        while u > term and k < n:
            u -= term
            term *= odds * (n - k) / (k + 1)
            k += 1
        successes += k
        left -= n
    return successes
