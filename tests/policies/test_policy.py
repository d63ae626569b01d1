from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pytest

from boxthirding.policies import POLICIES
from boxthirding.policies.base_policy import arrays_of, interpreted, with_arrays, zeros
from boxthirding.types import Floats, Ints

TOLD = {"budget": 50, "sigma": 1.0}
EVERY = [kind(**{key: TOLD[key] for key in TOLD if key in kind.told}) for kind in POLICIES.values()]


@pytest.mark.parametrize("policy", EVERY, ids=str)
def test_a_rule_of_kernels_sees_python_numbers_in_the_memory_of_the_arrays(policy):
    state = policy.new(n_arms=20, seed=0, capacity=20)
    seen = interpreted(state)
    views = {name: attrgetter(name)(seen) for name in arrays_of(state)}
    assert {type(view[0]) for view in views.values() if isinstance(view, memoryview)} == {int, float}
    for name, array in arrays_of(state).items():
        assert np.shares_memory(views[name], array)
        assert array.ndim == 2 or isinstance(views[name], memoryview)  # rows are for arrays only


@pytest.mark.parametrize("policy", EVERY, ids=str)
def test_a_state_is_made_again_of_its_arrays(policy):
    state = policy.new(n_arms=20, seed=0, capacity=20)
    copies = {name: array.copy() for name, array in arrays_of(state).items()}
    again = with_arrays(policy.new(n_arms=20, seed=1, capacity=1), copies)
    assert type(again) is type(state)
    assert all(array is copies[name] for name, array in arrays_of(again).items())
    assert policy.rule.ask(again) == policy.rule.ask(state)
    for other in (copies | {"more": copies["ties"]}, {"scalars": copies["scalars"]}):
        with pytest.raises(ValueError, match="but must be scalars, ties"):
            with_arrays(state, other)


class Inner(NamedTuple):
    few: Ints
    many: Floats


class Outer(NamedTuple):
    scalars: Ints
    ties: Ints
    table: Ints
    inner: Inner
    other: Inner


def test_the_arrays_of_a_group_have_their_types_and_shapes():
    state = zeros(Outer, 3, scalars=2, table=(4, 5), few=1, other=7)
    assert {name: (array.shape, array.dtype.kind) for name, array in arrays_of(state).items()} == {
        "scalars": ((2,), "i"),
        "ties": ((6,), "i"),
        "table": ((4, 5), "i"),
        "inner.few": ((1,), "i"),
        "inner.many": ((3,), "f"),
        "other.few": ((1,), "i"),
        "other.many": ((7,), "f"),
    }
