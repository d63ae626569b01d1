"""The command that scores an arm: how it is filled in, with a shell or without, and what is refused before it runs."""

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from boxthirding._text import did_you_mean
from boxthirding.errors import InvalidInput

_PLACEHOLDER = re.compile(r"(?<!\$)\{(\w[\w .-]*)\}")  # ${name} is the shell's own
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
_FOR_A_SHELL = re.compile(r"\|+|&&|;(?=\s|$)|(?<!\S)(?:\d?>>?|<|&(?!\S))|\$[A-Za-z_({]\w*|`", re.DOTALL)
_BUILT_IN: Final = frozenset(
    {"cd", "export", "source", ".", "set", "unset", "ulimit", "umask", "eval", "exec", "alias"}
)
_INTERPRETERS: Final = {".py": "python", ".sh": "sh", ".r": "Rscript", ".jl": "julia", ".js": "node", ".pl": "perl"}
_LISTED = 20  # columns that an error names


def placeholders(command: str) -> frozenset[str]:
    """Return what is to be filled in."""
    return frozenset(_PLACEHOLDER.findall(command))


class Command:
    """A command with places for the columns of an arm.

    Without a shell it is split into words once, and what is filled in stays within its word. With one, the script never
    contains what is filled in: it is given as arguments, and each place refers to one of them. So no arm is ever run.
    """

    def __init__(self, command: str, columns: frozenset[str], *, examples: bool, shell: bool = False) -> None:
        self.names = placeholders(command)
        self._command = command
        self._shell = _shell() if shell else None
        self._words = [] if shell else _words(command)
        self._check(columns, examples=examples)
        if shell:
            self._order = sorted(self.names)
            self._script = _with_references(command, {name: place for place, name in enumerate(self._order, start=1)})
        else:
            _refuse_what_needs_a_shell(command)
            _check_program(self._words)

    def filled_in(self, values: Mapping[str, str]) -> tuple[list[str], str]:
        """Return what to start, and how it is shown to a person."""
        if self._shell is not None:
            shown = _PLACEHOLDER.sub(lambda found: shlex.quote(values[found[1]]), self._command)
            return [self._shell, "-c", self._script, "sh", *(values[name] for name in self._order)], shown
        words = [_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in self._words]
        return words, shlex.join(words)

    def _check(self, columns: frozenset[str], *, examples: bool) -> None:
        """Refuse a command that cannot be filled in, or that does not depend on the arm."""
        known = columns | {"pull"} | ({"example"} if examples else set())
        if examples and "example" in columns:
            raise InvalidInput("the arms have a column 'example' and there are --examples: {example} can be only one")
        if "example" in self.names - known:
            raise InvalidInput("command has {example}, but there are no examples: give --examples FILE")
        for name in sorted(self.names - known):
            text = f"; if it is for the shell, write {{ {name} }}" if self._shell is not None else ""
            rule = f"command has {{{name}}}, but only {_listed(known)} can be filled in"
            raise InvalidInput(f"{rule}{_meant(name, columns)}{text}")
        if not self.names & columns:
            raise InvalidInput(f"command has none of {_listed(columns)}, so all arms would score alike: put {{arm}} in")
        if examples and "example" not in self.names:
            raise InvalidInput("there are --examples, but the command has no {example}: put it in, or leave them out")


def _meant(name: str, columns: frozenset[str]) -> str:
    """Say what may have been meant by a name that is no column of the arms."""
    if name == "1":
        return ": the first column of a table without a header is {arm}"
    close = did_you_mean(f"{{{name}}}", [f"{{{column}}}" for column in columns])
    if close:
        return f": {close}"
    is_lines = columns == {"arm"}
    return ": arms have columns only in a file that is named .csv, .tsv or .jsonl" if is_lines else ""


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidInput(f"command {command!r} cannot be split into words ({error}): check its quotes") from None
    if not words:
        raise InvalidInput("command is empty, but must name a program, such as 'python score.py {arm}'")
    return words


def _shell() -> str:
    shell = shutil.which("sh")
    if shell is None:
        raise InvalidInput("--shell is given, but there is no program sh here: leave it out, and name a program")
    return shell


def _refuse_what_needs_a_shell(command: str) -> None:
    """Refuse pipes and the like, which would be handed to the program as arguments."""
    found = _FOR_A_SHELL.search(_QUOTED.sub("x", command))
    if found:
        raise InvalidInput(
            f"command has {found[0].strip()}, which only a shell understands: give --shell, or put it in quotation "
            "marks if the program is to have it"
        )


def _check_program(words: list[str]) -> None:
    """Refuse a program that cannot be started, with what can be."""
    program = words[0]
    if _PLACEHOLDER.search(program) or shutil.which(program) is not None:
        return
    start = f"command starts with {program!r}, "
    if program in _BUILT_IN:
        raise InvalidInput(f"{start}which only a shell understands: give --shell")
    if re.fullmatch(r"\w+=.*", program, re.DOTALL):
        raise InvalidInput(f"{start}which sets a variable, as only a shell does: give --shell, or put env before it")
    if not Path(program).is_file():
        raise InvalidInput(f"{start}but there is no such program{' here' if '/' in program else ''}: check its name")
    here = program if "/" in program else f"./{program}"
    if os.access(program, os.X_OK):
        raise InvalidInput(f"{start}which is a file of this folder: write {here}")
    interpreter = _INTERPRETERS.get(Path(program).suffix.lower())
    way = f"write '{interpreter} {program} …', or make it executable" if interpreter else "make it executable"
    raise InvalidInput(f"{start}which is not executable: {way} with `chmod +x {shlex.quote(program)}` and write {here}")


def _listed(names: frozenset[str]) -> str:
    more = f", … ({len(names):,} in all)" if len(names) > _LISTED else ""
    return ", ".join(f"{{{name}}}" for name in sorted(names)[:_LISTED]) + more


def _with_references(script: str, places: Mapping[str, int]) -> str:
    r"""Return a script of the shell that refers to its arguments where something is to be filled in.

    The references are quoted as their surroundings need. Should that go wrong in a script of rare form, a value is
    split into words or not filled in, but never run.

    >>> print(_with_references("a {x} '{x}' \"{x} $(b {x})\"", {"x": 1}))
    a "${1}" ''"${1}"'' "${1} $(b "${1}")"
    """
    parts, ends, at = [], [""], 0  # ends: by what the quotations and commands end that are open here
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
