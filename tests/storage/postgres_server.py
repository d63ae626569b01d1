"""A PostgreSQL server of our own: a folder, a Unix socket, and nothing left behind."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

FOLDERS = ("/usr/local/bin", *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True))


def find(program):
    """Return the path of a program of PostgreSQL, or None."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *FOLDERS])
    return shutil.which(program, path=path)


class Server:
    """A server that can be started, stopped and killed."""

    def __init__(self, encoding="UTF8"):
        self.folder = Path(tempfile.mkdtemp(prefix="boxthirding-postgres-"))
        self.encoding = encoding
        self._process = None
        self._user = {}
        if os.geteuid() == 0:  # initdb refuses root, and postgres cannot enter a folder that only root may
            account = pwd.getpwnam("postgres")
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self._user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        text = (f"--encoding={encoding}", *([] if encoding == "UTF8" else ["--locale=C"]))
        self._run("initdb", "--auth=trust", "--username=tester", "--no-sync", *text, "--pgdata", self.data)

    @property
    def data(self):
        return self.folder / "data"

    @property
    def url(self):
        return f"postgresql://tester@/postgres?host={self.folder}"

    def _run(self, program, *arguments):
        ended = subprocess.run(
            [find(program), *map(str, arguments)], capture_output=True, text=True, check=False, cwd="/", **self._user
        )
        assert ended.returncode == 0, ended.stderr

    def start(self):
        ends = time.monotonic() + 120
        self._process = self._begun()
        while not self.is_ready():
            assert time.monotonic() < ends, (self.folder / "log").read_text()
            time.sleep(0.05)
            if self._process.poll() is not None:  # the last processes of one that was killed may not be gone yet
                self._process = self._begun()

    def _begun(self):
        with (self.folder / "log").open("a") as log:
            return subprocess.Popen(
                [find("postgres"), "-D", self.data, "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off"],
                stdout=log,
                stderr=log,
                cwd="/",
                **self._user,
            )

    def is_ready(self):
        import psycopg

        try:
            psycopg.connect(self.url).close()
        except psycopg.OperationalError:
            return False
        return True

    def ask_to_stop(self):
        """Have it stop when the last connection is closed; until then it lets no one in."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self):
        """Wait until it has stopped."""
        self._process.wait()
        self._process = None

    def stop(self, how=signal.SIGINT):
        """Stop it at once, cutting every connection; with SIGQUIT as `pg_ctl stop -m immediate` does."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def kill(self):
        """Stop it as a crash would: the server's processes are gone, with what they had in memory."""
        import psycopg

        with psycopg.connect(self.url) as connection:
            helpers = connection.execute("SELECT pid FROM pg_stat_activity").fetchall()
        process, self._process = self._process, None
        process.kill()
        process.wait()
        for (pid,) in helpers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
