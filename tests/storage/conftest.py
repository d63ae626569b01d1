"""A real PostgreSQL server for the tests; where there is none they are skipped, unless it is required."""

import os
from contextlib import contextmanager

import pytest
from postgres_server import Server, find

REQUIRED = "postgres" in os.environ.get("BOXTHIRDING_REQUIRE", "").split(",")


@contextmanager
def running(**options):
    """Yield a server that runs."""
    if find("initdb") is None or find("postgres") is None:
        reason = "PostgreSQL is not installed: there is no initdb"
        if REQUIRED:
            pytest.fail(reason)
        pytest.skip(reason)
    server = Server(**options)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def server():
    """Return a server that runs."""
    with running() as server:
        yield server


@pytest.fixture(scope="session", params=["SQL_ASCII", "LATIN1"])
def other_server(request):
    """Return a server whose databases are not in UTF-8."""
    with running(encoding=request.param) as server:
        yield server


@pytest.fixture
def database(server):
    """Return the URL of an empty database."""
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS empty WITH (FORCE)")
        connection.execute("CREATE DATABASE empty")
    return server.url.replace("/postgres?", "/empty?")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """Return the URL of a place without studies, once on SQLite and once on PostgreSQL."""
    return str(tmp_path / "studies.db") if request.param == "sqlite" else request.getfixturevalue("database")
