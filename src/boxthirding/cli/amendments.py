"""`boxthirding study observe|correct|exclude|include|add|withdraw|use`: what changes results, arms or the policy."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boxthirding._text import counted
from boxthirding.cli import study_options
from boxthirding.cli.output import FILE, say
from boxthirding.errors import InvalidInput
from boxthirding.session.values import KnownResult

if TYPE_CHECKING:
    from boxthirding.study import Study


@click.command(epilog="For example: boxthirding study observe screen.db last-year.csv")
@study_options.with_study
@click.argument("file", type=FILE)
@study_options.no_header_option
@study_options.json_option
def observe(*, study: study_options.AnyStudy, file: Path, no_header: bool, as_json: bool) -> None:
    """Give STUDY the known results in FILE, a table with the columns arm and reward.

    They count like any other result, and are not paid for. Several rows of an arm are several results. Where the study
    has examples, a column pull says which: the place of the example in their order. If a row is bad, none is taken.
    """
    from boxthirding.find.input_files import read_known

    rows = read_known(file, with_pulls=study.examples is not None, header=not no_header)
    labels = {text: study_options.find_label(study, text) for text in dict.fromkeys(row.arm for row in rows)}
    before = study.view()
    study.observe_all([KnownResult(labels[row.arm], row.reward, row.pull) for row in rows])
    what = f"{file}: {counted(len(rows), 'known result')} of {counted(len(labels), 'arm')} taken."
    study_options.print_change(what, before, study.view(), as_json=as_json, observed=len(rows), arms=len(labels))


@click.command(
    context_settings={"ignore_unknown_options": True},  # a reward may be below 0
    epilog="For example: boxthirding study correct screen.db 17 0.25",
)
@study_options.with_database_study
@click.argument("ticket", type=int)
@click.argument("reward")
@study_options.json_option
def correct(*, study: "Study", ticket: int, reward: str, as_json: bool) -> None:
    """Replace the reward of TICKET, which was told to STUDY, by REWARD.

    The number of a ticket is in the file that `study ask` wrote, and `study export STUDY` prints all of them with their
    arms and rewards.
    """
    from boxthirding._checks import as_reward, parse_number
    from boxthirding.study.events import Asked

    try:
        value = as_reward(parse_number(reward))
    except ValueError:
        rule = "must be a finite number below 1e150 in size, such as 0.5"
        raise InvalidInput(f"the reward is {reward!r}, but {rule}") from None
    before, told = study.view(), study.reward_of(ticket)
    study.correct(ticket, value)
    asked = (event.tickets for _, event, *_ in study.events() if isinstance(event, Asked))
    arm = next(label for tickets in asked for number, label, _ in tickets if number == ticket)
    what = f"Ticket {ticket}, a pull of {arm}: {told:g} → {value:g}."
    study_options.print_change(
        what, before, study.view(), as_json=as_json, ticket=ticket, arm=arm, told=told, reward=value
    )


@click.command(epilog="For example: boxthirding study exclude captions.db ann")
@study_options.with_study
@click.argument("holder")
@study_options.json_option
def exclude(*, study: study_options.AnyStudy, holder: str, as_json: bool) -> None:
    """Let the results of HOLDER not count, those told and those still to come.

    HOLDER is a rater, a worker, or a plate by its path. `study include` lets them count again.
    """
    before = study.view()
    holder, results = _change_holder(study.exclude, holder)
    what = f"{holder} is excluded: {counted(results, 'result')} do{'es' if results == 1 else ''} not count."
    study_options.print_change(what, before, study.view(), as_json=as_json, excluded=holder, results=results)


@click.command()
@study_options.with_study
@click.argument("holder")
@study_options.json_option
def include(*, study: study_options.AnyStudy, holder: str, as_json: bool) -> None:
    """Let the results of HOLDER, who was excluded, count again."""
    before = study.view()
    holder, results = _change_holder(study.include, holder)
    what = f"{holder} is included: {counted(results, 'result')} count{'s' if results == 1 else ''} again."
    study_options.print_change(what, before, study.view(), as_json=as_json, included=holder, results=results)


@click.command()
@study_options.with_study
@click.argument("file", type=FILE)
@study_options.no_header_option
def add(*, study: study_options.AnyStudy, file: Path, no_header: bool) -> None:
    """Add the arms in FILE to STUDY, all or none of them.

    FILE is a table, CSV with a header or JSON lines (its column arm, else the first, is the label), or a text file with
    one arm per line.
    """
    from boxthirding.find.input_files import labelled, read_arms

    arms = labelled(read_arms(file, header=not no_header))
    study.add(arms)
    say(f"{counted(len(arms), 'arm')} added.\n{study_options.format_summary(study.view())}")


@click.command()
@study_options.with_study
@click.argument("label", metavar="LABEL")
@study_options.json_option
def withdraw(*, study: study_options.AnyStudy, label: str, as_json: bool) -> None:
    """Take the arm LABEL out of STUDY for good; its open tickets will be refused."""
    before = study.view()
    study.withdraw(study_options.find_label(study, label))
    study_options.print_change(f"{label} is withdrawn.", before, study.view(), as_json=as_json, withdrawn=label)


@click.command(epilog="For example: boxthirding study use screen.db chase")
@study_options.with_study
@click.argument("spec", metavar="SPEC")
@study_options.json_option
def use(*, study: study_options.AnyStudy, spec: str, as_json: bool) -> None:
    """Let another policy decide from now on, which starts from all results that are there.

    SPEC is a name such as chase or b3:reuse=topup, or module:Class for a policy of your own. Open tickets stay valid.
    """
    before = study.view()
    study.use(spec)
    after = study.view()
    what = f"Policy {before.policy} → {after.policy}."
    study_options.print_change(what, before, after, as_json=as_json, policy_before=before.policy, policy=after.policy)


def _change_holder(change: Callable[[str], int], name: str) -> tuple[str, int]:
    """Exclude or include the holder of that name or, if there is none, the file of tickets at that path."""
    from boxthirding.cli.tickets import file_holder

    try:
        return name, change(name)
    except InvalidInput as refusal:
        file = file_holder(Path(name))
        if Path(name).suffix != ".csv" or file == name:
            raise
        try:
            return file, change(file)
        except InvalidInput:
            raise refusal from None
