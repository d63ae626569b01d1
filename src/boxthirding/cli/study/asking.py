"""`boxthirding study ask`: a batch of tickets, as a plate to be filled in or for a program."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boxthirding.cli.drawing import counted
from boxthirding.cli.study.opening import chosen, json_option, of_a_study
from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from boxthirding.session import Ticket
    from boxthirding.study import Settings, Study


@click.command(epilog="For example: boxthirding study ask screen.db --arms compounds.csv -n 96 --out plate-1.csv")
@of_a_study
@click.option("-n", "--tickets", "number", type=int, default=1, show_default=True, metavar="N", help="How many.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Where the tickets go, with an empty column reward. Standard output unless given.",
)
@click.option(
    "--arms",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The first time: the arms, as for run. Later it may be left out.",
)
@click.option("--policy", "spec", metavar="SPEC", help="The first time: who decides what is next.  [default: b3auto]")
@click.option("--seed", type=int, metavar="S", help="The first time: decides the order of arms.  [default: 0]")
@click.option(
    "--direction",
    type=click.Choice(["maximize", "minimize"]),
    help="The first time: whether large rewards are good or bad.  [default: maximize]",
)
@click.option(
    "--lease", type=float, metavar="SECONDS", help="The first time: tickets not told by then are handed out again."
)
@click.option(
    "--holder",
    metavar="NAME",
    help="Who asks: open tickets of that name come first.  [default: the path of the file, or a new name]",
)
@json_option
def ask(  # noqa: PLR0913  # an argument for each option
    *,
    url: str,
    name: str | None,
    number: int,
    out: Path | None,
    arms: Path | None,
    spec: str | None,
    seed: int | None,
    direction: str | None,
    lease: float | None,
    holder: str | None,
    as_json: bool,
) -> None:
    """Ask STUDY for tickets: which arms to evaluate next.

    With --out they are written to a CSV file, whose column reward you fill in for `tell`. Asking twice for the same
    file gives the tickets of the first time that have not been told, in case it was lost. With --arms the study is
    made if it is not there.
    """
    from boxthirding._checks import whole
    from boxthirding.cli.programs import read_arms
    from boxthirding.cli.study.plates import holder_of
    from boxthirding.cli.study.writing import refuse_to_destroy, refuse_to_overwrite
    from boxthirding.storage import open_study
    from boxthirding.study import Settings

    whole("-n", number, least=1)
    if out is not None and as_json:
        raise InvalidInput(f"--out is {out} and --json prints the tickets instead: leave one out")
    if out is not None:
        refuse_to_destroy(out, url)
        refuse_to_overwrite(out, "tell it first, then move it, or give another name")
    labels = None if arms is None else [arm["arm"] for arm in read_arms(arms)]
    settings = Settings(labels, spec, seed, direction, lease=lease)
    study = open_study(
        url,
        chosen(url, name) if labels is None else _to_be_made(url, name, settings),
        arms=labels,
        policy=spec,
        seed=seed,
        direction=direction,
        lease=lease,
        holder=holder_of(out) if holder is None and out is not None else holder,
    )
    with study:
        before = {lent.ticket.id: lent.holder for lent in study.lent()}
        tickets = study.ask(number)
        _hand_out(study, tickets, out, as_json=as_json, url=url)
        again = [before[ticket.id] for ticket in tickets if ticket.id in before]
        if again:
            click.echo(_handed_out_before(len(again), len(tickets)), err=True)
        if len(tickets) < number:
            why = _why_fewer(study, own=study.holder in again)
            click.echo(f"{counted(len(tickets), 'ticket')} instead of {number:,}: {why}", err=True)


def _to_be_made(url: str, name: str | None, settings: "Settings") -> str:
    """Return the name of a study that may be new; what cannot become one is refused before there is a database."""
    from boxthirding.find.shared import NAME, without_password
    from boxthirding.storage import list_studies
    from boxthirding.storage.memory import MemoryJournal
    from boxthirding.study import Study

    names = list_studies(url)
    if name is None and names and NAME not in names:
        there = f"the study {names[0]!r}" if len(names) == 1 else f"the studies {', '.join(map(repr, names))}"
        raise InvalidInput(
            f"{without_password(url)} has {there}, and none called {NAME}: "
            "say with --name which one to go on with, or how the new one is called"
        )
    wanted = NAME if name is None else name
    if wanted not in names:
        Study(wanted, MemoryJournal(), settings).disconnect()
    return wanted


def _hand_out(study: "Study", tickets: "list[Ticket]", out: Path | None, *, as_json: bool, url: str) -> None:
    """Print tickets, or write them and say what comes next."""
    from boxthirding.cli.study.plates import plate_of
    from boxthirding.cli.study.writing import whole_file

    if as_json:
        for ticket in tickets:
            click.echo(json.dumps({"ticket": ticket.id, "arm": ticket.label, "pull": ticket.pull}))
    elif tickets and out is None:
        click.echo(plate_of(study, tickets), nl=False)
    elif tickets and out is not None:
        try:
            with whole_file(out) as file:
                file.write(plate_of(study, tickets))
        except OSError as problem:
            raise click.ClickException(
                f"{out} could not be written ({problem.strerror or problem}); its tickets are handed out: "
                "make room, and give the same command again to have them"
            ) from problem
        kinds = len({ticket.label for ticket in tickets})
        click.echo(
            f"{out}: {counted(len(tickets), 'ticket')} for {counted(kinds, 'arm')}. Fill in the column reward, then"
        )
        click.echo(f"  {_next_command(study, out, url)}")


def _next_command(study: "Study", out: Path, url: str) -> str:
    """Return how to tell a plate, as it can be given to a shell; but for a password, which is not shown."""
    from boxthirding.find.shared import NAME, without_password

    file = f"./{out}" if str(out).startswith("-") else str(out)  # no option is meant
    named = [] if study.name == NAME else ["--name", study.name]
    return shlex.join(["boxthirding", "study", "tell", without_password(url), file, *named])


def _handed_out_before(again: int, number: int) -> str:
    """Say that tickets are out already: two people may be about to evaluate the same."""
    verb = "was" if again == 1 else "were"
    which = f"{again:,} of these" if again < number else "This" if number == 1 else "These"
    return f"{which} {verb} handed out before, and not told since: where two have them, the first answer counts."


def _why_fewer(study: "Study", *, own: bool) -> str:
    """Say why there are not as many tickets as were asked for."""
    if study.status == "paused":
        return "the study is paused; `study resume` lets it go on"
    if own:
        return f"these are the open ones of {study.holder}, and come before new ones"
    others = study.waiting
    return f"the policy waits for results ({counted(others, 'ticket')} out)" if others else "the policy has finished"
