"""The k best of many are those that a full sort puts first."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from boxthirding.policies.structures.sorting import in_order


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    n=st.integers(0, 2_000),
    k=st.integers(1, 40),
    values=st.sampled_from([1, 2, 5, 1_000, 10**6]),
    seed=st.integers(0, 99),
)
def test_the_first_k_are_those_of_the_whole_order(n, k, values, seed):
    rng = np.random.default_rng(seed)
    arms = np.flatnonzero(rng.integers(0, 2, 2 * n))
    mean, luck = rng.integers(0, values, len(arms)) / 8, rng.integers(0, values, len(arms))
    whole = in_order(arms, mean, luck)
    assert whole == sorted(arms.tolist(), key=dict(zip(arms.tolist(), zip(-mean, -luck, strict=True), strict=True)).get)
    first = in_order(arms, mean, luck, k=k)
    assert first == whole[: len(first)]
    assert len(first) >= min(k, len(whole))
