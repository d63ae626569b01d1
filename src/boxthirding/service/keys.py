"""Who may come in: keys, one-time codes and sessions. Each is a random secret, shown once; only its hash is stored."""

import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Generic, TypeVar

from boxthirding.errors import InvalidInput
from boxthirding.storage.server_records import Records, StoredRecord

READER: Final = "reader"
WORKER: Final = "worker"
OPERATOR: Final = "operator"
SCOPES: Final = (READER, WORKER, OPERATOR)  # each may do what those before it may

CODE_SECONDS: Final = 3600.0
SESSION_SECONDS: Final = 30 * 86_400.0


@dataclass(frozen=True)
class Key:
    """What lets a program, or an operator's browser, in."""

    id: str
    scope: str
    study: str | None = None  # None for all studies
    name: str = ""  # what it is for, in the operator's words
    made: float = 0.0
    expires: float | None = None
    origin: str = ""  # what tells its study from another that is made under the same name later

    def covers(self, study: str | None) -> bool:
        """Return whether it is of a study, or with None of all."""
        return self.study is None or self.study == study

    def may(self, scope: str) -> bool:
        """Return whether its scope is at least this one."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


@dataclass(frozen=True)
class Pass:
    """A one-time code or a session: it stands for the key that it was made with."""

    id: str
    key: str
    made: float = 0.0
    expires: float | None = None


Thing = TypeVar("Thing", bound=Any)


class Secrets(Generic[Thing]):
    """Things that are found by a secret; thread-safe. One that was revoked never comes back."""

    def __init__(self, records: Records, kind: str, make: Callable[..., Thing], clock: Callable[[], float]) -> None:
        self._records, self._kind, self._make, self._clock = records, kind, make, clock
        self._found: dict[str, Thing] = {}  # by the hash of their secret
        self._gone: set[str] = set()
        self._lock = threading.Lock()

    def new(self, **fields: Any) -> tuple[str, Thing]:
        """Make a thing; return its secret, which is not stored, and the thing."""
        secret = f"{self._kind}_{secrets.token_urlsafe(32)}"
        thing = self._make(id=secrets.token_hex(6), made=self._clock(), **fields)
        digest = hashed(secret)
        self._records.put(self._kind, as_record(digest, thing))
        with self._lock:
            self._found[digest] = thing
        return secret, thing

    def find(self, digest: str, *, at_hand: bool = False) -> Thing | None:
        """Return the thing of a secret's hash, if it was not revoked and has not expired.

        At hand are those that were found before, which the database is not asked for.
        """
        thing = self._found.get(digest)
        if thing is None and digest not in self._gone and not at_hand:
            record = self._records.get(self._kind, digest)
            if record is None:
                return None
            thing = self._make(**json.loads(record.data))
            with self._lock:
                if digest in self._gone:
                    return None
                self._found[digest] = thing
        return thing if thing is not None and (thing.expires is None or self._clock() < thing.expires) else None

    def redeem(self, digest: str) -> Thing | None:
        """Return a thing that can be used once, and use it."""
        thing = self.find(digest)
        return thing if thing is not None and self._forget(digest) else None

    def all(self) -> list[Thing]:
        """Return all that there are, expired ones too, the earliest first."""
        return [self._make(**json.loads(record.data)) for record in self._records.all(self._kind)]

    def revoke(self, key: str) -> bool:
        """Revoke a thing; return whether there was one."""
        for record in self._records.all(self._kind):
            if json.loads(record.data)["id"] == key:
                return self._forget(record.id)
        return False

    def _forget(self, digest: str) -> bool:
        with self._lock:
            self._gone.add(digest)
            self._found.pop(digest, None)
        return self._records.delete(self._kind, digest)


class Access:
    """The keys of a server, and what stands for them in a browser."""

    def __init__(self, records: Records, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.keys = Secrets(records, "key", Key, clock)
        """One that is revoked lets in no sessions that were made with it either."""
        self._codes = Secrets(records, "code", Pass, clock)
        self._sessions = Secrets(records, "session", Pass, clock)

    def new_key(
        self,
        scope: str,
        study: str | None = None,
        name: str = "",
        seconds: float | None = None,
        *,
        origin: str = "",
        until: float | None = None,
    ) -> tuple[str, Key]:
        """Make a key that expires after some seconds, and at `until` at the latest.

        Return its secret, which is not stored, and the key. `origin` is that of its study.
        """
        if scope not in SCOPES:
            raise InvalidInput(f"the scope is {scope!r}, but must be one of {', '.join(SCOPES)}")
        ends = [end for end in (until, None if seconds is None else self._clock() + seconds) if end is not None]
        return self.keys.new(scope=scope, study=study, name=name, expires=min(ends, default=None), origin=origin)

    def new_code(self, secret: str) -> str:
        """Return a code that can be exchanged once, within an hour, for a session of a key."""
        return self._codes.new(key=hashed(secret), expires=self._clock() + CODE_SECONDS)[0]

    def open_session(self, secret: str) -> tuple[str, Key] | None:
        """Exchange a one-time code or a key for a session; return its secret and the key."""
        digest = hashed(secret)
        code = self._codes.redeem(digest)
        if code is not None:
            digest = code.key
        key = self.keys.find(digest)
        if key is None:
            return None
        expires = min(self._clock() + SESSION_SECONDS, key.expires or float("inf"))
        return self._sessions.new(key=digest, expires=expires)[0], key

    def close_session(self, secret: str) -> None:
        """End a session."""
        self._sessions.redeem(hashed(secret))

    def find(self, secret: str, *, is_session: bool, at_hand: bool = False) -> Key | None:
        """Return the key that a secret is of, or that a session was made with; None, if it lets no one in."""
        digest = hashed(secret)
        if is_session:
            session = self._sessions.find(digest, at_hand=at_hand)
            if session is None:
                return None
            digest = session.key
        return self.keys.find(digest, at_hand=at_hand)


def hashed(secret: str) -> str:
    """Return by what a secret is known; it is long and random, so that a plain hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def as_record(key: str, thing: Any) -> StoredRecord:
    """Return a key, a link or a rater as a record."""
    return StoredRecord(key, thing.made, json.dumps(asdict(thing)).encode())


def as_row(thing: Any, **more: Any) -> dict[str, Any]:
    """Return a key or a link as a listing has it."""
    return {**asdict(replace(thing)), **more}
