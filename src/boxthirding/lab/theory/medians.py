"""The remedian (Rousseeuw and Bassett 1990): medians of medians of blocks, the idea behind boxes of three."""

from collections.abc import Sequence
from statistics import median

from boxthirding._checks import is_finite, whole
from boxthirding.errors import InvalidInput
from boxthirding.lab.theory._ranges import several


def remedian(values: Sequence[float], block: int = 3) -> float:
    """Return the remedian (the paper's figure on its motivation): medians of blocks, until one is left.

    Values are cut into blocks in their order; a last block that is not full counts with what it has. With blocks whose
    medians are 2.8, 5.3 and 4.8 it is 4.8. It need not be the median.

    >>> remedian([2.1, 2.8, 6.0, 5.3, 1.9, 7.4, 4.8, 9.2, 3.3])
    4.8
    """
    whole("block", block, least=2)
    level = several("values", values)
    for value in level:
        if not is_finite(value):
            raise InvalidInput(f"a value is {value!r}, but must be a finite number")
    if not level:
        raise InvalidInput("there is no value, but a remedian needs one at least")
    while len(level) > 1:
        level = [median(level[i : i + block]) for i in range(0, len(level), block)]
    return float(level[0])
