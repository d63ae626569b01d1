"""Commands that change the results, arms or policy of a study."""

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
    """Import known results from FILE into STUDY. FILE is a table with the columns arm and reward.

    They count like any other result, but do not use up the budget. An arm may have several rows, one per result. If the
    study has examples, a `pull` column gives the position of the example, from 0. If any row is invalid, nothing is
    imported.
    """
    from boxthirding.find.input_files import read_known

    rows = read_known(file, with_pulls=study.examples is not None, header=not no_header)
    labels = {text: study_options.find_label(study, text) for text in dict.fromkeys(row.arm for row in rows)}
    before = study.view()
    study.observe_all([KnownResult(labels[row.arm], row.reward, row.pull) for row in rows])
    text = f"Imported {counted(len(rows), 'known result')} for {counted(len(labels), 'arm')} from {file}."
    study_options.print_change(text, before, study.view(), as_json=as_json, observed=len(rows), arms=len(labels))


@click.command(
    context_settings={"ignore_unknown_options": True},  # a reward may be below 0
    epilog="For example: boxthirding study correct screen.db 17 0.25",
)
@study_options.with_database_study
@click.argument("ticket", type=int)
@click.argument("reward")
@study_options.json_option
def correct(*, study: "Study", ticket: int, reward: str, as_json: bool) -> None:
    """Replace the recorded reward of TICKET with REWARD.

    Ticket numbers are in the file written by `study ask`. `study export STUDY` lists all tickets with their arms and
    rewards.
    """
    from boxthirding._checks import as_reward, parse_number
    from boxthirding.study.events import Asked

    try:
        value = as_reward(parse_number(reward))
    except ValueError:
        rule = "must be a finite number with absolute value below 1e150, such as 0.5"
        raise InvalidInput(f"the reward is {reward!r}, but {rule}") from None
    before, reward_before = study.view(), study.reward_of(ticket)
    study.correct(ticket, value)
    asked = (event.tickets for _, event, *_ in study.events() if isinstance(event, Asked))
    arm = next(label for tickets in asked for number, label, _ in tickets if number == ticket)
    text = f"Ticket {ticket}, a pull of {arm}: {reward_before:g} → {value:g}."
    study_options.print_change(
        text, before, study.view(), as_json=as_json, ticket=ticket, arm=arm, told=reward_before, reward=value
    )


@click.command(epilog="For example: boxthirding study exclude captions.db ann")
@study_options.with_study
@click.argument("holder")
@study_options.json_option
def exclude(*, study: study_options.AnyStudy, holder: str, as_json: bool) -> None:
    """Ignore all results of HOLDER, past and future.

    HOLDER is a rater, a worker, or the path of a ticket file. `study include` undoes this.
    """
    before = study.view()
    holder, results = _exclude_or_include(study.exclude, holder)
    text = f"{holder} is excluded: {counted(results, 'result')} do{'es' if results == 1 else ''} not count."
    study_options.print_change(text, before, study.view(), as_json=as_json, excluded=holder, results=results)


@click.command()
@study_options.with_study
@click.argument("holder")
@study_options.json_option
def include(*, study: study_options.AnyStudy, holder: str, as_json: bool) -> None:
    """Undo `study exclude`: count the results of HOLDER again."""
    before = study.view()
    holder, results = _exclude_or_include(study.include, holder)
    text = f"{holder} is included: {counted(results, 'result')} count{'s' if results == 1 else ''} again."
    study_options.print_change(text, before, study.view(), as_json=as_json, included=holder, results=results)


@click.command()
@study_options.with_study
@click.argument("file", type=FILE)
@study_options.no_header_option
def add(*, study: study_options.AnyStudy, file: Path, no_header: bool) -> None:
    """Add the arms in FILE to STUDY. If one cannot be added, none is.

    FILE is a CSV file with a header, a JSON Lines file, or a text file with one arm per line. The label is the column
    `arm`, or else the first column.
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
    """Withdraw the arm LABEL permanently. Results for its open tickets are rejected."""
    before = study.view()
    study.withdraw(study_options.find_label(study, label))
    study_options.print_change(f"{label} is withdrawn.", before, study.view(), as_json=as_json, withdrawn=label)


@click.command(epilog="For example: boxthirding study use screen.db chase")
@study_options.with_study
@click.argument("spec", metavar="SPEC")
@study_options.json_option
def use(*, study: study_options.AnyStudy, spec: str, as_json: bool) -> None:
    """Switch to another policy. It starts from all existing results.

    SPEC is a name such as chase or b3:reuse=topup, or module:Class for a policy of your own. Open tickets stay valid.
    """
    before = study.view()
    study.use(spec)
    after = study.view()
    text = f"Policy {before.policy} → {after.policy}."
    study_options.print_change(text, before, after, as_json=as_json, policy_before=before.policy, policy=after.policy)


def _exclude_or_include(method: Callable[[str], int], name: str) -> tuple[str, int]:
    """Call `method` with the holder of this name, or with the holder of the ticket file at this path."""
    from boxthirding.cli.tickets import file_holder

    try:
        return name, method(name)
    except InvalidInput as refusal:
        file = file_holder(Path(name))
        if Path(name).suffix != ".csv" or file == name:
            raise
        try:
            return file, method(file)
        except InvalidInput:
            raise refusal from None
