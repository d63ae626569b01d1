"""The command that scores an arm: placeholders, quoting and validation."""

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from boxthirding._text import did_you_mean
from boxthirding.errors import InvalidInput

_PLACEHOLDER = re.compile(r"(?<!\$)\{(\w[\w .-]*)\}")  # ${name} belongs to the shell
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
_SHELL_SYNTAX = re.compile(r"\|+|&&|;(?=\s|$)|(?<!\S)(?:\d?>>?|<|&(?!\S))|\$[A-Za-z_({]\w*|`", re.DOTALL)
_BUILT_IN: Final = frozenset(
    {"cd", "export", "source", ".", "set", "unset", "ulimit", "umask", "eval", "exec", "alias"}
)
_INTERPRETERS: Final = {".py": "python", ".sh": "sh", ".r": "Rscript", ".jl": "julia", ".js": "node", ".pl": "perl"}
_MAX_LISTED = 20  # columns that an error names


def placeholders(command: str) -> frozenset[str]:
    """Return the names in braces."""
    return frozenset(_PLACEHOLDER.findall(command))


class CommandTemplate:
    """A command with placeholders for the columns of an arm.

    Without a shell it is split into arguments once, and a value never spans several arguments. With a shell, values are
    passed as positional parameters and never become part of the script, so they cannot be executed.
    """

    def __init__(self, command: str, columns: frozenset[str], *, examples: bool, shell: bool = False) -> None:
        self.names = placeholders(command)
        self._command = command
        self._shell = _find_shell() if shell else None
        self._words = [] if shell else _split(command)
        self._check(columns, examples=examples)
        if shell:
            self._order = sorted(self.names)
            self._script = _with_references(command, {name: place for place, name in enumerate(self._order, start=1)})
        else:
            _check_no_shell_syntax(command)
            _check_program(self._words)

    def fill(self, values: Mapping[str, str]) -> tuple[list[str], str]:
        """Return the argument list and a printable form."""
        if self._shell is not None:
            shown = _PLACEHOLDER.sub(lambda found: shlex.quote(values[found[1]]), self._command)
            return [self._shell, "-c", self._script, "sh", *(values[name] for name in self._order)], shown
        words = [_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in self._words]
        return words, shlex.join(words)

    def _check(self, columns: frozenset[str], *, examples: bool) -> None:
        """Raise if a placeholder is unknown or if no column of the arm is used."""
        known = columns | {"pull"} | ({"example"} if examples else set())
        if examples and "example" in columns:
            raise InvalidInput("the column 'example' of the arms clashes with --examples: rename the column")
        if "example" in self.names - known:
            raise InvalidInput("command has {example}, but there are no examples: pass --examples FILE")
        for name in sorted(self.names - known):
            text = f"; if it is for the shell, write {{ {name} }}" if self._shell is not None else ""
            problem = f"command has the unknown placeholder {{{name}}}; available: {_format_names(known)}"
            raise InvalidInput(f"{problem}{_suggestion(name, columns)}{text}")
        if not self.names & columns:
            raise InvalidInput(
                f"command uses none of {_format_names(columns)}, so all arms would score alike: add {{arm}}"
            )
        if examples and "example" not in self.names:
            raise InvalidInput("--examples is given, but the command has no {example}: add it, or drop --examples")


def _suggestion(name: str, columns: frozenset[str]) -> str:
    """Suggest a replacement for a name that is not a column of the arms."""
    if name == "1":
        return ". The first column of a table without a header is {arm}"
    close = did_you_mean(f"{{{name}}}", [f"{{{column}}}" for column in columns])
    if close:
        return f". {close[0].upper()}{close[1:]}"
    return ". Only .csv, .tsv and .jsonl files have more columns" if columns == {"arm"} else ""


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidInput(f"command {command!r} has unbalanced quotes or ends in a backslash ({error})") from None
    if not words:
        raise InvalidInput("command is empty, but must name a program, such as 'python score.py {arm}'")
    return words


def _find_shell() -> str:
    shell = shutil.which("sh")
    if shell is None:
        raise InvalidInput("--shell needs sh, which was not found on PATH: run the program directly, without --shell")
    return shell


def _check_no_shell_syntax(command: str) -> None:
    """Raise on pipes, redirections and variables, which would be passed on literally."""
    found = _SHELL_SYNTAX.search(_QUOTED.sub("x", command))
    if found:
        raise InvalidInput(
            f"command has {found[0].strip()}, which needs a shell: pass --shell, or quote it to pass it on literally"
        )


def _check_program(words: list[str]) -> None:
    """Raise if the program cannot be started, and suggest a command that can."""
    program = words[0]
    if _PLACEHOLDER.search(program) or shutil.which(program) is not None:
        return
    start = f"command starts with {program!r}, "
    if program in _BUILT_IN:
        raise InvalidInput(f"{start}which needs a shell: pass --shell")
    if re.fullmatch(r"\w+=.*", program, re.DOTALL):
        raise InvalidInput(f"{start}which sets a variable and needs a shell: pass --shell, or put env before it")
    if not Path(program).is_file():
        raise InvalidInput(f"{start}which was not found{'' if '/' in program else ' on PATH'}: check its name")
    here = program if "/" in program else f"./{program}"
    if os.access(program, os.X_OK):
        raise InvalidInput(f"{start}which is in the current folder but not on PATH: write {here}")
    interpreter = _INTERPRETERS.get(Path(program).suffix.lower())
    hint = f"write '{interpreter} {program} …', or make it executable" if interpreter else "make it executable"
    raise InvalidInput(f"{start}which is not executable: {hint} by `chmod +x {shlex.quote(program)}` and write {here}")


def _format_names(names: frozenset[str]) -> str:
    ellipsis = f", … ({len(names):,} in all)" if len(names) > _MAX_LISTED else ""
    return ", ".join(f"{{{name}}}" for name in sorted(names)[:_MAX_LISTED]) + ellipsis


def _with_references(script: str, places: Mapping[str, int]) -> str:
    r"""Replace placeholders in a shell script by quoted positional parameters.

    Each reference is quoted for its context. If the context is misread, a value may be split or left out, but is never
    executed.

    >>> print(_with_references("a {x} '{x}' \"{x} $(b {x})\"", {"x": 1}))
    a "${1}" ''"${1}"'' "${1} $(b "${1}")"
    """
    parts, ends, at = [], [""], 0  # ends: closing delimiters of the open quotes and substitutions, innermost last
    while at < len(script):
        end, char = ends[-1], script[at]
        found = _PLACEHOLDER.match(script, at)
        if found:
            reference = f"${{{places[found[1]]}}}"
            parts.append({"'": f"'\"{reference}\"'", '"': reference}.get(end, f'"{reference}"'))
            at = found.end()
            continue
        if char == "\\" and end != "'":
            parts.append(script[at : at + 2])
            at += 2
            continue
        if char == end:
            ends.pop()
        elif end != "'" and (char in '"`' or (char == "'" and end != '"')):
            ends.append(char)
        elif end != "'" and char == "(" and (end != '"' or script[at - 1 : at] == "$"):
            ends.append(")")
        parts.append(char)
        at += 1
    return "".join(parts)
