"""Take the traces that golden tests compare with: which arm every policy pulls when, and what it answers.

    python tests/golden/take_traces.py

writes traces.json beside this file. The traces in it were taken before results belonged to arms; a change of a rule is
the only reason to take them anew, and its version rises then.
"""

import json
from pathlib import Path

from traces import FILE, LIVE, SPECS, live, simulated


def taken():
    """Return everything that the tests compare with."""
    return {
        "live": {f"{spec} {arms}": live(spec, arms) for spec, arms in LIVE},
        "simulated": {spec: simulated(spec) for spec in SPECS},
    }


if __name__ == "__main__":
    lines = [
        f"{json.dumps(kind)}: {{\n"
        + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in rows.items())
        + "\n}"
        for kind, rows in taken().items()
    ]
    Path(FILE).write_text("{\n" + ",\n".join(lines) + "\n}\n")
