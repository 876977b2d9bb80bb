"""What Prometheus scrapes at /metrics: the job's progress from the state, and the latency of this server's lookups."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from views.lookup import Status, Views, status_of

_BUCKETS = (5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 5e-3, 2e-2, 1e-1, 1.0)


class Metrics:
    """The registry of one server; `lookups` is observed around each lookup, without HTTP."""

    def __init__(self, views: Views) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_StateCollector(views))
        self.lookups = Histogram(
            "chronicle_lookup_seconds", "Time of a lookup.", ["view"], buckets=_BUCKETS, registry=self.registry
        )
        self.appended = Counter("chronicle_http_appends", "Appends taken over HTTP.", registry=self.registry)


class _StateCollector(Collector):
    """Reads the state when scraped: nothing is counted twice over, whoever runs the job."""

    def __init__(self, views: Views) -> None:
        self._views = views

    def collect(self) -> Iterable[Metric]:
        status = status_of(self._views)
        yield from _progress(status)
        fates = CounterMetricFamily("chronicle_appends", "Appends by fate.", labels=["fate"])
        for fate, count in status.fates.items():
            fates.add_metric([fate], count)
        rows = GaugeMetricFamily("chronicle_view_rows", "Stored rows.", labels=["view"])
        for name, count in status.rows.items():
            rows.add_metric([name], count)
        yield from (fates, rows)

    def describe(self) -> Iterable[Metric]:
        return ()


def _progress(status: Status) -> Iterable[Metric]:
    clock = status.standing.clock
    gauges = (
        ("chronicle_epoch", "Number of the last committed epoch.", status.standing.epoch),
        ("chronicle_epoch_committed_seconds", "When it was committed.", status.standing.committed_at / 1e6),
        ("chronicle_epoch_duration_seconds", "How long it took, plan to commit.", status.epoch_seconds),
        ("chronicle_lag_appends", "Appends not consumed yet.", status.lag),
        ("chronicle_clock_seconds", "The group's clock, Unix time.", None if clock is None else clock / 1e6),
        ("chronicle_state_bytes", "Size of the state on disk.", status.size_bytes),
        ("chronicle_job_running", "Whether a job holds the state.", int(status.pid is not None)),
    )
    for name, text, value in gauges:
        if value is not None:
            yield GaugeMetricFamily(name, text, value=value)
