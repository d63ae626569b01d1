"""Settings: equal when their results must be, and refused before anything runs."""

import numpy as np
import pytest

from boxthirding.errors import InvalidInput
from boxthirding.lab import Bernoulli, Gaussian, Instance, Setting, Table, Votes, captions

FEW = Instance("few", [0.2, 0.9, 0.4])
VALUES, CHANCES = [[0, 1], [1, 0], [1, 0]], [[0.5, 0.5], [0.5, 0.5], [1, 0]]


def setting(instance=FEW, rewards=None, policy="us", budget=50, **options):
    return Setting(instance, rewards or Gaussian(0.5), policy, budget, **options)


def test_settings_are_equal_by_what_decides_their_results():
    assert setting() == setting(Instance("others", [0.2, 0.9, 0.4], source="a file"))
    assert setting(checkpoints=(9, 3, 9)) == setting(checkpoints=(3, 9, 50))
    assert setting(rewards=Table(VALUES, CHANCES)) == setting(rewards=Table(VALUES, CHANCES, "table:elsewhere.csv"))
    assert len({setting(), setting(), setting(seed=1)}) == 2
    assert setting() != "something else"


@pytest.mark.parametrize(
    "other",
    [
        {"instance": Instance("few", [0.2, 0.9, 0.5])},
        {"rewards": Gaussian(0.4)},
        {"rewards": Bernoulli()},
        {"policy": "b3"},
        {"budget": 51},
        {"checkpoints": (7,)},
        {"replicates": 999},
        {"seed": 1},
        {"workers": 2},
    ],
)
def test_settings_differ_in_each_part(other):
    assert setting() != setting(**other)


def test_tables_and_votes_count_by_their_content():
    assert setting(rewards=Table(VALUES, CHANCES)) != setting(rewards=Table(VALUES, CHANCES[::-1]))
    one, other = (Instance("votes", [0.5, 0.5], counts=[[n, n, 0], [n, 0, n]]) for n in (1, 2))
    assert setting(one, Votes()) == setting(other, Votes())  # the same shares
    assert setting(one, Votes()) != setting(Instance("votes", [0.5, 0.5], counts=[[1, 1, 0], [1, 1, 2]]), Votes())


def test_a_policy_is_told_what_it_must_be_told():
    policy = setting(policy="prose").experiment.policy
    assert policy.sigma == 0.5
    assert setting(policy="sh").experiment.policy.budget == 50
    oracle = setting(policy="ucbe:exploration=oracle").experiment.policy
    assert oracle.hardness == pytest.approx(2 / 0.5**2 + 1 / 0.7**2)
    for spec in ("prose", "sh", "ucbe:exploration=oracle"):
        one = setting(policy=spec)
        assert one.description.told_policy() == one.experiment.policy


def test_a_description_has_the_means_that_rewards_have():
    described = setting(Instance("votes", [0.6, 0.2], counts=[[4, 4, 2], [8, 1, 1]]), Votes()).description
    assert described.means.tolist() == [0.4, 0.15]
    assert described.source == "given, as votes"
    assert setting(captions(10)).description.source == "embedded"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 0}, "budget is 0"),
        ({"checkpoints": (51,)}, "checkpoint is 51"),
        ({"replicates": 0}, "replicates is 0"),
        ({"workers": 0}, "workers is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"policy": "b4"}, "policy is 'b4'"),
        ({"policy": "us:growth=2"}, "no key 'growth'"),
        ({"rewards": Bernoulli(), "instance": Instance("high", [1.5])}, "means in"),
        ({"rewards": Votes()}, "no counts"),
        ({"policy": "sr", "instance": captions(100)}, "budget is 50"),
    ],
)
def test_what_cannot_run_is_refused_at_once(options, words):
    with pytest.raises(InvalidInput, match=words):
        setting(**options)


def test_a_number_of_numpy_is_a_number():
    numbers = {"budget": np.int64(50), "replicates": np.int32(1000), "seed": np.int64(0)}
    assert setting(**numbers, checkpoints=np.arange(1, 4)) == setting(checkpoints=(1, 2, 3))
