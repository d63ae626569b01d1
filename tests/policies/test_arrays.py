import numpy as np
import pytest

import boxthirding as b3
from boxthirding.policies import POLICIES
from boxthirding.policies.arrays import interpreted
from boxthirding.types import Rule

TOLD = {"budget": 50, "sigma": 1.0}
EVERY = [kind(**{key: TOLD[key] for key in TOLD if key in kind.told}) for kind in POLICIES.values()]


@pytest.mark.parametrize("policy", EVERY, ids=str)
def test_a_rule_of_kernels_sees_python_numbers_in_the_memory_of_the_arrays(policy):
    state = policy.new(n_arms=20, seed=0, capacity=20)
    seen = interpreted(policy, state)
    assert type(seen) is type(state)
    assert {type(view[0]) for view in seen if isinstance(view, memoryview)} == {int, float}
    for view, array in zip(seen, state, strict=True):
        assert np.shares_memory(view, array)
        assert array.ndim == 2 or isinstance(view, memoryview)  # rows are for arrays only


class Greedy:
    """Uniform sampling whose answer is found with an array's own methods, which no kernel may use."""

    def __init__(self):
        self.kind = b3.Uniform()
        self.name, self.told, self.squares, self.open_ended = "greedy", frozenset(), False, True
        self.new, self.grow, self.ranking = self.kind.new, self.kind.grow, self.kind.ranking
        self.rule = Rule(**(self.kind.rule._asdict() | {"recommend": lambda state: int(state.pulls.argmax())}))


def test_a_rule_of_other_functions_sees_the_arrays():
    policy = Greedy()
    state = policy.new(n_arms=20, seed=0, capacity=20)
    assert interpreted(policy, state) is state
    session = b3.Session(5, policy)
    session.tell(session.ask()[0], 1.0)
    assert session.recommend().pulls == 1
