"""Numbers from the database, as metrics."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.utils import Error
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from config.database.faults import find_fault
from config.database.limits import time_limit
from config.outages import find_outage, log_outage
from projects.models.figures.tally import Labels
from projects.services.staff.metrics import Metrics, read_metrics

Numbers = Mapping[tuple[str, ...], int]
"""Values by labels."""

DATABASE_LIMIT = 5.0
"""Maximum seconds for all queries together."""


class DatabaseMetrics(Collector):
    """If the database does not answer, the metrics say only that."""

    def collect(self) -> Iterator[Metric]:
        yield _gauge(
            "berth_build_info", "Always 1; the label is the version.", ["version"], {(settings.BERTH_VERSION,): 1}
        )
        database: Any = connection  # of one of our own classes
        try:
            with time_limit(DATABASE_LIMIT), database.ending_reads():
                found = read_metrics()
        except Error as error:
            if find_fault(error) is None:
                raise
            if outage := find_outage(error):
                log_outage(outage, error)
            yield GaugeMetricFamily("berth_database_up", "Whether the database answers.", value=0)
            return
        yield GaugeMetricFamily("berth_database_up", "Whether the database answers.", value=1)
        yield from _to_metrics(found)


def _to_metrics(found: Metrics) -> Iterator[Metric]:
    engines: Numbers = {(node,): int(is_up) for node, is_up in found.engines.items()}
    by_type: Numbers = {(str(labels.second), labels.first): number for labels, number in found.projects.items()}
    parts: Numbers = {(str(part),): int(is_wrong) for part, is_wrong in found.wrong.items()}
    crashes = {Labels(reason, ""): number for reason, number in found.crashes.items()}
    yield _gauge("berth_projects", "Projects by status and type.", ["status", "type"], by_type)
    yield _gauge("berth_engine_up", "Whether the engine answers.", ["node"], engines)
    yield _gauge("berth_service_trouble", "Whether a part of the service itself is in trouble.", ["part"], parts)
    yield _counter("berth_operations", "Operations and repairs.", ["operation", "outcome"], found.operations)
    yield _counter("berth_crashes", "Agents that stopped by themselves.", ["reason"], crashes)
    yield _counter("berth_gateway_requests", "Calls through the gateway.", ["upstream", "outcome"], found.gateway)
    yield _counter(
        "berth_llm_tokens", "Tokens that models have read and written.", ["provider", "direction"], found.tokens
    )
    if found.heartbeat_age is not None:
        description = "Seconds since the watcher last recorded the state of the engine."
        yield GaugeMetricFamily("berth_watcher_heartbeat_age_seconds", description, value=found.heartbeat_age)


def _gauge(name: str, description: str, labels: list[str], numbers: Numbers) -> Metric:
    family = GaugeMetricFamily(name, description, labels=labels)
    for values, number in numbers.items():
        family.add_metric(values, number)
    return family


def _counter(name: str, description: str, labels: list[str], numbers: Mapping[Labels, int]) -> Metric:
    family = CounterMetricFamily(name, description, labels=labels)
    for values, number in numbers.items():
        family.add_metric(values[: len(labels)], number)
    return family
