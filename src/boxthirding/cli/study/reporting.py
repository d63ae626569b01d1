"""`boxthirding study report`: a study as one page to hand on."""

from pathlib import Path

import click

from boxthirding.cli.output import Failure, say
from boxthirding.cli.study.opening import of_a_journal, opened
from boxthirding.cli.study.writing import refuse_to_destroy, refuse_to_overwrite, whole_file
from boxthirding.errors import InvalidInput

_ENDS = (".html", ".htm")


@click.command(epilog="For example: boxthirding study report contest.db --out report.html")
@of_a_journal
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", required=True, help="The page: .html.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
def report(*, url: str, name: str | None, out: Path, force: bool) -> None:
    """Write a page about STUDY that needs no network: its answer, its best arms, its curves, and what may be believed.

    The page is one file, to be opened in a browser, mailed or printed. STUDY may be in use.
    """
    from boxthirding.find.report import study_page
    from boxthirding.storage.opening import read_picture

    if out.suffix.lower() not in _ENDS:
        raise InvalidInput(f"--out is {out}, but must end in .html: a page is written")
    refuse_to_destroy(out, url)
    if not force:
        refuse_to_overwrite(out, "give --force to replace it, or another name")
    with opened(url, name) as study:
        page = study_page(study, lambda key: read_picture(url, key))
    try:
        with whole_file(out) as file:
            file.write(page)
    except OSError as problem:
        raise Failure(f"{out} could not be written: {problem.strerror or problem}") from problem
    say(f"Wrote {out}: open it in a browser.")
