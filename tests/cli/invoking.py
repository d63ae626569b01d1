"""How the tests give a command, and what must come of it."""

from click.testing import CliRunner

from boxthirding.cli.commands import cli


def invoke(*arguments):
    """Give a command; return its outputs and its exit code."""
    return CliRunner().invoke(cli, [*map(str, arguments)])


def study(*arguments):
    """Give a command of `boxthirding study`."""
    return invoke("study", *arguments)


def done(*arguments):
    """Give a command of a study that must succeed; return its output."""
    ended = study(*arguments)
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def refused(*arguments):
    """Give a command of a study that must be refused; return what it says on stderr."""
    ended = study(*arguments)
    assert (ended.exit_code, ended.stdout) == (2, ""), ended.output
    return ended.stderr
