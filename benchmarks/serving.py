"""The service against itself: ratings as the page makes them, to a POST that checks the same and does nothing.

Both go to one server in a process of its own, on SQLite, from many raters at once over connections that stay open. The
endpoint that does nothing finds the same link and the same rater and reads the same body. Also: the same with 50 event
streams open. The load test in `tests/service` uses the same server and the same raters.
"""

import asyncio
import json
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

RATERS, STREAMS = 20, 50
REQUESTS_EACH, ROUNDS = 75, 3
ARMS = 5_000
STUDY = "load"
ANSWERS = ("unfunny", "funny")


def measure() -> Iterator[dict[str, Any]]:
    """Yield the ratios."""
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder, "studies.db")) as server:
        yield from asyncio.run(_measured(server))


async def _measured(server: "ServerProcess") -> list[dict[str, Any]]:
    raters = await started(server, RATERS)
    nothing, rating, with_streams = [], [], []
    for _ in range(ROUNDS):  # in turns, so that a busy moment hits all of them alike
        nothing.append(await per_second(raters, "nothing", REQUESTS_EACH))
        rating.append(await per_second(raters, "ratings", REQUESTS_EACH))
        async with streams(server, STREAMS):
            with_streams.append(await per_second(raters, "ratings", REQUESTS_EACH))
    fast, rate, slow = max(nothing), max(rating), max(with_streams)
    ratio = round(rate / fast, 3)
    return [
        {"what": "ratings to requests that do nothing", "ratio": ratio, "at least": 0.4, "per second": rate},
        {"what": f"ratings with {STREAMS} event streams, to without", "ratio": round(slow / rate, 3), "at least": 0.9},
    ]


async def started(server: "ServerProcess", number: int) -> list["Rater"]:
    """Return raters who have opened the link and have their first arm."""
    return [await Rater.start(server) for _ in range(number)]


async def per_second(raters: list["Rater"], what: str, each: int) -> float:
    """Return how many requests are answered in a second when every rater makes so many as fast as it can."""
    began = time.perf_counter()
    await asyncio.gather(*[rater.work(what, each) for rater in raters])
    return round(each * len(raters) / (time.perf_counter() - began), 1)


@asynccontextmanager
async def streams(server: "ServerProcess", number: int) -> Any:
    """Have event streams open, each from now on, as the page of a study has it."""
    seq = (await server.get(f"/studies/{STUDY}"))["seq"]
    ready = [asyncio.Event() for _ in range(number)]
    readers = [asyncio.create_task(_listen(server, seq, event)) for event in ready]
    for event in ready:
        await event.wait()
    yield
    for task in readers:
        task.cancel()
    await asyncio.gather(*readers, return_exceptions=True)


async def _listen(server: "ServerProcess", seq: int, ready: asyncio.Event) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"GET /api/v1/studies/{STUDY}/stream?brief=true&after={seq} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    writer.write(f"{head}Authorization: Bearer {server.key}\r\n\r\n".encode())
    try:
        while await reader.read(1 << 20):
            ready.set()
    finally:
        writer.close()


class Rater:
    """A browser with the rating page: one connection, one rating after the other.

    What was not acknowledged is sent again when the connection is back, as the page does.
    """

    def __init__(self, server: "ServerProcess") -> None:
        self._server = server
        self._path = f"/api/v1/rating/{server.link}"
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._cookie = ""
        self._arm: dict[str, Any] | None = None
        self.acknowledged: dict[int, str] = {}
        """By ticket: the answer."""
        self.seen: list[str] = []
        """The text of every arm that was shown."""
        self.seconds: dict[str, list[float]] = {"next": [], "ratings": [], "nothing": [], "sitting": []}
        """How long each request took."""

    @classmethod
    async def start(cls, server: "ServerProcess") -> "Rater":
        """Return a rater with its first arm."""
        rater = cls(server)
        await rater.post("sitting", {})
        await rater._fetch()
        return rater

    async def work(self, what: str, times: int) -> None:
        """Make so many requests."""
        for turn in range(times):
            while self._arm is None:  # none left for now
                await asyncio.sleep(0.01)
                await self._fetch()
            answer = ANSWERS[turn % 2]
            body = {"ratings": [{"ticket": self._arm["ticket"], "answer": answer, "seconds": 1.5}], "want": 1}
            reply = await self.post(what, body)
            if what == "ratings":
                (outcome,) = reply["ratings"]
                if outcome["outcome"] == "refused":
                    raise RuntimeError(f"a rating was refused: {outcome}")
                self.acknowledged[self._arm["ticket"]] = answer
                self._show(reply["arms"])

    async def post(self, what: str, body: dict[str, Any]) -> Any:
        """Make a request, again if its reply is lost, and return what came back."""
        text = json.dumps(body).encode()
        head = (
            f"POST {self._path}/{what} HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\nCookie: {self._cookie}\r\n\r\n"
        )
        while True:
            began = time.perf_counter()
            try:
                reply = await self._once(head.encode() + text)
            except (OSError, asyncio.IncompleteReadError):
                self.close()
                await asyncio.sleep(0.05)
            else:
                self.seconds[what].append(time.perf_counter() - began)
                return reply

    def close(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _fetch(self) -> None:
        self._show((await self.post("next", {"want": 1}))["arms"])

    def _show(self, arms: list[dict[str, Any]]) -> None:
        self._arm = arms[0] if arms else None
        if self._arm is not None and (not self.seen or self.seen[-1] != self._arm["text"]):
            self.seen.append(self._arm["text"])

    async def _once(self, request: bytes) -> Any:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        self._writer.write(request)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        reply = await self._reader.readexactly(int(headers["content-length"]))
        if not lines[0].startswith("HTTP/1.1 200"):
            raise RuntimeError(f"{lines[0]}: {reply.decode()}")
        if "set-cookie" in headers:
            self._cookie = headers["set-cookie"].partition(";")[0]
        return json.loads(reply)


class ServerProcess:
    """A server with a study to rate and an endpoint that does nothing, in a process that can be killed."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.port, self.key, self.link = 0, "", ""
        self._process: Any = None

    def start(self) -> None:
        """Start it, on the port that it had before."""
        ours, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("spawn").Process(
            target=_serve, args=(str(self.place), self.port, theirs), daemon=True
        )
        self._process.start()
        self.port, key, link = ours.recv()
        self.key, self.link = self.key or key, self.link or link

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.join()
            self._process = None

    async def get(self, path: str) -> Any:
        """Read something as the operator."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = f"GET /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.key}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode())
        text = await reader.read()
        writer.close()
        return json.loads(text.partition(b"\r\n\r\n")[2])

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def _serve(place: str, port: int, pipe: Any) -> None:
    """Serve a study, with an endpoint more that does nothing."""
    import uvicorn  # noqa: PLC0415  # only in the process that serves
    from fastapi import Request, Response  # noqa: PLC0415

    from boxthirding.service.authorization import LINK, needs, rater_of  # noqa: PLC0415
    from boxthirding.service.limits import Limits, Rate  # noqa: PLC0415
    from boxthirding.service.problems import reply  # noqa: PLC0415
    from boxthirding.service.request_models import RatingsIn  # noqa: PLC0415
    from boxthirding.service.routes import rating  # noqa: PLC0415
    from boxthirding.service.server import bind, create_app  # noqa: PLC0415
    from boxthirding.service.service import Options, Service  # noqa: PLC0415
    from boxthirding.service.studies import About, Choice  # noqa: PLC0415

    service = Service(place, Options(limits=Limits(*[Rate(1e9, 10**9)] * 5)))
    scale = tuple(Choice(label, float(reward)) for reward, label in enumerate(ANSWERS))
    key = link = ""
    if STUDY not in service.studies.names():
        study = service.studies.new(STUDY, list(range(ARMS)), About(scale=scale)).study
        key, link = service.access.new_key("operator")[0], service.links.new(STUDY, origin=study.origin)[0]

    async def nothing(request: Request, link: str, body: RatingsIn) -> Response:
        rater_of(request)
        return reply({"read": len(body.ratings) + len(link)})

    rating.router.post("/nothing", **needs(LINK))(nothing)  # beside the others, so that it is found as fast
    app = create_app(service)
    listening = bind("127.0.0.1", port)
    pipe.send((listening.getsockname()[1], key, link))
    config = uvicorn.Config(app, log_level="warning", access_log=False, http="h11", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    for row in measure():
        print(json.dumps(row))
