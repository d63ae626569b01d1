"""A server in a process of its own, which can be killed and started again, and one in a thread of this process."""

import json
import re
import signal
import subprocess
import sys
import threading
import urllib.request

from serving import Server

from boxthirding.service.server import bind, server_of

API = "/api/v1"


class Process:
    """`boxthirding serve` over a file, on a port that stays the same when it is started again."""

    def __init__(self, place):
        self.place, self.port, self.key, self.code = place, 0, None, None
        self.running = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        """Start, and wait until it says where it listens."""
        command = [sys.executable, "-m", "boxthirding", "serve", str(self.place), "--port", str(self.port)]
        self.running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = self.running.stdout.readline()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", said)[1])
        said += self.running.stdout.readline()
        if self.key is None:
            said += self.running.stdout.readline()
            self.key = re.search(r"this once: (\S+)", said)[1]
            self.code = re.search(r"#code=(\S+)", said)[1]

    def kill(self):
        """End at once, as when the power fails."""
        if self.running is not None:
            self.running.send_signal(signal.SIGKILL)
            self.running.wait()
            self.running.stdout.close()
            self.running = None

    def call(self, method, path, body=None):
        """Call the API with the operator's key, and return its JSON."""
        data = None if body is None else json.dumps(body).encode()
        text = self.fetch(method, path, data, "application/json")
        return json.loads(text) if text else None

    def fetch(self, method, path, data=None, kind="application/octet-stream"):
        """Call the API with the operator's key and bytes, and return the bytes of its answer."""
        request = urllib.request.Request(self.address + API + path, data, method=method)  # noqa: S310  # of ours
        request.add_header("Authorization", f"Bearer {self.key}")
        if data is not None:
            request.add_header("Content-Type", kind)
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            return answer.read()


class Listening(Server):
    """A server of this process that listens, so that clients reach it by real sockets."""

    def __init__(self, place=None, **options):
        super().__init__(place, **options)
        self.service.clock = lambda: self.now
        self._socket = bind("127.0.0.1", 0)
        self.port = self._socket.getsockname()[1]
        self._server = server_of(self.app, self.service)
        self._server.config.timeout_graceful_shutdown = 1
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})
        self._thread.start()

    def url(self, name="main"):
        return f"http://127.0.0.1:{self.port}/#{name}"

    def close(self):
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
        super().close()
