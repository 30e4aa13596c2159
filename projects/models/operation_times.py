"""Measures how long operations take, from the claim to the recorded outcome."""

import time

from prometheus_client import Histogram

from containers.processes.process_metrics import PROCESS
from containers.processes.tracing import note_span
from projects.rules.status.lifecycle import Operation

SECONDS = Histogram(
    "berth_operation_duration_seconds",
    "Seconds from the claim of an operation to its recorded outcome.",
    ["operation"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 75),
    registry=PROCESS,
)


def note_duration(operation: str, *, since: float) -> None:
    """Records the duration of an operation. `since` is on the monotonic clock of this process. Ignores NONE."""
    if operation != Operation.NONE and operation in Operation.values:
        SECONDS.labels(str(operation)).observe(time.monotonic() - since)
        note_span(f"operation {operation}", since=since)
