"""What a server keeps of a study beside its journal, for those who delete the study without the server."""

import json

from boxthirding.service.tallies import KIND, key_of
from boxthirding.storage.records import Records


def forget(records: Records, study: str) -> None:
    """Delete the keys, the rating links and the tally of a study: another of its name is another study."""
    for kind in ("key", "link"):
        for record in records.all(kind):
            if json.loads(record.data).get("study") == study:
                records.delete(kind, record.id)
    records.delete(KIND, key_of(study))
