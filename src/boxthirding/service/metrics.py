"""What a server counts, for Prometheus: requests and how long they took, pulls, open tickets, raters."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from boxthirding.service.links import is_rater
from boxthirding.service.studies import Served

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


class Metrics:
    """The counters of one server."""

    def __init__(self, open_studies: Callable[[], Iterable[Served]]) -> None:
        self._registry = CollectorRegistry()
        names = ["method", "route", "status"]
        self._requests = Counter("boxthirding_requests", "Requests that were answered.", names, registry=self._registry)
        self._seconds = Histogram(
            "boxthirding_request_seconds", "Time until an answer.", ["route"], registry=self._registry, buckets=_SECONDS
        )
        self._registry.register(_Studies(open_studies))

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method if method in _METHODS else "other", route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return everything as Prometheus reads it."""
        return generate_latest(self._registry)


_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


class _Studies(Collector):
    """The figures of the studies that are open, read when they are asked for."""

    def __init__(self, open_studies: Callable[[], Iterable[Served]]) -> None:
        self._open_studies = open_studies

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the figures."""
        pulls = GaugeMetricFamily("boxthirding_pulls", "Results that count.", labels=["study"])
        tickets = GaugeMetricFamily("boxthirding_open_tickets", "Tickets neither told nor void.", labels=["study"])
        raters = GaugeMetricFamily("boxthirding_raters", "Raters who have rated or skipped.", labels=["study"])
        streams = GaugeMetricFamily("boxthirding_event_streams", "Open event streams.", labels=["study"])
        for served in self._open_studies():
            name, glance = [served.study.name], served.study.glance()
            pulls.add_metric(name, glance.pulls)
            tickets.add_metric(name, glance.open)
            raters.add_metric(name, sum(1 for holder, _ in served.tally.all_holders() if is_rater(holder)))
            streams.add_metric(name, served.announcer.open)
        yield from (pulls, tickets, raters, streams)
