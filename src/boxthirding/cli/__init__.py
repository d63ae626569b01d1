"""The command line, a thin skin over the library."""

import importlib.util
import sys


def main() -> None:
    """Run the command `boxthirding`, or say what must be installed first."""
    if any(importlib.util.find_spec(package) is None for package in ("click", "rich")):
        sys.stderr.write("boxthirding's command line needs click and rich: pip install 'boxthirding[cli]'\n")
        sys.exit(2)

    from boxthirding.cli.commands import cli  # only now: it imports both

    cli(prog_name="boxthirding")
