"""A session put down as plain facts and arrays, so that another process can take it up."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray


class Saved(NamedTuple):
    """Everything a session needs to go on, but for its policy, its first arms and its leases."""

    facts: dict[str, Any]
    """What JSON can hold."""
    arrays: dict[str, NDArray[Any]]

    def part(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays that were saved under a name."""
        start = name + "."
        return {key.removeprefix(start): array for key, array in self.arrays.items() if key.startswith(start)}


def named(**parts: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of several parts in one mapping, each under the name of its part."""
    return {f"{part}.{key}": array for part, arrays in parts.items() for key, array in arrays.items()}
