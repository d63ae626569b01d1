"""Where a study of a server is: https://host/#name, the key that lets one in, and the proxy on the way."""

import os
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from boxthirding._checks import served_name
from boxthirding.errors import AccessRefused, InvalidInput

KEY: Final = "BOXTHIRDING_KEY"  # environment variable with the API key, used if none is given

NAME: Final = "main"  # the study of a server when the address names none

_API: Final = "/api/v1"
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})  # this machine, to which no proxy leads


class Address(NamedTuple):
    """A server, and a study of it."""

    scheme: str
    host: str  # with the port, if the address has one; an IPv6 address is in brackets
    path: str  # what comes before the paths of the API
    name: str | None  # the study, or None if the address names none

    @property
    def server(self) -> str:
        """The server as it is shown."""
        return f"{self.scheme}://{self.host}{self.path.removesuffix(_API)}"

    def study(self, name: str | None = None) -> str:
        """Return the address of a study, as a command line names it."""
        return f"{self.server}/#{quote(name or self.name or NAME, safe='')}"

    def proxy(self) -> SplitResult | None:
        """Return the proxy URL according to HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or None for no proxy."""
        proxy = getproxies().get(self.scheme)
        if not proxy or urlsplit(f"//{self.host}").hostname in _HERE or proxy_bypass(self.host):
            return None
        return urlsplit(proxy if "://" in proxy else f"http://{proxy}")


def is_remote(place: object) -> bool:
    """Return whether a place is on a server that is reached by HTTP.

    >>> is_remote("https://rate.example.org#captions"), is_remote("run.db")
    (True, False)
    """
    return isinstance(place, str) and place.partition(":")[0].lower() in ("http", "https") and "://" in place


def parsed(url: Any, name: str | None = None) -> Address:
    """Return what an address names; `name` is a study that was named beside it.

    >>> parsed("https://rate.example.org:8443/lab/#my%20study").study()
    'https://rate.example.org:8443/lab/#my%20study'
    """
    rule = "must be like https://rate.example.org/#name, with the name of the study after #"
    if not is_remote(url):
        raise InvalidInput(f"the address is {url!r}, but {rule}")
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is no number
    except ValueError as error:
        raise InvalidInput(f"the address is {url!r}, but {rule} ({error})") from None
    if not parts.hostname or parts.query or parts.username is not None:
        raise InvalidInput(f"the address is {_without_secret(url)!r}, but {rule}, without user, password and query")
    named = unquote(parts.fragment) or None
    if name is not None and named is not None and name != named:
        raise InvalidInput(f"the address names study {named!r}, but the name is {name!r}: give one of the two")
    path, name = parts.path.rstrip("/").removesuffix(_API), name or named
    if name is not None:
        served_name(name)
    return Address(parts.scheme.lower(), parts.netloc.lower().removesuffix(":"), path + _API, name)


def key_for(server: str, key: str | None) -> str:
    """Return the key that was given, or that of the environment."""
    found = (key if key is not None else os.environ.get(KEY, "")).strip()
    if not found:
        raise AccessRefused(
            f"there is no key for {server}, which lets no one in without one",
            advice=f"set {KEY} to a key, such as the one that `boxthirding serve` printed at its first start",
        )
    if not (found.isascii() and found.isprintable()):
        raise AccessRefused("the key has characters that no key has", advice=f"look at {KEY}, or at key=")
    return found


def _without_secret(url: str) -> str:
    """Return an address without what may be a password."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://...@{rest.rpartition('@')[2]}" if "@" in rest else url
