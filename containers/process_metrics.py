"""What each process counts of itself. `/metrics` tells it, added up over all processes (`config.metrics`)."""

from prometheus_client import CollectorRegistry, disable_created_metrics

disable_created_metrics()  # type: ignore[no-untyped-call]  # the library's. They tell when a process began to count

PROCESS = CollectorRegistry()
"""Every metric of a process is made with it. Labels are words of the program only, never what somebody has sent."""
