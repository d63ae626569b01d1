from itertools import pairwise

import pytest

from boxthirding import BoxThirding
from boxthirding.lab.paper.exact_facts import levels
from boxthirding.lab.theory.candidate_sets import candidates


@pytest.mark.parametrize("pulls", [1, 5, 6, 20, 100, 1_000, 10_000])
def test_arms_of_a_level_are_lifted_discarded_or_waiting_and_none_is_lost(pulls):
    found = levels(5_513, pulls)
    known = candidates(BoxThirding(), 5_513, pulls)
    assert found[-1].level == known.level
    assert found[0].entered in {known.introduced, known.introduced - 1}  # the last one may be in its first pull
    for level, above in pairwise(found):
        assert above.entered == level.lifted
    assert all(level.waiting >= 0 for level in found)


def test_the_paper_s_first_levels_by_hand():
    # N1 N2 N3 A00@5 N6 N7 N8 A00@10: six introduced, two lifted, two discarded, two shifted to Box(0, 1).
    (base, first) = levels(5_513, 10)
    assert (base.entered, base.arranged, base.lifted, base.waiting) == (6, (2,), 2, 2)
    assert (first.entered, first.arranged, first.waiting) == (2, (), 2)
    assert base.lifted_by(1) == base.lifted_by(5) == 1 / 3
