"""The studies of a server."""

from typing import Any

from boxthirding.client.addresses import NAME, key_for, parsed
from boxthirding.client.connection import Connection
from boxthirding.errors import InvalidInput, UnknownStudy


def list_remote(url: str, key: str | None = None, timeout: float = 10.0) -> list[dict[str, Any]]:
    """Return the studies of a server that a key may see, each as its view and what keeps it from being read."""
    address = parsed(url)
    connection = Connection(address, key_for(address.server, key), timeout)
    rows: list[dict[str, Any]] = []
    first: int | None = 0
    try:
        while first is not None:
            page = connection.call("GET", "/studies", query={"first": first}).value
            rows += page["studies"]
            first = page["next"]
    finally:
        connection.close()
    return rows


def chosen(url: str, name: str | None) -> str:
    """Return the address of the study that is meant: the one that is named, or the only one of the server."""
    address = parsed(url, name)
    if address.name is not None:
        return address.study()
    names = [row["name"] for row in list_remote(url)]
    if not names:
        raise UnknownStudy(f"{address.server} has no study that this key may see", advice="name one after #")
    if len(names) > 1 and NAME not in names:
        raise InvalidInput(
            f"{address.server} has {len(names)} studies: say which with --name, or after # ({', '.join(names)})"
        )
    return address.study(names[0] if len(names) == 1 else NAME)
