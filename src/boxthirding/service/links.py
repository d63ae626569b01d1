"""Rating links let raters in; a rater is a link and a signed cookie, or a link and an id that another service gave."""

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from boxthirding.errors import InvalidInput
from boxthirding.service.keys import Secrets, as_record, hashed
from boxthirding.service.problems import Refusal
from boxthirding.storage.server_records import Records, StoredRecord

HOLDER: Final = "rater-"  # what the holders' names of raters begin with

MOST_RATERS: Final = 10_000
_DIGITS: Final = 12


@dataclass(frozen=True)
class Link:
    """What lets raters of one study in."""

    id: str
    study: str
    name: str = ""
    made: float = 0.0
    expires: float | None = None
    raters: int = MOST_RATERS  # how many raters may begin with it
    signed: bool = False  # whether a rater must come with an id that was signed here
    origin: str = ""  # what tells its study from another that is made under the same name later


@dataclass(frozen=True)
class Rater:
    """Who rates: the link, and a name that is the rater's alone on it."""

    id: str
    link: str
    claims: dict[str, str]  # the id, the study and the session that another service, such as Prolific, says this is
    made: float = 0.0
    is_guest: bool = False  # whether it came under an id that another browser has: it may go on, and reads nothing

    @property
    def holder(self) -> str:
        """The name under which the rater's tickets and results are kept."""
        return f"{HOLDER}{self.link}-{self.id}"


class Links:
    """The rating links of a server and their raters; thread-safe."""

    def __init__(self, records: Records, clock: Callable[[], float] = time.time) -> None:
        self._records, self._clock = records, clock
        self._links = Secrets(records, "link", Link, clock)
        records.put_new("secret", StoredRecord("raters", clock(), secrets.token_bytes(32)))
        kept = records.get("secret", "raters")
        self._secret = b"" if kept is None else kept.data
        self._raters: dict[tuple[str, str], Rater] = {}
        self._begun: set[tuple[str, str]] = set()  # of them, those who are known to have a place
        self._lock = threading.Lock()

    def new(self, study: str, *, origin: str, seconds: float | None = None, **fields: Any) -> tuple[str, Link]:
        """Make a link; return its secret part, which is not stored, and the link."""
        expires = None if seconds is None else self._clock() + seconds
        return self._links.new(study=study, origin=origin, expires=expires, **fields)

    def find(self, secret: str, *, at_hand: bool = False) -> Link | None:
        """Return the link of a secret; None, if it lets no one in."""
        return self._links.find(hashed(secret), at_hand=at_hand)

    def all(self, study: str) -> list[Link]:
        """Return the links of a study, the earliest first."""
        return [link for link in self._links.all() if link.study == study]

    def revoke(self, study: str, link: str) -> bool:
        """Revoke a link of a study; return whether there was one."""
        return any(one.id == link for one in self.all(study)) and self._links.revoke(link)

    def raters(self, link: str) -> int:
        """Return how many raters have begun with a link: places are taken by them, and by no one who looks at it."""
        return self._records.count(_kind(link))

    def signature(self, link: str, rater: str) -> str:
        """Return what shows that an id was given out here."""
        return self._signed("id", link, rater)

    def cookie(self, rater: Rater) -> str:
        """Return the cookie of a rater."""
        role = "guest" if rater.is_guest else "own"
        return f"{rater.id}.{role}.{self._signed(role, rater.link, rater.id)}"

    def rater(self, link: Link, cookie: str, *, at_hand: bool = False) -> Rater | None:
        """Return the rater of a cookie that was signed here for this link."""
        parts = cookie.split(".")
        if len(parts) != 3 or not cookie.isascii():  # noqa: PLR2004  # id, role, signature
            return None
        rater_id, role, signature = parts
        if role not in ("own", "guest") or not hmac.compare_digest(signature, self._signed(role, link.id, rater_id)):
            return None
        rater = self._find(link.id, rater_id, at_hand=at_hand)
        return rater if rater is None or role == "own" else replace(rater, is_guest=True)

    def has_begun(self, rater: Rater) -> bool:
        """Return whether a rater has a place on its link, as far as is known without asking the database."""
        return (rater.link, rater.id) in self._begun

    def begin(self, link: Link, rater: Rater) -> None:
        """Give a rater one of the places of a link, unless it has one."""
        name = link.id, rater.id
        with self._lock:
            if self._records.get(_kind(link.id), rater.id) is None:
                self._check_room(link)
                self._records.put_new(_kind(link.id), as_record(rater.id, replace(rater, is_guest=False)))
                self._records.delete(_visitors(link.id), rater.id)
            self._begun.add(name)

    def start(self, link: Link, claims: dict[str, str], signature: str | None) -> Rater:
        """Return a new rater, or the one of an id that has been here."""
        name = claims.get("id")
        if link.signed and not (
            name and signature and hmac.compare_digest(signature.encode(), self.signature(link.id, name).encode())
        ):
            advice = "use the link exactly as you were sent it"
            raise Refusal(403, "this link is for raters with a signed id", advice, reason="signature")
        if name is None:
            return self._new(link, secrets.token_hex(_DIGITS // 2), claims)
        rater_id = self.rater_id(link, name)
        known = self._find(link.id, rater_id)
        if known is not None:
            return replace(known, is_guest=not link.signed)
        return self._new(link, rater_id, claims)

    def rater_id(self, link: Link, name: str) -> str:
        """Return the id here of a rater whom another service calls by a name."""
        return self._signed("rater", link.id, name)[:_DIGITS]

    def claims_of(self, holder: str) -> dict[str, str] | None:
        """Return what a rater says it is, by the name of a holder; None, if it is no rater."""
        parts = holder.removeprefix(HOLDER).split("-")
        if not is_rater(holder) or len(parts) != 2:  # noqa: PLR2004  # link and rater
            return None
        record = self._records.get(_kind(parts[0]), parts[1])
        return None if record is None else json.loads(record.data)["claims"]

    def _new(self, link: Link, rater_id: str, claims: dict[str, str]) -> Rater:
        self._check_room(link)
        rater = Rater(rater_id, link.id, claims, self._clock())
        self._records.put_new(_visitors(link.id), as_record(rater_id, rater))
        self._raters[link.id, rater_id] = rater
        return rater

    def _check_room(self, link: Link) -> None:
        if self.raters(link.id) >= link.raters:
            few = "it is for one rater" if link.raters == 1 else f"it is for {link.raters:,} raters"
            raise Refusal(403, f"this link is used up: {few}", "ask for another link", reason="full")

    def _find(self, link: str, rater_id: str, *, at_hand: bool = False) -> Rater | None:
        if (link, rater_id) not in self._raters and not at_hand:
            record = self._records.get(_kind(link), rater_id) or self._records.get(_visitors(link), rater_id)
            if record is not None:
                self._raters[link, rater_id] = Rater(**json.loads(record.data))
        return self._raters.get((link, rater_id))

    def _signed(self, *parts: str) -> str:
        text = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()[:32]


def is_rater(holder: str) -> bool:
    """Return whether a holder's name is one that only raters have."""
    return holder.startswith(HOLDER)


def check_not_a_rater(holder: str | None) -> None:
    """Raise if a holder's name is one that only raters have."""
    if holder is not None and is_rater(holder):
        raise InvalidInput(f"the holder is {holder!r}, but names that begin with {HOLDER!r} are raters': use another")


def _kind(link: str) -> str:
    return f"rater {link}"


def _visitors(link: str) -> str:
    """Return the kind of those who opened a link and have not begun: who only reads the consent takes no place."""
    return f"visitor {link}"
