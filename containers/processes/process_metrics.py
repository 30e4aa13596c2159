"""The metrics that each process counts. `/metrics` reports their sums over all processes (`config.metrics`)."""

from prometheus_client import CollectorRegistry, disable_created_metrics

disable_created_metrics()  # type: ignore[no-untyped-call]  # these only say when each process began to count

PROCESS = CollectorRegistry()
"""The registry of all metrics of a process. Labels come from the program only, never from a request."""
