"""The parts of a server, put together over one place."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from boxthirding.errors import InvalidInput
from boxthirding.service.idempotency import Replies
from boxthirding.service.keys import OPERATOR, Access
from boxthirding.service.limits import Limits
from boxthirding.service.links import Links
from boxthirding.service.metrics import Metrics
from boxthirding.service.plans import Planner
from boxthirding.service.rater_stats import forget
from boxthirding.service.studies import Studies
from boxthirding.storage.opening import shelf


@dataclass(frozen=True)
class Options:
    """How a server is reached, and what it allows."""

    public_url: str | None = None  # where browsers find it, such as https://rate.example.org; None for where it listens
    hosts: frozenset[str] = frozenset()
    """Names by which it may be called, beside those of the public URL, this machine and any address in numbers."""
    proxy: bool = False  # whether a proxy in front says who is asking, by X-Forwarded-For
    origins: frozenset[str] = frozenset()  # pages of other origins that may call the API
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.public_url is not None and _origin(self.public_url.rstrip("/")) is None:
            raise InvalidInput(
                f"the public URL is {self.public_url!r}, but must be like https://rate.example.org, without a path, a "
                f"user or anything else after the host"
            )
        for origin in self.origins:
            if _origin(origin) != origin:
                raise InvalidInput(
                    f"the origin is {origin!r}, but must be as browsers send it, like https://app.example or "
                    f"http://localhost:3000: without a slash at the end, and in small letters"
                )


def _origin(url: str) -> str | None:
    """Return the origin that browsers send for a page of an address with nothing but a host; None, if it has more."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    if usual is None or not host or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return f"{parts.scheme}://{host}" if port in (None, usual) else f"{parts.scheme}://{host}:{port}"


class Service:
    """All that requests share."""

    def __init__(self, place: str, options: Options | None = None, clock: Callable[[], float] = time.time) -> None:
        self.place = place
        self.options = options or Options()
        self.clock = clock
        self.records = shelf(place).records()
        self.access = Access(self.records, clock)
        self.links = Links(self.records, clock)
        self.replies = Replies(self.records, clock)
        self.studies = Studies(place, self.records, clock=clock)
        self.metrics = Metrics(self.studies.all_at_hand)
        self.planner = Planner()
        self.streams: Counter[str] = Counter()  # open event streams by key
        self.is_stopping: Callable[[], bool] = lambda: False
        """Whether the server is about to end, so that streams end too."""

    def first_key(self) -> str | None:
        """Make the operator's key, if there is none of all studies; return its secret, or None."""
        if any(key.scope == OPERATOR and key.study is None for key in self.access.keys.all()):
            return None
        return self.access.new_key(OPERATOR, name="first")[0]

    def delete_study(self, name: str) -> None:
        """Delete a study, and what lets one in to it: another of its name is another study."""
        self.studies.delete(name)
        forget(self.records, name)

    def close(self) -> None:
        """Close the studies and the records."""
        self.studies.close()
        self.records.close()
