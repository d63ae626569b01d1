"""The proxy on the way to a server, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say."""

import http.client
import ssl
from base64 import b64encode
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from boxthirding.client.addresses import Address

_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""This machine, to which no proxy leads."""


class Way(NamedTuple):
    """How a server is reached: where to connect to, and what to say there."""

    host: str
    port: int | None
    is_proxy: bool
    origin: str
    """What comes before the path of a request: nothing, but where a proxy reads it."""
    headers: dict[str, str]
    """What the proxy is told."""

    def connection(self, address: Address, secure: ssl.SSLContext | None, timeout: float) -> http.client.HTTPConnection:
        """Return a connection that is not open yet."""
        if secure is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        new = http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=secure)
        if self.is_proxy:
            new.set_tunnel(address.host, address.port, self.headers)
        return new


def way_to(address: Address) -> Way:
    """Return how a server is reached from here."""
    proxy = getproxies().get(address.scheme)
    host = f"[{address.host}]" if ":" in address.host else address.host
    where = host if address.port is None else f"{host}:{address.port}"
    if not proxy or address.host in _HERE or proxy_bypass(where):
        return Way(address.host, address.port, False, "", {})  # noqa: FBT003  # a tuple
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    headers = {}
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    origin = f"http://{where}" if address.scheme == "http" else ""  # else it sees nothing but a tunnel
    return Way(parts.hostname or "", parts.port or 80, True, origin, headers)  # noqa: FBT003
