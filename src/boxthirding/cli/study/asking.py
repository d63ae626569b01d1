"""`boxthirding study ask` and `held`: a batch of tickets, as a plate to be filled in or for a program."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boxthirding._text import counted
from boxthirding.cli.output import Failure, Output, say
from boxthirding.cli.study.opening import (
    chosen,
    direction_option,
    json_option,
    no_header_option,
    of_a_journal,
    opened,
)
from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from boxthirding.session import Ticket
    from boxthirding.study import Study


@click.command(epilog="For example: boxthirding study ask screen.db --arms compounds.csv -n 96 --out plate-1.csv")
@of_a_journal
@click.option("-n", "--tickets", "number", type=int, default=1, show_default=True, metavar="N", help="How many.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Where the tickets go, with an empty column reward.  [default: standard output]",
)
@click.option(
    "--arms",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The first time: the arms, as for run. Later it may be left out.",
)
@no_header_option
@click.option(
    "--policy", "spec", metavar="SPEC", help="The first time: what decides which arm is next.  [default: chase]"
)
@click.option("--seed", type=int, metavar="S", help="The first time: decides the order of arms.  [default: 0]")
@direction_option("The first time: whether large rewards are good or bad.  [default: maximize]")
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
@json_option
def ask(  # noqa: PLR0913  # an argument for each option
    *,
    url: str,
    name: str | None,
    number: int,
    out: Path | None,
    arms: Path | None,
    no_header: bool,
    spec: str | None,
    seed: int | None,
    direction: str | None,
    lease: float | None,
    holder: str | None,
    unseen: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Ask STUDY for tickets: which arms to evaluate next.

    With --out they are written to a CSV file, whose column reward you fill in for `tell`. Asking twice for the same
    file gives the tickets of the first time that have not been told, in case it was lost. With --arms the study is
    made if it is not there.
    """
    from boxthirding._checks import whole
    from boxthirding.cli.study.plates import holder_of
    from boxthirding.find.inputs import labelled, read_arms
    from boxthirding.storage import open_study

    whole("-n", number, least=1)
    _check_out(out, url, as_json=as_json)
    if unseen and holder is None:
        raise InvalidInput("--unseen is given, but not who must not see an arm twice: give --holder NAME")
    rows = None if arms is None else labelled(read_arms(arms, header=not no_header))
    made_with: dict[str, Any] = {
        "arms": rows,
        "policy": spec,
        "seed": seed,
        "direction": direction,
        "lease": lease,
        "force": force,
    }
    study = open_study(
        url,
        chosen(url, name) if rows is None else _to_be_made(url, name, made_with),
        holder=holder_of(out) if holder is None and out is not None else holder,
        **made_with,
    )
    with study:
        tickets = study.held()[:number]
        were_held = bool(tickets)
        again = len(tickets)
        if not were_held:
            before = study.view().open
            tickets = study.ask(number, unseen=unseen)
            again = max(0, len(tickets) - (study.view().open - before))
        _hand_out(study, tickets, out, as_json=as_json, url=url)
        if again:
            say(_handed_out_before(again, len(tickets)), err=True)
        if len(tickets) < number:
            why = _why_fewer(study, own=were_held, unseen=unseen)
            say(f"{counted(len(tickets), 'ticket')} instead of {number:,}: {why}", err=True)


@click.command(epilog="For example: boxthirding study held screen.db plate-1.csv --out again.csv")
@of_a_journal
@click.argument("holder")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Where the tickets go, with an empty column reward.  [default: standard output]",
)
@json_option
def held(*, url: str, name: str | None, holder: str, out: Path | None, as_json: bool) -> None:
    """Print the open tickets of HOLDER: those it was given, and has not told.

    HOLDER is a worker, a rater, or a plate by its path; `study show` names those who have open tickets.
    """
    from boxthirding.cli.study.releasing import holder_meant

    _check_out(out, url, as_json=as_json)
    with opened(url, name) as study:
        who = holder_meant(study, holder)
        tickets = study.held(who)
        if not tickets and not as_json:
            others = ", ".join(study.view().holders) or "none"
            say(f"{who} has no open tickets; holders who have some: {others}", err=True)
        _hand_out(study, tickets, out, as_json=as_json, url=url)


def _check_out(out: Path | None, url: str, *, as_json: bool) -> None:
    """Refuse a file that tickets cannot be written to, before any is handed out."""
    from boxthirding.cli.study.writing import refuse_to_destroy, refuse_to_overwrite

    if out is not None and as_json:
        raise InvalidInput(f"--out is {out} and --json prints the tickets instead: leave one out")
    if out is not None:
        refuse_to_destroy(out, url)
        if out.suffix.lower() != ".csv":
            raise InvalidInput(f"--out is {out}, but a plate is a CSV file: give a name that ends in .csv")
        refuse_to_overwrite(out, "tell it first, then move it, or give another name")


def _to_be_made(url: str, name: str | None, made_with: dict[str, Any]) -> str:
    """Return the name of a study that may be new; what cannot become one is refused before there is a database."""
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
        rehearse(wanted, made_with)
    return wanted


def _hand_out(  # what, where to and how
    study: "Study",
    tickets: "list[Ticket]",
    out: Path | None,
    *,
    as_json: bool,
    url: str,
) -> None:
    """Print tickets, or write them and say what comes next."""
    from boxthirding.cli.study.plates import plate_of
    from boxthirding.cli.study.writing import whole_file

    if as_json:
        for ticket in tickets:
            click.echo(json.dumps(_as_json(ticket)))
    elif tickets and out is None:
        Output().write(plate_of(study, tickets))
        sys.stdout.flush()
    elif tickets and out is not None:
        try:
            with whole_file(out) as file:
                file.write(plate_of(study, tickets))
        except OSError as problem:
            raise Failure(
                f"{out} could not be written ({problem.strerror or problem}); its tickets are open: "
                "make room, and give the same command again to have them"
            ) from problem
        kinds = len({ticket.label for ticket in tickets})
        say(f"{out}: {counted(len(tickets), 'ticket')} for {counted(kinds, 'arm')}. Fill in the column reward, then")
        say(f"  {_next_command(study, out, url)}")


def _next_command(study: "Study", out: Path, url: str) -> str:
    """Return how to tell a plate, as it can be given to a shell; but for a password, which is not shown."""
    from boxthirding.storage.opening import NAME, without_password

    file = f"./{out}" if str(out).startswith("-") else str(out)  # no option is meant
    named = [] if study.name == NAME else ["--name", study.name]
    return shlex.join(["boxthirding", "study", "tell", without_password(url), file, *named])


def _as_json(ticket: "Ticket") -> dict[str, Any]:
    """Return a ticket as JSON, with the row of its arm where the study has one."""
    row: dict[str, Any] = {"ticket": ticket.id, "arm": ticket.label, "pull": ticket.pull}
    return {**row, "row": ticket.payload} if isinstance(ticket.payload, dict) else row


def _handed_out_before(again: int, number: int) -> str:
    """Say that tickets were given before: two people may be about to evaluate the same."""
    verb = "was" if again == 1 else "were"
    which = f"{again:,} of these" if again < number else "This" if number == 1 else "These"
    return f"{which} {verb} handed out before, and not told since: where two have them, the first answer counts."


def _why_fewer(study: "Study", *, own: bool, unseen: bool) -> str:
    """Say why there are not as many tickets as were asked for."""
    view = study.view()
    if own:
        return f"these are the open ones of {study.holder}, and come before new ones"
    if view.status == "paused":
        return "the study is paused; `study resume` lets it hand out tickets again"
    if view.status == "known":
        return "the examples have run out: all that matters is known"
    if unseen and (view.wanted or not view.open):
        return f"{study.holder} was handed every other arm that is wanted now"
    if view.open:
        return f"the policy waits for results ({counted(view.open, 'ticket')} open)"
    return "the policy has finished"
