"""Every policy has one look in all pictures, which colour-blind readers can tell from the others."""

from itertools import combinations

import numpy as np
import pytest

from boxthirding.figures.style import LOOKS, look_of, looks_of
from boxthirding.policies import POLICIES

# How colours appear to people who lack one kind of cone (Viénot, Brettel and Mollon 1999), on linear RGB.
TO_CONES = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
SEEN = {
    "all cones": np.eye(3),
    "no red": np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]]),
    "no green": np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]]),
}


def appearance(colour, cones):
    """Return where a colour lies, for such an eye, in a space in which distances are about what is seen (Oklab)."""
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.linalg.inv(TO_CONES) @ SEEN[cones] @ TO_CONES @ linear, 0, 1)
    cube = np.cbrt([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]] @ linear)
    return np.array([[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]) @ cube


def test_every_policy_has_a_look_and_no_look_is_of_a_policy_that_does_not_exist():
    assert set(LOOKS) == set(POLICIES)


@pytest.mark.parametrize("cones", SEEN)
def test_any_two_policies_can_be_told_apart_by_colour_and_by_mark(cones):
    often = list(LOOKS)[:6]  # those that stand in one picture most often
    for one, other in combinations(LOOKS, 2):
        assert LOOKS[one].marker != LOOKS[other].marker
        apart = np.linalg.norm(appearance(LOOKS[one].colour, cones) - appearance(LOOKS[other].colour, cones))
        assert apart > (0.06 if one in often and other in often else 0.03), (one, other, apart)


def test_a_policy_keeps_its_colour_whatever_is_drawn_beside_it():
    alone = look_of("b3")
    assert looks_of(["us", "chase", "b3"])[2] == alone
    assert looks_of(["b3:reuse=topup"])[0].colour == alone.colour


def test_variants_of_a_policy_differ_in_their_lines_and_tones():
    looks = looks_of(["b3", "us", "b3:reuse=topup", "b3:reuse=pool", "b3:effort=2"])
    assert len({str(look.dashes) for look in looks}) == 4
    assert len({look.colour for look in looks}) == 5


def test_a_policy_of_your_own_has_a_colour_that_never_changes():
    assert look_of("my.module:Mine") == look_of("my.module:Mine")
    assert look_of("my.module:Mine").colour not in {look.colour for look in LOOKS.values()}
