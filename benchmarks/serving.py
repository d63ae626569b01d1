"""The service against itself: ratings as the page makes them, to a POST that checks the same and does nothing.

Both go to one server in a process of its own, on SQLite, from 20 raters at once over connections that stay open. The
endpoint that does nothing finds the same link and the same rater and reads the same body. Also: the same with 50 event
streams open.
"""

import asyncio
import json
import multiprocessing
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RATERS, STREAMS = 20, 50
REQUESTS, ROUNDS = 1_500, 3
ARMS = 5_000
ANSWERS = ("unfunny", "funny")


def measure() -> Iterator[dict[str, Any]]:
    """Yield the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=_serve, args=(str(Path(folder, "studies.db")), theirs), daemon=True
        )
        process.start()
        port, key, link = ours.recv()
        try:
            yield from asyncio.run(_measured(port, key, link))
        finally:
            process.terminate()
            process.join()


async def _measured(port: int, key: str, link: str) -> list[dict[str, Any]]:
    raters = [await Rater.start(port, link) for _ in range(RATERS)]
    nothing, rating, with_streams = [], [], []
    for turn in range(ROUNDS):  # in turns, so that a busy moment hits all of them alike
        nothing.append(await _per_second(raters, "nothing"))
        rating.append(await _per_second(raters, "rate"))
        seen = 1 + 2 * REQUESTS * (2 * turn + 1)  # events by now, about
        readers = [asyncio.create_task(_listen(port, key, seen)) for _ in range(STREAMS)]
        await asyncio.sleep(1)  # until all are there
        with_streams.append(await _per_second(raters, "rate"))
        for task in readers:
            task.cancel()
    fast, rate, slow = max(nothing), max(rating), max(with_streams)
    ratio = round(rate / fast, 3)
    return [
        {"what": "ratings to requests that do nothing", "ratio": ratio, "at least": 0.4, "per second": rate},
        {"what": f"ratings with {STREAMS} event streams, to without", "ratio": round(slow / rate, 3), "at least": 0.9},
    ]


async def _listen(port: int, key: str, seq: int) -> None:
    """Read an event stream from an event on, as a page does that has the view of that moment."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    path = f"/api/v1/studies/load/stream?after={seq}"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
    try:
        while await reader.read(1 << 20):
            pass
    finally:
        writer.close()


async def _per_second(raters: list["Rater"], what: str) -> float:
    """Return how many requests are answered in a second when all raters make them as fast as they can."""
    began = time.perf_counter()
    await asyncio.gather(*[rater.work(what, REQUESTS // len(raters)) for rater in raters])
    return round(REQUESTS / (time.perf_counter() - began), 1)


class Rater:
    """A browser with the rating page: one connection, one rating after the other, the next arm fetched ahead."""

    def __init__(self, link: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._path = f"/api/v1/rating/{link}"
        self._reader, self._writer = reader, writer
        self._cookie = ""
        self._arms: list[dict[str, Any]] = []

    @classmethod
    async def start(cls, port: int, link: str) -> "Rater":
        """Return a rater with its first arms."""
        rater = cls(link, *await asyncio.open_connection("127.0.0.1", port))
        await rater.post("sitting", {})
        rater._arms = (await rater.post("next", {"want": 2}))["arms"]
        return rater

    async def work(self, what: str, times: int) -> None:
        """Make so many requests."""
        for turn in range(times):
            body = {
                "ratings": [{"ticket": self._arms[0]["ticket"], "answer": ANSWERS[turn % 2], "seconds": 1.5}],
                "want": 2,
            }
            if what == "nothing":
                await self.post("nothing", body)
            else:
                self._arms = (await self.post("ratings", body))["arms"]

    async def post(self, what: str, body: dict[str, Any]) -> Any:
        """Make a request and return what came back."""
        text = json.dumps(body).encode()
        head = (
            f"POST {self._path}/{what} HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\nCookie: {self._cookie}\r\n\r\n"
        )
        self._writer.write(head.encode() + text)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        reply = await self._reader.readexactly(int(headers["content-length"]))
        if not lines[0].startswith("HTTP/1.1 200"):
            raise RuntimeError(f"{lines[0]}: {reply.decode()}")
        if "set-cookie" in headers:
            self._cookie = headers["set-cookie"].partition(";")[0]
        return json.loads(reply)


def _serve(place: str, pipe: Any) -> None:
    """Serve a study, with an endpoint more that does nothing."""
    import uvicorn  # noqa: PLC0415  # only in the process that serves
    from fastapi import APIRouter, Request, Response  # noqa: PLC0415

    from boxthirding.service.app import create_app  # noqa: PLC0415
    from boxthirding.service.guard import LINK, GuardedRoute, needs, rater_of  # noqa: PLC0415
    from boxthirding.service.limits import Limits, Rate  # noqa: PLC0415
    from boxthirding.service.problems import reply  # noqa: PLC0415
    from boxthirding.service.service import Options, Service  # noqa: PLC0415
    from boxthirding.service.studies import About, Answer  # noqa: PLC0415
    from boxthirding.service.wire import RatingsIn  # noqa: PLC0415

    service = Service(place, Options(limits=Limits(*[Rate(1e9, 10**9)] * 5)))
    scale = tuple(Answer(label, float(reward)) for reward, label in enumerate(ANSWERS))
    service.studies.new("load", list(range(ARMS)), About(scale=scale))
    app = create_app(service)
    router = APIRouter(route_class=GuardedRoute)

    async def nothing(request: Request, link: str, body: RatingsIn) -> Response:
        rater_of(request)
        return reply({"read": len(body.plain()) + len(link)})

    router.post("/api/v1/rating/{link}/nothing", **needs(LINK))(nothing)
    app.include_router(router)
    listening = socket.create_server(("127.0.0.1", 0))
    pipe.send((listening.getsockname()[1], service.access.new_key("operator")[0], service.links.new("load")[0]))
    config = uvicorn.Config(app, log_level="warning", access_log=False, http="h11", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    for row in measure():
        print(json.dumps(row))
