"""`boxthirding study observe|correct|exclude|include|use`: what changes the results of a study, or who decides."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boxthirding._text import counted
from boxthirding.cli.study.opening import (
    json_option,
    label_of,
    no_header_option,
    of_a_journal,
    of_a_study,
    opened,
    reached,
    report,
)
from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from boxthirding.study import Study
    from boxthirding.types import Label


@click.command(epilog="For example: boxthirding study observe screen.db last-year.csv")
@of_a_study
@click.argument("file", type=click.Path(path_type=Path))
@no_header_option
@json_option
def observe(*, url: str, name: str | None, file: Path, no_header: bool, as_json: bool) -> None:
    """Give STUDY the known results in FILE, a table with the columns arm and reward.

    They count like any other result, and are not paid for. Several rows of an arm are several results. Where the study
    has examples, a column pull says which: the place of the example in their order. If a row is bad, none is taken.
    """
    from boxthirding.find.inputs import as_known, read_known

    with reached(url, name) as study:
        rows = read_known(file, with_pulls=study.examples is not None, header=not no_header)
        labels: dict[str, Label] = {}

        def label(text: str) -> "Label":
            if text not in labels:
                labels[text] = label_of(study, text)
            return labels[text]

        known = as_known(rows, label)
        before = study.view()
        study.observe_all(known)
        what = f"{file}: {counted(len(rows), 'known result')} of {counted(len(known), 'arm')} taken."
        report(what, before, study.view(), as_json=as_json, observed=len(rows), arms=len(known))


@click.command(
    context_settings={"ignore_unknown_options": True},  # a reward may be below 0
    epilog="For example: boxthirding study correct screen.db 17 0.25",
)
@of_a_journal
@click.argument("ticket", type=int)
@click.argument("reward")
@json_option
def correct(*, url: str, name: str | None, ticket: int, reward: str, as_json: bool) -> None:
    """Replace the reward of TICKET, which was told to STUDY, by REWARD.

    The number of a ticket is in the file that `study ask` wrote, and `study export STUDY` prints all of them with their
    arms and rewards.
    """
    from boxthirding._checks import as_reward, parse_number

    try:
        value = as_reward(parse_number(reward))
    except ValueError:
        raise InvalidInput(
            f"the reward is {reward!r}, but must be a finite number below 1e150 in size, such as 0.5"
        ) from None
    with opened(url, name) as study:
        before = study.view()
        study.correct(ticket, value)
        arm, told = _told(study, ticket)
        what = f"Ticket {ticket}, a pull of {arm}: {told:g} → {value:g}."
        report(what, before, study.view(), as_json=as_json, ticket=ticket, arm=arm, told=told, reward=value)


@click.command(epilog="For example: boxthirding study exclude captions.db ann")
@of_a_study
@click.argument("holder")
@json_option
def exclude(*, url: str, name: str | None, holder: str, as_json: bool) -> None:
    """Let the results of HOLDER not count, those told and those still to come.

    HOLDER is a rater, a worker, or a plate by its path. `study include` lets them count again.
    """
    with reached(url, name) as study:
        before = study.view()
        holder, results = _of_holder(study.exclude, holder)
        what = f"{holder} is excluded: {counted(results, 'result')} do{'es' if results == 1 else ''} not count."
        report(what, before, study.view(), as_json=as_json, excluded=holder, results=results)


@click.command()
@of_a_study
@click.argument("holder")
@json_option
def include(*, url: str, name: str | None, holder: str, as_json: bool) -> None:
    """Let the results of HOLDER, who was excluded, count again."""
    with reached(url, name) as study:
        before = study.view()
        holder, results = _of_holder(study.include, holder)
        what = f"{holder} is included: {counted(results, 'result')} count{'s' if results == 1 else ''} again."
        report(what, before, study.view(), as_json=as_json, included=holder, results=results)


@click.command(epilog="For example: boxthirding study use screen.db chase")
@of_a_study
@click.argument("spec", metavar="SPEC")
@json_option
def use(*, url: str, name: str | None, spec: str, as_json: bool) -> None:
    """Let another policy decide from now on, which starts from all results that are there.

    SPEC is a name such as chase or b3:reuse=topup, or module:Class for a policy of your own. Open tickets stay valid.
    """
    with reached(url, name) as study:
        before = study.view()
        study.use(spec)
        after = study.view()
        what = f"Policy {before.policy} → {after.policy}."
        report(what, before, after, as_json=as_json, policy_before=before.policy, policy=after.policy)


def _told(study: "Study", ticket: int) -> "tuple[Label, float]":
    """Return the arm of a ticket, and what its reward was before the latest correction."""
    from boxthirding.study import Asked, Corrected, Told

    arm: Any = None
    rewards: list[float] = []
    for entry in study.events():
        match entry[1]:
            case Asked(tickets=tickets):
                arm = next((label for number, label, _ in tickets if number == ticket), arm)
            case Told(ticket=number, reward=reward) if number == ticket:
                rewards = rewards or [reward]  # a later one is a result of its own
            case Corrected(ticket=number, reward=reward) if number == ticket:
                rewards.append(reward)
    return arm, rewards[-2]


def _of_holder(change: "Callable[[str], int]", name: str) -> tuple[str, int]:
    """Change what counts of a holder of that name or, if there is none, of the plate at that path."""
    from boxthirding.cli.study.plates import holder_of

    try:
        return name, change(name)
    except InvalidInput as refusal:
        plate = holder_of(Path(name))
        if Path(name).suffix != ".csv" or plate == name:
            raise
        try:
            return plate, change(plate)
        except InvalidInput:
            raise refusal from None
