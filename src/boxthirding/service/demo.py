"""A caption contest with simulated raters, so that a newcomer sees a study move."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import numpy as np

from boxthirding.errors import BoxThirdingError
from boxthirding.lab import captions
from boxthirding.service.rating import Rating
from boxthirding.service.request_models import RatingIn
from boxthirding.service.service import Service
from boxthirding.service.studies import About, Choice

NAME: Final = "demo"
_ARMS = 300
_SCALE = (Choice("not funny", 0.0), Choice("funny", 1.0))
_RATERS = 4  # at a time
_PAUSE = 0.4  # seconds between two ratings of one rater, on average
_SITTING = 40


class Demo:
    """Simulated raters on a contest of captions that have the true means of the embedded ones."""

    def __init__(self, service: Service, address: str, say: Callable[[str], None]) -> None:
        self._service, self._address, self._say = service, address, say
        self._stop = threading.Event()
        means = np.random.default_rng(1).permutation(captions(_ARMS * 18).means[::18])
        self._means = {f"Caption {number}": mean for number, mean in enumerate(means.tolist(), 1)}

    def start(self) -> None:
        """Make the contest if need be, and let raters come."""
        studies = self._service.studies
        if NAME not in studies.names():
            about = About(
                question="How funny is this caption?",
                description="A contest with simulated raters.",
                scale=_SCALE,
                sitting=_SITTING,
                thanks="Thank you!",
            )
            studies.new(NAME, list(self._means), about, seed=1)
        secret, _ = self._service.links.new(NAME, name="demo", origin=studies.get(NAME).study.origin)
        self._say(f"The contest {NAME!r} is rated by simulated raters. Rate too: {self._address}/rate/{secret}")
        for number in range(_RATERS):
            threading.Thread(target=self._rate, args=(secret, number), daemon=True, name=f"demo-{number}").start()

    def stop(self) -> None:
        """Stop the raters."""
        self._stop.set()

    def _rate(self, secret: str, number: int) -> None:
        """Rate as one rater after the other."""
        draws = np.random.default_rng()
        while not self._stop.is_set():
            link = self._service.links.find(secret)
            if link is None:
                return
            with suppress(BoxThirdingError):  # paused, finished, deleted, or the database is away
                rater = self._service.links.start(link, {}, None)
                self._service.links.begin(link, rater)
                self._sit(Rating(self._service.studies.get(NAME), rater, self._service.clock), draws)
            self._stop.wait(1.0 + number)

    def _sit(self, rating: Rating, draws: np.random.Generator) -> None:
        while not self._stop.is_set():
            _, comes_next = rating.rate((), 1)
            if not (arms := comes_next["arms"]):
                return
            seconds = float(draws.exponential(_PAUSE))
            if self._stop.wait(seconds):
                return
            mean = self._means.get(arms[0]["text"], 0.5)
            answer = _SCALE[int(draws.random() < mean)].label
            rating.rate([RatingIn(ticket=arms[0]["ticket"], answer=answer, seconds=seconds)])
