"""Take the traces that golden tests compare with: which arm every policy pulls when, and what it answers.

    python tests/golden/take_traces.py SPEC …    # or nothing, for those that are not there

writes them to traces.json beside this file. A trace that is there stays, unless its SPEC is named: a change of the rule
is the only reason to take it again, and the version of the rule rises then.
"""

import json
import sys

from traces import FILE, LIVE, SPECS, live, simulated


def main(names):
    """Add the traces that are missing, and take those that are named again."""
    wrong = {*names} - {*SPECS}
    if wrong:
        sys.exit(f"{', '.join(sorted(wrong))} is not in SPECS of traces.py, which has {', '.join(SPECS)}")
    golden = json.loads(FILE.read_text(encoding="utf-8"))
    for spec, arms in LIVE:
        if spec in names or f"{spec} {arms}" not in golden["live"]:
            golden["live"][f"{spec} {arms}"] = live(spec, arms)
    for spec in SPECS:
        if spec in names or spec not in golden["simulated"]:
            golden["simulated"][spec] = simulated(spec)
    lines = [
        f"{json.dumps(kind)}: {{\n"
        + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in rows.items())
        + "\n}"
        for kind, rows in golden.items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
