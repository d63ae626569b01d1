"""`boxthirding study ask`: a batch of tickets, as a plate to be filled in or for a program."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boxthirding.cli.drawing import counted
from boxthirding.cli.study.opening import chosen, json_option, of_a_study
from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from boxthirding.session import Ticket
    from boxthirding.study import Study


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
    help="Who asks: open tickets of that name come first.  [default: the name of the file, or a new one]",
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
    from boxthirding.cli.study.plates import refuse_to_overwrite
    from boxthirding.find.shared import NAME
    from boxthirding.storage import open_study

    whole("-n", number, least=1)
    if out is not None and as_json:
        raise InvalidInput(f"--out is {out} and --json prints the tickets instead: leave one out")
    if out is not None:
        refuse_to_overwrite(out)
    labels = None if arms is None else [arm["arm"] for arm in read_arms(arms)]
    study = open_study(
        url,
        (NAME if name is None else name) if labels is not None else chosen(url, name),
        arms=labels,
        policy=spec,
        seed=seed,
        direction=direction,
        lease=lease,
        holder=out.name if holder is None and out is not None else holder,
    )
    with study:
        _hand_out(study, study.ask(number), number, out, as_json=as_json, url=url)


def _hand_out(
    study: "Study", tickets: "list[Ticket]", number: int, out: Path | None, *, as_json: bool, url: str
) -> None:
    """Print tickets, or write them; say why there are fewer than were asked for."""
    from boxthirding.cli.study.plates import plate_of
    from boxthirding.cli.study.writing import whole_file
    from boxthirding.find.shared import without_password

    if as_json:
        for ticket in tickets:
            click.echo(json.dumps({"ticket": ticket.id, "arm": ticket.label, "pull": ticket.pull}))
    elif tickets and out is None:
        click.echo(plate_of(tickets), nl=False)
    elif tickets and out is not None:
        try:
            with whole_file(out) as file:
                file.write(plate_of(tickets))
        except OSError as problem:
            raise click.ClickException(
                f"{out} could not be written ({problem.strerror or problem}); its tickets are handed out: "
                "make room, and give the same command again to have them"
            ) from problem
        kinds = len({ticket.label for ticket in tickets})
        click.echo(
            f"{out}: {counted(len(tickets), 'ticket')} for {counted(kinds, 'arm')}. Fill in the column reward, then"
        )
        click.echo(f"  boxthirding study tell {without_password(url)} {out}")
    if len(tickets) < number:
        click.echo(f"{counted(len(tickets), 'ticket')} instead of {number:,}: {_why_fewer(study)}", err=True)


def _why_fewer(study: "Study") -> str:
    """Say why there are not as many tickets as were asked for."""
    if study.status == "paused":
        return "the study is paused; `study resume` lets it go on"
    mine = [lent for lent in study.lent() if lent.holder == study.holder]
    if mine:
        return f"these are the open ones of {study.holder}, and come before new ones"
    others = study.waiting
    return f"the policy waits for results ({counted(others, 'ticket')} out)" if others else "the policy has finished"
