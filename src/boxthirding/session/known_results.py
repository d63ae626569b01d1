"""Known results and details, as callers give them."""

import json
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from boxthirding._checks import as_reward
from boxthirding.errors import InvalidInput
from boxthirding.session.values import Known
from boxthirding.types import Label

LONGEST_DETAILS: Final = 10_000
"""Characters of the details of a result, as JSON."""

_PAIR = 2


class KnownResult(NamedTuple):
    """A result that is there without a ticket."""

    label: Label
    reward: float
    pull: int | None


def plain(label: Label) -> Label:
    """Return a label without the type of an array that it may come from."""
    known: Label = label.item() if isinstance(label, np.generic) else label
    return known


def listed(known: Known | Any) -> list[KnownResult]:
    """Return known results one by one, with plain labels and floats.

    >>> listed({"ann": 0.5, "bob": [1, 2]})[1]
    KnownResult(label='bob', reward=1.0, pull=None)
    """
    if isinstance(known, Mapping):
        return [row for label, rewards in known.items() for row in _of(plain(label), rewards)]
    return [KnownResult(plain(label), as_reward(reward), None) for label, reward in pairs_of(known)]


def pairs_of(known: Known | Any) -> Iterator[tuple[Any, Any]]:
    """Return known results as pairs of a label and what is known of it."""
    if isinstance(known, Mapping):
        yield from known.items()
        return
    if isinstance(known, str | bytes) or not isinstance(known, Iterable):
        raise InvalidInput(f"known results are {known!r}, but must be a mapping of labels to rewards, or pairs of them")
    for pair in known:
        if not (isinstance(pair, tuple | list) and len(pair) == _PAIR):
            raise InvalidInput(f"a known result is {pair!r}, but must be a pair of a label and a reward")
        yield pair[0], pair[1]


def _of(label: Label, rewards: Any) -> list[KnownResult]:
    if isinstance(rewards, Mapping):
        return [KnownResult(label, as_reward(reward), pull) for pull, reward in rewards.items()]
    if isinstance(rewards, Iterable) and not isinstance(rewards, str | bytes) and getattr(rewards, "ndim", 1) != 0:
        return [KnownResult(label, as_reward(reward), None) for reward in rewards]
    return [KnownResult(label, as_reward(rewards), None)]


def check_details(details: object) -> dict[str, Any]:
    """Return the details of a result as a plain JSON object, or refuse them."""
    rule = "must be a small JSON object, such as {'answer': 'funny', 'seconds': 2.5}"
    if not (isinstance(details, Mapping) and all(isinstance(key, str) for key in details)):
        raise InvalidInput(f"details is {reprlib.repr(details)}, but {rule}")
    try:
        text = json.dumps(dict(details), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"details is {reprlib.repr(details)}, but {rule} ({error})") from None
    if len(text) > LONGEST_DETAILS:
        raise InvalidInput(f"details has {len(text):,} characters, but {rule}, of at most {LONGEST_DETAILS:,}")
    plain: dict[str, Any] = json.loads(text)
    return plain
