import numpy as np
import pytest

from boxthirding.policies import POLICIES
from boxthirding.policies.base_policy import interpreted

TOLD = {"budget": 50, "sigma": 1.0}
EVERY = [kind(**{key: TOLD[key] for key in TOLD if key in kind.told}) for kind in POLICIES.values()]


@pytest.mark.parametrize("policy", EVERY, ids=str)
def test_a_rule_of_kernels_sees_python_numbers_in_the_memory_of_the_arrays(policy):
    state = policy.new(n_arms=20, seed=0, capacity=20)
    seen = interpreted(state)
    assert type(seen) is type(state)
    assert {type(view[0]) for view in seen if isinstance(view, memoryview)} == {int, float}
    for view, array in zip(seen, state, strict=True):
        assert np.shares_memory(view, array)
        assert array.ndim == 2 or isinstance(view, memoryview)  # rows are for arrays only
