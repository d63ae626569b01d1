"""A proxy that the environment names is used, and what it may see is what it must."""

import pytest
from losing import Losing

from boxthirding import RemoteStudy
from boxthirding.client.addresses import parsed
from boxthirding.errors import AccessRefused, StudyUnavailable

NO_KEY = (401, {"Content-Type": "application/json"}, b'{"detail":"no valid key"}')


@pytest.fixture
def proxy(monkeypatch):
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)
    with Losing(0) as one:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://me:s%40fe@127.0.0.1:{one.port}")
        yield one


def test_a_proxy_is_asked_for_the_server(proxy):
    proxy.answers = [NO_KEY]
    with pytest.raises(AccessRefused):
        RemoteStudy("http://rate.example.org:8000/lab/#captions", "key_x")
    ((_, target),), (headers,) = proxy.seen, proxy.headers
    assert target.startswith("http://rate.example.org:8000/lab/api/v1/studies")
    assert (headers["Host"], headers["Proxy-Authorization"]) == ("rate.example.org:8000", "Basic bWU6c0BmZQ==")


def test_over_https_a_proxy_sees_a_tunnel_and_no_key(proxy):
    proxy.answers = [(403, {}, b"")]
    with pytest.raises(StudyUnavailable, match=r"rate\.example\.org cannot be reached"):
        RemoteStudy("https://rate.example.org/#captions", "key_x", timeout=0)
    assert proxy.seen == [("CONNECT", "rate.example.org:443")]
    assert proxy.headers[0]["Proxy-Authorization"] == "Basic bWU6c0BmZQ=="
    assert not any("key_x" in value for value in proxy.headers[0].values())


@pytest.mark.parametrize("host", ["rate.example.org", "127.0.0.1", "localhost", "[::1]"])
@pytest.mark.usefixtures("proxy")
def test_hosts_that_no_proxy_names_and_this_machine_are_reached_without(monkeypatch, host):
    monkeypatch.setenv("NO_PROXY", "example.org")
    assert parsed(f"https://{host}/#captions").proxy() is None
    assert parsed("https://rate.example.com/#captions").proxy() is not None
