"""The command `boxthirding`: its subcommands, and how all of them refuse bad input."""

import errno
import os
import sys
from contextlib import suppress
from typing import Any

import click

from boxthirding.cli.demo import demo
from boxthirding.cli.leaderboard import leaderboard
from boxthirding.cli.output import INTERRUPTED, Failure, Refused, format_error, never_fail_to_encode, say
from boxthirding.cli.plan import plan
from boxthirding.cli.plot import plot
from boxthirding.cli.reproduce import reproduce
from boxthirding.cli.run import run
from boxthirding.cli.serve import serve
from boxthirding.cli.simulate import simulate
from boxthirding.cli.study import study
from boxthirding.errors import BoxThirdingError


class Commands(click.Group):
    """A group that turns every error of the library into a refusal, and Ctrl-C into the exit code of SIGINT."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Read the arguments and run the subcommand, whatever the encoding of the output."""
        never_fail_to_encode()
        return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand."""
        if sys.stdout is None:
            raise Failure("standard output is closed, so there is no place for an answer")
        try:
            return super().invoke(ctx)
        except BoxThirdingError as error:
            raise Refused(format_error(error)) from error
        except KeyboardInterrupt:  # if a command has nothing to save
            say("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except MemoryError as error:
            raise Failure(f"there is not enough memory: ask for less at a time ({error})") from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # Click knows a closed pipe
                raise
            if error.filename is not None:
                file, reason = os.fsdecode(error.filename), error.strerror or error
                raise Refused(f"{file} cannot be used ({reason}): check its name and permissions") from error
            _forget_output()
            raise Failure(f"standard output cannot be written: {error.strerror or error}") from error


def _forget_output() -> None:
    """Send what is left of the output nowhere: Python would complain of it once more in the end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="boxthirding")
def cli() -> None:
    """Find the best of many noisy options when there is not enough budget to try them all."""


for command in (demo, leaderboard, plan, plot, reproduce, run, serve, simulate, study):
    cli.add_command(command)
