"""Reads the counts of the gateway in memory, and adds up the results."""

from django.db.models import Sum

from accounts import clock
from containers.gateway.protocol import GatewayClient
from projects.models import HourlyUsage
from projects.models.figures.usage import COUNTS
from projects.rules.periods import EPOCH, HOUR
from projects.watcher.gateway.usage import read_usage
from tests.fakes.engine import MemoryEngine


def read(engine: MemoryEngine) -> int:
    return read_usage(GatewayClient(engine.gateway()))


def sums() -> dict[str, int]:
    found = HourlyUsage.objects.aggregate(**{name: Sum(name, default=0) for name in COUNTS})
    return {name: count for name, count in found.items() if count}


def this_hour() -> int:
    return int((clock.now() - EPOCH) / HOUR)
