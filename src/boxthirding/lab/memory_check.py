"""How much memory there is, so that what cannot fit is refused before it begins."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from boxthirding.errors import InvalidInput

_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


def available() -> float:
    """Return how many bytes a process may have: of the machine, or of the container it runs in."""
    most = float("inf")
    with suppress(AttributeError, OSError, ValueError):  # not every system says
        most = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    for limit in _LIMITS:
        with suppress(OSError, ValueError):  # the word max is no number
            most = min(most, float(Path(limit).read_text(encoding="ascii")))
    return most


def refuse_too_large(what: str, size: float, way_out: str) -> None:
    """Refuse by name what needs so many bytes, if there are not as many."""
    there = available()
    if size > there:
        raise InvalidInput(
            f"{what} would need about {size / 2**30:,.0f} GiB of memory, but there are {there / 2**30:,.0f}: {way_out}"
        )
