"""How often and how much: buckets of requests, and bodies that end."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.types import Message, Receive

from boxthirding.service.problems import Refusal, TooMany

SMALL: Final = 1_000_000  # bytes of a body where nothing else is said

PICTURE: Final = 5_000_000  # bytes of a picture

LARGE: Final = 32_000_000  # bytes of a body that holds arms

HEADERS: Final = 32_768  # bytes of a request's headers

_MOST: Final = 50_000  # buckets: full ones are thrown away beyond that


@dataclass(frozen=True)
class Rate:
    """So many requests a second in the long run, and so many at once."""

    per_second: float
    at_once: int


@dataclass(frozen=True)
class Limits:
    """What a server puts up with. No limit is per rating link: one stranger must not lock its raters out."""

    key: Rate = Rate(500, 2_000)
    rater: Rate = Rate(10, 60)
    address: Rate = Rate(1_000, 4_000)  # all requests from an address: hundreds of raters may share one
    strangers: Rate = Rate(5, 100)  # from an address: requests that no key and no rating link comes with
    new_raters: Rate = Rate(5, 500)  # from an address: raters who start
    streams: int = 100  # event streams of one key at a time
    connections: int = 1_000  # from an address at a time, and at most half of the files that the process may have open


class Buckets:
    """A bucket for each name that fills up at a rate; used in the event loop alone."""

    def __init__(self, rate: Rate, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._what, self._clock = rate, what, clock
        self._left: dict[str, tuple[float, float]] = {}  # by name: requests left, and when that was so

    def admit(self, name: str) -> None:
        """Count a request; refuse it, if there were too many."""
        now, rate = self._clock(), self._rate
        left, since = self._left.get(name, (rate.at_once, now))
        left = min(rate.at_once, left + (now - since) * rate.per_second)
        if left < 1:
            said = f"{self._what} may make {rate.per_second:g} requests a second, and made more"
            raise TooMany(said, (1 - left) / rate.per_second)
        if len(self._left) >= _MOST and name not in self._left:
            full = rate.at_once / rate.per_second
            self._left = {one: pair for one, pair in self._left.items() if now - pair[1] < full}
        self._left[name] = (left - 1, now)


def limited(receive: Receive, most: int) -> Receive:
    """Return a receiver that refuses a body beyond so many bytes, whatever its length was said to be."""
    got = 0

    async def receive_some() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        if got > most:
            raise too_large(most)
        return message

    return receive_some


def too_large(most: int) -> Refusal:
    """Return the refusal of a body."""
    advice = "make the picture smaller, or save it as JPEG or WebP" if most == PICTURE else "send less, or in parts"
    return Refusal(413, f"the body is larger than {most:,} bytes", advice)
