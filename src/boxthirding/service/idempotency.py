"""The same request twice counts once: replies by `Idempotency-Key`, of one credential and route, for a day."""

import hashlib
import json
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from boxthirding.service.problems import Refusal
from boxthirding.storage.server_records import Records, StoredRecord

KIND: Final = "reply"
DAY: Final = 86_400.0
_LONGEST: Final = 200  # characters of a key
_TIDY: Final = 3600.0  # seconds between looks for what is older than a day


class KeptReply(NamedTuple):
    """A reply that was given before."""

    status: int
    type: str
    body: bytes


class Replies:
    """Replies that may be asked for again; thread-safe."""

    def __init__(self, records: Records, clock: Callable[[], float] = time.time) -> None:
        self._records, self._clock = records, clock
        self._under_way: set[str] = set()
        self._lock = threading.Lock()  # of the names under way
        self._tidied = 0.0

    def begin(self, name: str, asked: bytes) -> KeptReply | None:
        """Return the reply that a request had before; None for the first one, which must `end`."""
        with self._lock:
            if name in self._under_way:
                problem = "a request with this Idempotency-Key is under way"
                raise Refusal(409, problem, "wait for its reply, then try again", transient=True)
            self._under_way.add(name)
        is_first = False
        try:
            reply = self._before(name, asked)
            if reply is None:
                begun = json.dumps({"body": _digest(asked), "status": None}).encode()
                self._records.put(KIND, StoredRecord(name, self._clock(), begun))  # a crash before the reply is noticed
                is_first = True
            return reply
        finally:
            if not is_first:
                self._under_way.discard(name)

    def _before(self, name: str, asked: bytes) -> KeptReply | None:
        """Return the reply that was kept; None, if none is."""
        record = self._records.get(KIND, name)
        if record is None or record.at < self._clock() - DAY:
            return None
        head, _, kept = record.data.partition(b"\n")
        facts = json.loads(head)
        if facts["body"] != _digest(asked):
            raise Refusal(422, "this Idempotency-Key came with another body or other parameters", "use a new key")
        if facts["status"] is None:
            raise Refusal(
                409,
                "the request that came with this Idempotency-Key before ended without a reply and may have succeeded",
                "look at the study, then repeat what is missing under a new key",
                unsure=True,
            )
        return KeptReply(facts["status"], facts["type"], kept)

    def leave(self, name: str) -> None:
        """End a request whose outcome is unknown: from now on the same key is refused."""
        self._under_way.discard(name)

    def end(self, name: str, asked: bytes, reply: KeptReply | None) -> None:
        """Keep the reply of a request; None if it has changed nothing, so that it may be repeated."""
        try:
            if reply is None:
                self._records.delete(KIND, name)
            else:
                facts = {"body": _digest(asked), "status": reply.status, "type": reply.type}
                data = json.dumps(facts).encode() + b"\n" + reply.body
                self._records.put(KIND, StoredRecord(name, self._clock(), data))
                if self._clock() - self._tidied > _TIDY:
                    self._tidied = self._clock()
                    self._records.expire(KIND, self._clock() - DAY)
        finally:
            self._under_way.discard(name)


def name_of(credential: str, method: str, path: str, key: str) -> str:
    """Return under which name a reply is kept."""
    if not (0 < len(key) <= _LONGEST and key.isprintable()):
        raise Refusal(422, f"Idempotency-Key has {len(key)} characters, but must be 1 to {_LONGEST} printable ones")
    return _digest(f"{credential}\0{method}\0{path}\0{key}".encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
