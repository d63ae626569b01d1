"""A tally as a record, to go on from when a server starts again: a long journal takes seconds to read."""

import hashlib
import json
import time
import zlib
from collections import Counter
from contextlib import suppress
from typing import Any, Final

from boxthirding.errors import BoxThirdingError
from boxthirding.service.rater_stats import Held, HolderTally, Tally
from boxthirding.storage.records import Records, StoredRecord
from boxthirding.study import Study

KIND: Final = "tally"
"""Of the records that are tallies."""

_VERSION: Final = 1
_LEAST: Final = 2_000  # events after which a tally is kept again; reading them takes a tenth of a second
_SHARE: Final = 8  # or this part of all events, where that is more


class KeptTally(Tally):
    """A tally that begins with what was kept, if the journal has gone on from there, and is kept now and then."""

    def __init__(self, study: Study, records: Records) -> None:
        super().__init__(study)
        self._records = records
        self._kept = 0  # the last event of what was kept

    def update(self) -> None:
        """Add up what has happened."""
        if self._seq == 0:
            self._load()
        super().update()
        if self._seq - self._kept >= max(_LEAST, self._seq // _SHARE):
            self.keep()

    def keep(self) -> None:
        """Keep what was added up; where that cannot be written, the journal has everything."""
        with self._lock, suppress(BoxThirdingError):
            if self._seq - self._kept < _LEAST:
                return
            self._kept = self._seq
            row = {"version": _VERSION, "check": self._study.check(self._seq), **self._saved()}
            data = zlib.compress(json.dumps(row, separators=(",", ":")).encode(), 1)
            self._records.put(KIND, StoredRecord(key_of(self._study.name), time.time(), data))

    def _load(self) -> None:
        with self._lock:
            if self._seq:
                return
            found = self._records.get(KIND, key_of(self._study.name))
            if found is None:
                return
            with suppress(ValueError, KeyError, TypeError, zlib.error):
                row = json.loads(zlib.decompress(found.data))
                if row["version"] == _VERSION and row["check"] and row["check"] == self._study.check(row["seq"]):
                    self._restore(row)
                    self._kept = self._seq
                    self._read_up_to(None)

    def _saved(self) -> dict[str, Any]:
        return {
            "seq": self._seq,
            "labels": list(self._labels.items()),
            "held": list(self._held.values()),
            "details": self.details,
            "holders": {name: _plain(told) for name, told in self.holders.items()},
            "skips": [(label, sorted(holders)) for label, holders in self.skips.items()],
            "pace": self.pace.save(),
        }

    def _restore(self, row: dict[str, Any]) -> None:
        holders = {name: _told(*facts) for name, facts in row["holders"].items()}
        skips = {label: set(names) for label, names in row["skips"]}
        labels, held = dict(row["labels"]), [Held(*one) for one in row["held"]]
        self.pace.load(row["pace"])
        self.holders, self.skips, self._labels, self.details = holders, skips, labels, row["details"]
        for one in held:
            self._hold(one)
        self._seq = row["seq"]


def key_of(name: str | None) -> str:
    """Return the id of the record of a study's tally."""
    return hashlib.sha256(str(name).encode(errors="backslashreplace")).hexdigest()[:32]


def _plain(told: HolderTally) -> list[Any]:
    counts = [told.told, told.skipped, told.first, told.last, told.latest]
    return [*counts, dict(told.answers), list(told.seconds)]


def _told(
    told: int,
    skipped: int,
    first: float,
    last: float,
    latest: int | None,
    answers: dict[str, int],
    seconds: list[float],
) -> HolderTally:
    found = HolderTally(told, skipped, Counter(answers), first=first, last=last, latest=latest)
    found.seconds.extend(seconds)
    return found
