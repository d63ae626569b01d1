"""`boxthirding study`: the group of all its commands, and those about whole studies, such as list, copy and delete."""

import json
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from boxthirding._text import counted, written
from boxthirding.cli import output, study_options
from boxthirding.cli.amendments import add, correct, exclude, include, observe, use, withdraw
from boxthirding.cli.show import show
from boxthirding.cli.study_results import export, results, why
from boxthirding.cli.tickets import ask, fail, held, release, tell
from boxthirding.errors import BoxThirdingError, InvalidInput

_WIDEST = 16  # columns of a name


@click.group
def study() -> None:
    """Work with studies, which are kept in a database through crashes: ask, tell, look, change.

    STUDY is the file of an SQLite database, or a URL such as postgresql://user@host/database. One database may hold
    several studies; if there is only one, or one called main, --name is not needed. Commands that need no journal also
    take a study of a server, https://host/#name, with the key in BOXTHIRDING_KEY.
    """


@study.command("list")
@click.argument("url", metavar="DATABASE", callback=study_options.durable_url)
@study_options.json_option
def list_(*, url: str, as_json: bool) -> None:
    """List the studies in DATABASE, a file or a URL, or of a server, https://…."""
    from boxthirding.client.addresses import is_remote
    from boxthirding.client.remote import list_remote
    from boxthirding.session import View
    from boxthirding.storage import list_studies
    from boxthirding.storage.opening import without_password

    unknown = dict.fromkeys(["version", *(field.name for field in fields(View)), "error"])
    found = list_remote(url) if is_remote(url) else [_read_row(url, name) for name in list_studies(url)]
    rows = [{name: row.get(name) for name in unknown} for row in found]
    if as_json:
        for row in rows:
            click.echo(json.dumps(row))
    elif rows:
        _print_studies(rows)
    else:
        output.say(f"{without_password(url)} has no studies.")


def _read_row(url: str, name: str) -> dict[str, Any]:
    """Return the view of a study; one that cannot be read does not keep the others from being listed."""
    from boxthirding.storage import open_study

    try:
        with open_study(url, name) as opened:
            return opened.view().as_dict()
    except BoxThirdingError as problem:
        reason = " ".join(output.format_error(problem).splitlines())
        return {"name": name, "status": "unreadable", "error": reason}


def _print_studies(rows: list[dict[str, Any]]) -> None:
    """Print a row for each study, and below the table what has no room in it."""
    from rich.text import Text

    console = output.plain_console()
    table = output.ruled_table()
    for heading in ("study", "status", "policy", "best so far"):
        table.add_column(heading, no_wrap=True)
    for heading in ("mean", "pulls", "open", "arms"):
        table.add_column(heading, justify="right", no_wrap=True)
    below = []
    for row in rows:
        best = row["recommendation"] or {"label": "", "mean": None}
        label = output.one_line(best["label"])
        numbers = [""] * 4
        if row["error"] is None:
            mean = "" if best["mean"] is None else written(best["mean"])
            arms = "endless" if row["arms"] is None else f"{row['arms']:,}"
            numbers = [mean, f"{row['pulls']:,}", f"{row['open']:,}", arms]
        words = (row["name"], row["status"], row["policy"] or "", label)
        table.add_row(*[Text(output.shorten(word, _WIDEST, console)) for word in words], *numbers)
        if row["error"] is not None:
            below.append(f"{row['name']} is unreadable: {row['error']}")
        elif output.shorten(label, _WIDEST, console) != label:
            below.append(f"{row['name']}, best so far: {label}")
    console.print(table)
    if below:
        console.print()
    for line in below:
        console.print(line, soft_wrap=True)


@study.command
@study_options.with_study
def pause(*, study: study_options.AnyStudy) -> None:
    """Pause STUDY: issue no tickets until it is resumed. Results are still accepted."""
    study.pause()
    output.say(f"Paused: no tickets until it is resumed.\n{study_options.format_summary(study.view())}")


@study.command
@study_options.with_study
def resume(*, study: study_options.AnyStudy) -> None:
    """Resume STUDY: issue tickets again."""
    study.resume()
    output.say(f"Resumed.\n{study_options.format_summary(study.view())}")


@study.command
@study_options.with_study
@study_options.yes_option
def finish(*, study: study_options.AnyStudy, yes: bool) -> None:
    """Finish STUDY permanently: it issues no more tickets and its result is final.

    It asks first. Results of open tickets, corrections and exclusions are refused. This cannot be undone.
    """
    view = study.view()
    refused = f"results of {counted(view.open, 'open ticket')}, corrections and exclusions are refused"
    question = f"Finish study {view.name} permanently? No more tickets; {refused}."
    study_options.confirm(question, f"study {view.name!r} was not finished", yes=yes)
    study.finish()
    summary = study_options.format_summary(study.view())
    output.say(f"Finished: the study issues no more tickets and its result is final.\n{summary}")


@study.command(epilog="For example: boxthirding study report contest.db --out report.html")
@study_options.database_argument
@click.option("--out", type=output.FILE, metavar="FILE", required=True, help="Report file: .html.")
@study_options.force_option
def report(*, url: str, name: str | None, out: Path, force: bool) -> None:
    """Write a page about STUDY that needs no network: its answer, its best arms, its curves, and what may be believed.

    The page is one file, to be opened in a browser, mailed or printed. STUDY may be in use.
    """
    from boxthirding.find.report import study_page
    from boxthirding.storage.opening import read_picture

    if out.suffix.lower() not in {".html", ".htm"}:
        raise InvalidInput(f"--out is {out}, but must end in .html: a page is written")
    output.check_out(out, url, force=force)
    with study_options.open_database(url, name) as opened:
        page = study_page(opened, lambda key: read_picture(url, key))
    with output.whole_file(out) as file:
        file.write(page)
    output.say(f"Wrote {out}: open it in a browser.")


@study.command(epilog="For example: boxthirding study copy contest.db postgresql://me@host/lab")
@click.argument("url", metavar="FROM", callback=study_options.database_url)
@click.argument("to", metavar="TO", callback=study_options.database_url)
@click.option("--name", metavar="NAME", help="Which study, where FROM has several.")
@click.option("--as", "other_name", metavar="NAME", help="What it is called in TO.  [default: the same]")
def copy(*, url: str, to: str, name: str | None, other_name: str | None) -> None:
    """Copy a study from the database FROM to the database TO, event by event as it was written.

    FROM may be in use: what was written by then is copied. Pictures that a server keeps are copied too; keys and rating
    links are not.
    """
    from boxthirding.storage import list_studies, open_study
    from boxthirding.storage.opening import copy_journal, copy_pictures, open_journal

    wanted = study_options.existing_name(url, name)
    new = wanted if other_name is None else other_name
    if new in list_studies(to):
        raise InvalidInput(f"there is a study {new!r} in TO already: choose another name with --as")
    with closing(open_journal(url, wanted)) as source, closing(open_journal(to, new)) as target:
        events = copy_journal(source, target)
    pictures = copy_pictures(url, to)
    with open_study(to, new) as copied:
        more = f" and {counted(pictures, 'picture')}" if pictures else ""
        click.echo(f"Copied {counted(events, 'event')}{more}: study {new} has {counted(copied.pulls, 'pull')}.")


@study.command(epilog="For example: boxthirding study delete screen.db --name trial")
@study_options.database_argument
@study_options.yes_option
def delete(*, url: str, name: str | None, yes: bool) -> None:
    """Delete STUDY permanently: its arms and all its results, with the rating links and keys that a server has for it.

    It asks first. End runs that work on the study before. `study export` writes its results to a file.
    """
    from boxthirding.service.rater_stats import forget
    from boxthirding.storage import list_studies, open_study
    from boxthirding.storage.opening import delete_study, shelf, without_password

    name, names = study_options.existing_name(url, name), list_studies(url)
    try:
        with open_study(url, name) as opened:
            view = opened.view()
        still_open = f", {counted(view.open, 'ticket')} open" if view.open else ""
        what = f"{counted(view.pulls, 'pull')} of {counted(view.tried, 'arm')}{still_open}"
    except BoxThirdingError:  # it can still be deleted
        what = "all it has (it cannot be read)"
    study_options.confirm(f"Permanently delete study {name} with {what}?", f"study {name!r} was not deleted", yes=yes)
    delete_study(url, name)
    with closing(shelf(url).records()) as records:
        forget(records, name)
    rest = "" if len(names) > 1 else f" {without_password(url)} has no more studies."
    output.say(f"Deleted study {name} with {what}.{rest}")


for command in (ask, held, tell, release, fail, observe, correct, exclude, include, add, withdraw, use):
    study.add_command(command)
for command in (show, results, why, export):
    study.add_command(command)
