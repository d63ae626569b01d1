"""`boxthirding serve`: studies over HTTP, for raters with a link and workers with a key."""

import importlib.util
from typing import Any

import click

from boxthirding.errors import MissingExtra

PLACE = "boxthirding.db"


@click.command(epilog="For example: boxthirding serve --demo")
@click.argument("place", required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 for any that is free.")
@click.option("--public-url", metavar="URL", help="Where browsers find the server, such as https://rate.example.org.")
@click.option("--new-key", is_flag=True, help="Make another operator's key, print it, and end.")
@click.option("--demo", is_flag=True, help="Run a caption contest with simulated raters.")
@click.option("--proxy", is_flag=True, help="A proxy is in front, and says who is asking by X-Forwarded-For.")
@click.option("--allow-origin", metavar="ORIGIN", multiple=True, help="Let pages of this origin call the API.")
def serve(*, place: str | None, host: str, port: int, new_key: bool, demo: bool, **reached: Any) -> None:
    """Serve the studies in PLACE over HTTP: a JSON API, event streams and exports.

    PLACE is the file of an SQLite database, by default boxthirding.db, or a URL such as
    postgresql://user@host/database. With --demo and no PLACE nothing is kept. At the first start the operator's key is
    printed, once.
    """
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra("boxthirding serve", package.replace("_", "-"), "serve")

    from boxthirding.service import server
    from boxthirding.service.service import Options

    where = place or ("memory:demo" if demo else PLACE)
    if new_key:
        click.echo(server.make_key(where))
        return
    hosts = frozenset({host} - {"0.0.0.0", "::"})  # noqa: S104  # said by the user
    options = Options(reached["public_url"], hosts, reached["proxy"], frozenset(reached["allow_origin"]))
    server.serve(where, host, port, options, click.echo, demo=demo)
