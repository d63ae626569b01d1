"""The law of every draw, and its equality interpreted and compiled.

Statistical tests compare distribution functions. By the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart a sample
of n strays from its law by more than x/√n with a chance of at most 2 exp(-2x²), whatever the law. FAR is the x of a
false-alarm rate of 1e-6 for each comparison; there are fewer than 100 here, and their seeds are fixed.
"""

import math
import statistics

import numpy as np
import pytest

from boxthirding._compile import available, bound, compiled, kernel
from boxthirding.lab import Bernoulli, Deterministic, Gaussian, Instance, Kumaraswamy, Source, Table, Votes, draw
from boxthirding.lab import reward_draws as kernels
from boxthirding.rng import REWARDS, spawn

FAR = math.sqrt(math.log(2 / 1e-6) / 2)
SAMPLES = 20_000
NEVER = np.zeros(1, np.int64)  # the run is not to end

MEANS = np.array([0.0, 1.0, 0.5, 0.01, 0.99, *np.linspace(0.03, 0.57, 15)])
COUNTS = np.array(
    [[5, 0, 0], [0, 0, 7], [1, 1, 0], [99, 0, 1], [1, 40, 60], *([100 - 3 * k, k, 2 * k] for k in range(15))]
)
CONTEST = Instance("contest", MEANS, COUNTS)
MODELS = [
    Gaussian(0.5),
    Gaussian(0.0),
    Deterministic(),
    Bernoulli(),
    Kumaraswamy(),
    Votes(),
    Table(np.arange(100.0).reshape(20, 5) / 7, np.tile([0.0, 0.1, 0.3, 0.6, 0.0], (20, 1))),
]
NAMES = [model.spec for model in MODELS]


def fresh(seed):
    return spawn(seed, 0, 1)[0, REWARDS]


def furthest(sample, cdf):
    """Return √n times the largest distance between a sample's distribution function and the law's, jumps included."""
    points, counts = np.unique(sample, return_counts=True)
    upto = np.cumsum(counts) / len(sample)
    law = np.array([cdf(x) for x in points.tolist()])
    before = np.array([cdf(math.nextafter(x, -math.inf)) for x in points.tolist()])
    return math.sqrt(len(sample)) * max(np.abs(upto - law).max(), np.abs(upto - counts / len(sample) - before).max())


def furthest_apart(one, other):
    """Return the same for two samples of one size, scaled to the same bound."""
    points = np.union1d(one, other)
    ranks = [np.searchsorted(np.sort(sample), points, side="right") for sample in (one, other)]
    return np.abs(ranks[0] - ranks[1]).max() / math.sqrt(2 * len(one))


def normal_cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def chi_square_cdf(x, freedom):
    """Two degrees of freedom at a time, from the closed forms of 1 and 2."""
    if x <= 0:
        return 0.0
    at = 2 - freedom % 2
    below = math.erf(math.sqrt(x / 2)) if at == 1 else -math.expm1(-x / 2)
    for k in range(at, freedom, 2):
        below -= math.exp(k / 2 * math.log(x / 2) - x / 2 - math.lgamma(k / 2 + 1))
    return below


def binomial_cdf(k, n, p):
    return min(1.0, math.fsum(math.exp(log_binomial(i, n, p)) for i in range(math.floor(k) + 1)))


def log_binomial(k, n, p):
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return ways + k * math.log(p) + (n - k) * math.log1p(-p)


def totals(model, times, seed, arm=0, mean=0.3, samples=SAMPLES):
    """Return the sums and sums of squares of `samples` draws, [samples, 2]."""
    source = model.source(Instance("one", [mean], [[3, 5, 2]]))
    stream = fresh(seed)
    return np.array([draw(source, arm, times, True, stream) for _ in range(samples)])


def test_the_normal_quantile_agrees_with_the_standard_library():
    steps = np.arange(1, 2000) / 2000
    tails = np.array([2.0**-k for k in range(4, 33)] + [1 - 2.0**-k for k in range(4, 33)] + [0.075, 0.925])
    for p in [*steps.tolist(), *tails.tolist()]:
        assert kernels.normal_quantile(p) == pytest.approx(statistics.NormalDist().inv_cdf(p), rel=1e-15, abs=1e-15)


def test_normal_numbers_are_normal():
    stream = fresh(1)
    assert furthest([kernels.normal(stream) for _ in range(SAMPLES)], normal_cdf) < FAR


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 26, 99])
def test_chi_square_numbers_have_their_law(freedom):
    stream = fresh(2)
    sample = [kernels.chi_square(freedom, stream) for _ in range(SAMPLES)]
    assert furthest(sample, lambda x: chi_square_cdf(x, freedom)) < FAR


def test_chi_square_without_freedom_is_zero_and_draws_nothing():
    stream = fresh(2)
    assert kernels.chi_square(0, stream) == 0.0
    assert (stream == fresh(2)).all()


@pytest.mark.parametrize(
    ("n", "p"),
    [(1, 0.3), (2, 0.5), (3, 0.97), (20, 0.5), (27, 0.56), (138, 0.03), (710, 0.5), (1000, 0.99), (10**6, 1e-5)],
)
def test_binomial_numbers_have_their_law(n, p):
    stream = fresh(3)
    sample = [kernels.binomial(n, p, stream, NEVER) for _ in range(SAMPLES // 2)]
    laws = {}

    def cdf(k):
        k = math.floor(k)
        return laws.setdefault(k, binomial_cdf(k, n, p))

    assert furthest(sample, cdf) < FAR


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (5, 0.5), (19, 0.5), (300, 0.03)])
def test_a_binomial_number_inverts_the_distribution_function(n, p):
    for u in np.arange(1, 400) / 400 + 1e-7:
        one = bound(kernels._rare, uniform=lambda _, u=u: float(u))
        k = one(n, p, None, NEVER)
        assert binomial_cdf(k - 1, n, p) < u <= binomial_cdf(k, n, p)


@pytest.mark.parametrize("p", [5e-324, 1e-300, 1e-12])
def test_a_tiny_chance_succeeds_almost_never(p):
    assert kernels.binomial(1000, p, fresh(4), NEVER) == 0
    assert kernels.binomial(1000, 1 - 2**-53, fresh(4), NEVER) == 1000


@pytest.mark.parametrize("times", [1, 2, 3, 100])
def test_gaussian_sums_and_scatters_have_their_laws(times):
    sigma, mean = 0.25, 0.3
    total, squares = totals(Gaussian(sigma), times, 5).T
    z = (total - times * mean) / (sigma * math.sqrt(times))
    assert furthest(z, normal_cdf) < FAR
    scatter = squares - total**2 / times
    if times == 1:
        assert np.abs(scatter).max() < 1e-12
    else:
        assert furthest(scatter / sigma**2, lambda x: chi_square_cdf(x, times - 1)) < FAR
        # Independent: a correlation of n pairs is about normal with standard deviation 1/√n; beyond 5 in 6e-7 of cases.
        assert abs(np.corrcoef(z, scatter)[0, 1]) < 5 / math.sqrt(SAMPLES)
        assert abs(np.corrcoef(np.abs(z), scatter)[0, 1]) < 5 / math.sqrt(SAMPLES)


@pytest.mark.parametrize("mean", [0.05, 0.3, 0.5, 0.9])
def test_a_kumaraswamy_pull_has_its_law_mean_and_variance(mean):
    sample = totals(Kumaraswamy(), 1, 6, mean=mean)[:, 0]
    assert furthest(sample, lambda x: max(x, 0.0) ** (mean / (1 - mean))) < FAR
    variance = mean * (1 - mean) ** 2 / (2 - mean)
    # A mean of n pulls strays 5 standard deviations in 6e-7 of cases; a variance's is below 5/√n of itself.
    assert abs(sample.mean() - mean) < 5 * math.sqrt(variance / SAMPLES)
    assert sample.var() == pytest.approx(variance, rel=25 / math.sqrt(SAMPLES))


@pytest.mark.parametrize("model", [Gaussian(0.5), Bernoulli()], ids=["gaussian", "bernoulli"])
@pytest.mark.parametrize("times", [2, 6, 27])
def test_a_sum_drawn_at_once_has_the_law_of_a_sum_of_pulls(model, times):
    at_once = totals(model, times, 7, samples=5000)
    one_by_one = totals(model, 1, 8, samples=5000 * times).reshape(5000, times, 2).sum(axis=1)
    assert furthest_apart(at_once[:, 0], one_by_one[:, 0]) < FAR
    assert furthest_apart(at_once[:, 1], one_by_one[:, 1]) < FAR


@pytest.mark.parametrize("model", [Kumaraswamy(), Votes(), Table([[1, 2, 4]], [[0.2, 0.5, 0.3]])])
def test_a_sum_of_looked_up_pulls_is_the_sum_of_its_pulls(model):
    source = model.source(Instance("one", [0.3], [[3, 5, 2]]))
    one, other = fresh(9), fresh(9)
    for times in (1, 2, 10):
        pulls = [draw(source, 0, 1, True, one) for _ in range(times)]
        assert all(squares == total * total for total, squares in pulls)
        expected = (sum(total for total, _ in pulls), sum(squares for _, squares in pulls))
        assert draw(source, 0, times, True, other) == expected
    assert (one == other).all()


@pytest.mark.parametrize(
    ("model", "values", "chances"),
    [
        (Votes(), [0.0, 0.5, 1.0], [0.3, 0.5, 0.2]),
        (Table([[5, -1, 2, 9]], [[0.25, 0.5, 0.25, 0.0]]), [-1.0, 2.0, 5.0], [0.5, 0.25, 0.25]),
        (Table([[7]], [[1]]), [7.0], [1.0]),
    ],
)
def test_tables_give_their_values_with_their_probabilities(model, values, chances):
    sample = totals(model, 1, 10)[:, 0]
    assert set(sample) == set(values)
    assert furthest(sample, lambda x: sum(c for v, c in zip(values, chances, strict=True) if v <= x)) < FAR


@pytest.mark.parametrize("u", [1 / 4294967088, 4294967087 / 4294967088])
def test_the_outermost_uniforms_never_reach_a_value_of_probability_zero(u):
    table = Table([[1, 2, 3, 4, 5]], [[0, 0.1, 0.7, 0.2, 0]])
    source = table.source(table.instance())
    assert kernels.look_up(source.values, source.cumulative, 0, u) == (2.0 if u < 0.5 else 4.0)


@pytest.mark.parametrize("model", [Bernoulli(), Kumaraswamy(), Deterministic(), Gaussian(0)])
@pytest.mark.parametrize("times", [1, 2, 1000])
def test_means_zero_and_one_are_point_masses(model, times):
    source = model.source(Instance("edges", [0.0, 1.0]))
    assert draw(source, 0, times, True, fresh(11)) == (0.0, 0.0)
    assert draw(source, 1, times, True, fresh(11)) == (times, times)


def test_without_noise_the_scatter_is_exactly_zero():
    for times in range(1, 200):
        total, squares = draw(Deterministic().source(Instance("one", [0.1])), 0, times, True, fresh(12))
        assert (total, squares - total * total / times) == (0.1 * times, 0.0)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_squares_are_zero_unless_asked_for_and_do_not_change_the_sum(model):
    source = model.source(CONTEST)
    for arm in range(len(MEANS)):
        bare, both = (draw(source, arm, 9, squares, fresh(arm)) for squares in (False, True))
        assert bare == (both[0], 0.0)


@kernel
def draw_all(source, times, with_squares, stream, found):
    """Fill found [T, N, 2] with a draw for every number of pulls and every arm."""
    for i in range(len(times)):
        for arm in range(len(source.means)):
            total, squares = draw(source, arm, times[i], with_squares, stream)
            found[i, arm, 0] = total
            found[i, arm, 1] = squares


@kernel
def apply_all(inputs, found):
    """Fill found [n, 5] with every function of `math` that a draw uses."""
    for i in range(len(inputs)):
        u = float(inputs[i, 0])
        found[i, 0] = math.log(u)
        found[i, 1] = math.log1p(-u)
        found[i, 2] = math.exp(-float(inputs[i, 1]))
        found[i, 3] = math.sqrt(float(inputs[i, 1]))
        found[i, 4] = math.pow(u, float(inputs[i, 1]))


@pytest.fixture(scope="module")
def compiled_draw_all():
    if not available():
        pytest.skip("numba is not installed: nothing to compare with")
    return compiled(draw_all)


@pytest.mark.parametrize("with_squares", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_interpreted_and_compiled_draws_are_equal_to_the_last_bit(model, with_squares, compiled_draw_all):
    source = model.source(CONTEST)
    times = np.array([1, 2, 3, 6, 27, 1000, 1, 2, 9, 16, 47, 80, 138])
    found = np.full((2, len(times), len(MEANS), 2), np.nan)
    streams = [fresh(13), fresh(13)]
    draw_all(source, times, with_squares, streams[0], found[0])
    compiled_draw_all(source, times, with_squares, streams[1], found[1])
    assert found[0].tobytes() == found[1].tobytes()
    assert (streams[0] == streams[1]).all()
    assert np.isfinite(found).all()


def test_all_models_share_one_compiled_draw(compiled_draw_all):
    for model in MODELS:
        compiled_draw_all(model.source(CONTEST), np.array([1]), True, fresh(14), np.zeros((1, len(MEANS), 2)))
    assert len(compiled_draw_all.signatures) == 1


def test_the_functions_of_math_are_equal_interpreted_and_compiled():
    if not available():
        pytest.skip("numba is not installed: nothing to compare with")
    generator = np.random.default_rng(15)
    inputs = np.column_stack([generator.random(50_000), np.exp(generator.uniform(-8, 8, 50_000))])
    found = np.zeros((2, len(inputs), 5))
    apply_all(inputs, found[0])
    compiled(apply_all)(inputs, found[1])
    assert found[0].tobytes() == found[1].tobytes()


def test_every_source_has_the_same_types():
    for model in MODELS:
        source = model.source(CONTEST)
        assert isinstance(source, Source)
        assert [type(source.code), type(source.sigma)] == [int, float]
        for array, dimensions in ((source.means, 1), (source.values, 2), (source.cumulative, 2)):
            assert array.dtype == np.float64
            assert array.ndim == dimensions
            assert array.flags.c_contiguous
            assert array.flags.writeable
