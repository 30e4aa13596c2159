"""An agent's network traffic, if nobody counts it at times."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from containers.vocabulary import Usage
from projects.watcher.upkeep.samples import Readings, Running

pytestmark = pytest.mark.one_database


def test_what_nobody_counted_meanwhile_belongs_to_no_minute() -> None:
    at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    running, readings, found = Running(uuid4(), "a" * 64, at), Readings(), []
    for minute, counted in enumerate([None, 5000, 7000, None, 9000, 9100]):
        usage = Usage(cpu_percent=1, memory=1, memory_limit=1, network_received=counted, network_sent=counted, pids=1)
        now = at + timedelta(minutes=minute)
        sample = readings.make_sample(running, usage, at=now, now=now)
        assert sample
        found.append((sample.received, sample.sent))
    assert found == [(each, each) for each in (0, 0, 2000, 0, 0, 100)]
