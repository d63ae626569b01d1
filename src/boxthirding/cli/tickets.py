"""`boxthirding study ask|held|tell|release|fail`: tickets go out, on a screen or as a CSV file, and come back."""

import json
import shlex
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import click

from boxthirding._csv import Sheet, csv_lines, escape_formula, read_sheet, shown
from boxthirding._text import counted, in_ascii
from boxthirding.cli import study_options
from boxthirding.cli.output import FILE, Output, check_out, say, whole_file
from boxthirding.errors import AlreadyTold, InvalidInput, UnknownTicket

if TYPE_CHECKING:
    from boxthirding.client import RemoteStudy
    from boxthirding.session import Ticket
    from boxthirding.study import Study

COLUMNS: Final = ("ticket", "arm", "pull", "reward", "study")
"""The columns of a file of tickets; those of its arms follow."""

_MARK = 6  # digits that tell studies of one name apart
_HOLDER = 200  # characters that the name of a holder may have
_DIGITS = 18  # of a ticket at most: no study has handed out more
_LISTED = 20  # bad rows that are named one by one


@click.command(epilog="For example: boxthirding study ask screen.db --arms compounds.csv -n 96 --out plate-1.csv")
@study_options.database_argument
@click.option("-n", "--tickets", "number", type=int, default=1, show_default=True, metavar="N", help="How many.")
@study_options.tickets_out_option
@click.option(
    "--arms", type=FILE, metavar="FILE", help="The first time: the arms, as for run. Later it may be left out."
)
@study_options.no_header_option
@click.option("--policy", metavar="SPEC", help="The first time: what decides which arm is next.  [default: chase]")
@click.option("--seed", type=int, metavar="S", help="The first time: decides the order of arms.  [default: 0]")
@study_options.direction_option("The first time: whether large rewards are good or bad.  [default: maximize]")
@click.option(
    "--lease",
    type=float,
    metavar="SECONDS",
    help="The first time: a ticket that is not told by then goes to the next holder who asks.",
)
@click.option(
    "--holder",
    metavar="NAME",
    help="Who asks: a plate, a worker or a rater. Its open tickets come first.  [default: the path of the file, or a "
    "new name]",
)
@click.option("--unseen", is_flag=True, help="Only arms that the holder was never handed: a rater sees an arm once.")
@click.option("--force", is_flag=True, help="Continue although rows of --arms are others than the study was made with.")
@study_options.json_option
def ask(
    *,
    url: str,
    name: str | None,
    number: int,
    out: Path | None,
    arms: Path | None,
    no_header: bool,
    holder: str | None,
    unseen: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Ask STUDY for tickets: which arms to evaluate next.

    With --out they are written to a CSV file, whose column reward you fill in for `tell`. Asking twice for the same
    file gives the tickets of the first time that have not been told, in case it was lost. With --arms the study is
    made if it is not there.
    """
    from boxthirding._checks import whole
    from boxthirding.find.input_files import labelled, read_arms
    from boxthirding.storage import open_study

    whole("-n", number, least=1)
    _check_out(out, url, as_json=as_json)
    if unseen and holder is None:
        raise InvalidInput("--unseen is given, but not who must not see an arm twice: pass --holder NAME")
    settings["arms"] = None if arms is None else labelled(read_arms(arms, header=not no_header))
    wanted = study_options.study_name(url, name) if arms is None else _name_to_make(url, name, settings)
    if holder is None and out is not None:
        holder = file_holder(out)
    with open_study(url, wanted, holder=holder, **settings) as study:
        tickets = study.held()[:number]
        were_held = bool(tickets)
        again = len(tickets)
        if not were_held:
            before = study.view().open
            tickets = study.ask(number, unseen=unseen)
            again = max(0, len(tickets) - (study.view().open - before))
        _hand_out(study, tickets, out, as_json=as_json, url=url)
        if again:
            verb = "was" if again == 1 else "were"
            which = f"{again:,} of these" if again < len(tickets) else "This" if again == 1 else "These"
            say(
                f"{which} {verb} handed out before, and not told since: where two have them, the first answer counts.",
                err=True,
            )
        if len(tickets) < number:
            why = _why_fewer(study, own=were_held, unseen=unseen)
            say(f"{counted(len(tickets), 'ticket')} instead of {number:,}: {why}", err=True)


@click.command(epilog="For example: boxthirding study held screen.db plate-1.csv --out again.csv")
@study_options.database_argument
@click.argument("holder")
@study_options.tickets_out_option
@study_options.json_option
def held(*, url: str, name: str | None, holder: str, out: Path | None, as_json: bool) -> None:
    """Print the open tickets of HOLDER: those it was given, and has not told.

    HOLDER is a worker, a rater, or a plate by its path; `study show` names those who have open tickets.
    """
    _check_out(out, url, as_json=as_json)
    with study_options.open_database(url, name) as study:
        who = _find_holder(study, holder)
        tickets = study.held(who)
        if not tickets and not as_json:
            others = ", ".join(study.view().holders) or "none"
            say(f"{who} has no open tickets; holders who have some: {others}", err=True)
        _hand_out(study, tickets, out, as_json=as_json, url=url)


@click.command(epilog="For example: boxthirding study tell screen.db plate-1.csv")
@study_options.with_database_study
@click.argument("file", type=FILE)
@study_options.no_header_option
@click.option("--skip-bad", is_flag=True, help="Tell the good rows although others are bad.")
@study_options.json_option
def tell(*, study: "Study", file: Path, no_header: bool, skip_bad: bool, as_json: bool) -> None:
    """Add the results in FILE to STUDY. FILE is a table with the columns ticket and reward, as written by `ask`.

    Rows without a reward are left open. If a row is bad (a ticket that is unknown or told already, a reward that is no
    number), nothing at all is told: every bad row is named with its reason.
    """
    good, bad, empty = _read_results(file, study, header=not no_header)
    is_refused = bool(bad) and not skip_bad
    if not is_refused:
        study.tell_all((row.ticket, row.reward) for row in good)
    if as_json:
        rows = {"good": [row._asdict() for row in good], "bad": [row._asdict() for row in bad]}
        click.echo(json.dumps({"told": 0 if is_refused else len(good), "empty": empty, **rows}))
    elif bad:
        say(_format_bad(file, good, bad, empty), err=True)
    if is_refused:
        instead = f", or pass --skip-bad to tell the {counted(len(good), 'good row')}" if good else ""
        raise InvalidInput(f"{file} has {counted(len(bad), 'bad row')}, so nothing was told: correct it{instead}")
    if not as_json:
        left = f"; {counted(empty, 'row')} without a reward left open" if empty else ""
        say(f"{file}: {counted(len(good), 'result')} told{left}.")
        say(study_options.format_summary(study.view()))


@click.command(epilog="For example: boxthirding study release screen.db --holder plate-1.csv")
@study_options.with_study
@click.argument("tickets", metavar="[TICKET]...", nargs=-1, type=int)
@click.option("--holder", metavar="NAME", help="All that NAME has: a plate by its path, or as `study show` names it.")
def release(*, study: study_options.AnyStudy, tickets: tuple[int, ...], holder: str | None) -> None:
    """Take open tickets of STUDY from their holders: the next to ask is given them.

    For a plate that is lost, or a worker that will not come back. Nothing counts as failed; if a result comes in all
    the same, it counts.
    """
    released = study.release(*tickets, holder=None if holder is None else _find_holder(study, holder))
    them = "it" if len(released) == 1 else "them"
    say(f"{counted(len(released), 'ticket')} released: the next to ask is given {them}.")
    say(study_options.format_summary(study.view()))


@click.command(epilog="For example: boxthirding study fail screen.db 17 23")
@study_options.with_database_study
@click.argument("tickets", metavar="TICKET...", nargs=-1, required=True, type=int)
@study_options.json_option
def fail(*, study: "Study", tickets: tuple[int, ...], as_json: bool) -> None:
    """Report that tickets of STUDY could not be evaluated, such as unreadable wells: all of them or none.

    The next to ask is given them. An arm that fails three times in a row is withdrawn.
    """
    before = study.view()
    have_holders = study.held_by(lambda _: True)
    labels: dict[int, str] = {}
    for ticket in tickets:
        try:
            labels[ticket] = str(_open_ticket(study, ticket).label)
        except InvalidInput as refusal:
            raise InvalidInput(f"{refusal.problem}; nothing was changed") from None
        if ticket not in have_holders:
            raise InvalidInput(f"ticket {ticket} has no holder: the next to ask is given it; nothing was changed")
    withdrawn: list[str] = []
    for ticket, label in labels.items():
        if label not in withdrawn:  # else its tickets are void
            study.fail(ticket)
            if study.view().withdrawn > before.withdrawn + len(withdrawn):
                withdrawn.append(label)
    again = [ticket for ticket, label in labels.items() if label not in withdrawn]
    what = f"{counted(len(labels), 'ticket')} failed"
    if again:
        what += f": the next to ask is given {'it' if len(again) == 1 else 'them'}"
    for label in withdrawn:
        what += f"; {label} failed {study.patience} times in a row and is withdrawn"
    study_options.print_change(
        f"{what}.", before, study.view(), as_json=as_json, failed=list(labels), withdrawn=withdrawn
    )


# Holders


def file_holder(path: Path) -> str:
    """Return who holds the tickets of a file: its resolved path, as two folders may have files of one name."""
    text = str(path.resolve())
    if not text.isprintable():
        text = text.encode("unicode_escape").decode()
    if len(text) <= _HOLDER:
        return text
    digest = sha256(text.encode()).hexdigest()[:16]
    return f"{digest}…{text[len(digest) + 1 - _HOLDER :]}"


def _find_holder(study: "Study | RemoteStudy", name: str) -> str:
    """Return the holder of open tickets that is meant: one of that name, or the file at that path."""
    file, holders = file_holder(Path(name)), study.view().holders
    return file if name not in holders and file in holders else name


# Tickets go out


def _check_out(out: Path | None, url: str, *, as_json: bool) -> None:
    """Raise if tickets cannot be written to the file, before any is issued."""
    if out is not None:
        if as_json:
            raise InvalidInput(f"--out is {out} and --json prints the tickets instead: leave one out")
        check_out(out, url, advice="tell it first, then move it, or give another name")
        if out.suffix.lower() != ".csv":
            raise InvalidInput(f"--out is {out}, but a plate is a CSV file: give a name that ends in .csv")


def _name_to_make(url: str, name: str | None, settings: dict[str, Any]) -> str:
    """Return the name of a study that may be new, after a check that these settings can make it."""
    from boxthirding.find.opening import rehearse
    from boxthirding.storage import list_studies
    from boxthirding.storage.opening import NAME, without_password

    names = list_studies(url)
    if name is None and names and NAME not in names:
        there = f"the study {names[0]!r}" if len(names) == 1 else f"the studies {', '.join(map(repr, names))}"
        raise InvalidInput(
            f"{without_password(url)} has {there}, and none called {NAME}: "
            "say with --name which one to resume, or how the new one is called"
        )
    wanted = NAME if name is None else name
    if wanted not in names:
        rehearse(wanted, settings)
    return wanted


def _hand_out(study: "Study", tickets: "list[Ticket]", out: Path | None, *, as_json: bool, url: str) -> None:
    """Print tickets, or write them to a file and print the next command."""
    from boxthirding.storage.opening import NAME, without_password

    if as_json:
        for ticket in tickets:
            row: dict[str, Any] = {"ticket": ticket.id, "arm": ticket.label, "pull": ticket.pull}
            click.echo(json.dumps({**row, "row": ticket.payload} if isinstance(ticket.payload, dict) else row))
    elif tickets and out is None:
        _write_tickets(study, tickets, Output())
        sys.stdout.flush()
    elif tickets and out is not None:
        advice = "its tickets are open: make room, and give the same command again to have them"
        with whole_file(out, advice) as file:
            _write_tickets(study, tickets, file)
        arms = len({ticket.label for ticket in tickets})
        say(f"{out}: {counted(len(tickets), 'ticket')} for {counted(arms, 'arm')}. Fill in the column reward, then")
        file_name = f"./{out}" if str(out).startswith("-") else str(out)  # not an option
        named = [] if study.name == NAME else ["--name", study.name]
        say(f"  {shlex.join(['boxthirding', 'study', 'tell', without_password(url), file_name, *named])}")


def _write_tickets(study: "Study", tickets: "Sequence[Ticket]", file: IO[str] | Output) -> None:
    """Write tickets as CSV, with a column of rewards to be filled in."""
    columns = study_options.ArmColumns(((ticket.label, ticket.payload) for ticket in tickets), COLUMNS)
    mark = _study_mark(study)
    rows = ([one.id, one.label, one.pull, "", mark, *columns.cells(one.label)] for one in tickets)
    file.write("".join(csv_lines([*COLUMNS, *columns.headings], rows)))


def _study_mark(study: "Study") -> str:
    """Return the mark of a study in its files of tickets: other studies may have its name, its arms and its seed."""
    return f"{study.name}-{study.origin[:_MARK]}"


def _why_fewer(study: "Study", *, own: bool, unseen: bool) -> str:
    """Return why there are not as many tickets as were asked for."""
    view = study.view()
    if own:
        return f"these are the open ones of {study.holder}, and come before new ones"
    if view.status == "paused":
        return "the study is paused; `study resume` lets it hand out tickets again"
    if view.status == "known":
        return "the examples have run out: all that matters is known"
    if unseen and (view.queued or not view.open):
        return f"{study.holder} was handed every other arm that is wanted now"
    if view.open:
        return f"the policy waits for results ({counted(view.open, 'ticket')} open)"
    return "the policy has finished"


# Tickets come back


class _GoodRow(NamedTuple):
    line: int
    ticket: int
    reward: float


class _BadRow(NamedTuple):
    line: int
    ticket: str
    reason: str


def _read_results(path: Path, study: "Study", *, header: bool) -> tuple[list[_GoodRow], list[_BadRow], int]:
    """Return the rows of a file that can be told, those that cannot, and the number of rows without a reward."""
    sheet = read_sheet(path, header=header).named("ticket", "reward")
    if not sheet.has(("ticket", "reward")):
        raise sheet.without("ticket and reward, as the file that ask wrote")
    good, bad, empty = [], [], 0
    lines: dict[int, int] = {}  # of each ticket
    for row, (line, cells) in enumerate(zip(sheet.lines, sheet.rows, strict=True)):
        if not any(map(str.strip, cells)):  # spreadsheet programs leave them at the end
            continue
        texts = sheet.texts(row)
        if not texts["reward"].strip():
            empty += 1
            continue
        try:
            ticket = _check_row(study, texts, line, lines)
            good.append(_GoodRow(line, ticket, _parse_reward(sheet, row)))
        except InvalidInput as refusal:
            bad.append(_BadRow(line, texts["ticket"], refusal.problem))
    return good, bad, empty


def _check_row(study: "Study", texts: dict[str, str], line: int, lines: dict[int, int]) -> int:
    """Return the number of a row's ticket, after a check that the study expects it; note its line in `lines`."""
    theirs, ours = texts.get("study", "").strip(), _study_mark(study)
    if theirs and not _is_cell_of(theirs, ours):
        raise InvalidInput(f"the row is of study {theirs!r}, but this is {ours!r}: tell it to the study it came from")
    cell = texts["ticket"].strip()
    if not (cell.isascii() and cell.isdigit()):
        raise InvalidInput(f"the ticket is {shown(texts['ticket'])}, but must be a whole number")
    if len(cell) > _DIGITS:
        raise InvalidInput(f"the ticket is {shown(texts['ticket'])}, which was never handed out by this study")
    ticket = int(cell)
    if lines.setdefault(ticket, line) != line:
        raise InvalidInput(f"ticket {ticket} stands on line {lines[ticket]} already")
    label = str(_open_ticket(study, ticket).label)
    if "arm" in texts and not _is_cell_of(texts["arm"], label):
        raise InvalidInput(f"ticket {ticket} is for {label!r}, not {texts['arm']!r}: is this another study's file?")
    return ticket


def _open_ticket(study: "Study", ticket: int) -> "Ticket":
    """Return an open ticket; explain why any other can be neither told nor failed."""
    try:
        return study.ticket(ticket)
    except UnknownTicket:
        raise InvalidInput(f"ticket {ticket} was never handed out by this study") from None
    except AlreadyTold:
        raise InvalidInput(
            f"ticket {ticket} was told already, {study.reward_of(ticket):g}: the first answer counts, and "
            "`boxthirding study correct` changes it"
        ) from None


def _parse_reward(sheet: Sheet, row: int) -> float:
    try:
        return sheet.parsed(row, "reward")
    except ValueError as problem:
        raise InvalidInput(f"the reward is {shown(sheet.cell(row, 'reward').strip())}, {problem}") from None


def _is_cell_of(cell: str, text: str) -> bool:
    """Return whether a text was written as this cell: as it is, or escaped for a spreadsheet program or an encoding."""
    return in_ascii(cell.strip()) in {in_ascii(text.strip()), in_ascii(str(escape_formula(text)).strip())}


def _format_bad(file: Path, good: list[_GoodRow], bad: list[_BadRow], empty: int) -> str:
    """Return the problems of the bad rows, and the good rows."""
    lines = [f"{file}, line {row.line}: {row.reason}" for row in bad[:_LISTED]]
    if len(bad) > _LISTED:
        lines.append(f"… and {counted(len(bad) - _LISTED, 'more bad row')}; --json names them all")
    if good:
        lines.append(f"Good rows: lines {_format_ranges([row.line for row in good])}.")
    if empty:
        lines.append(f"Without a reward: {counted(empty, 'row')}.")
    return "\n".join(lines)


def _format_ranges(lines: Sequence[int]) -> str:
    """Return line numbers in few words.

    >>> _format_ranges([2, 3, 4, 7])
    '2-4, 7'
    """
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][-1] + 1:
            parts[-1][1:] = [line]
        else:
            parts.append([line])
    return ", ".join("-".join(map(str, part)) for part in parts)
