"""Budgets over the end of a day and of a month, in the gateway's real container, whose clock is moved.

python -m pytest tests/gateway/long/clock.py
"""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from gateway.periods import Period, end_of, hour_of

from containers.programs import is_root
from tests.chaos.clock import LIBRARY, set_clock
from tests.chaos.matrix.gateway_image import CLOCK, give_clock
from tests.engines import address_of_host
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.long.scenes import stream_over_an_end
from tests.gateway.on_engine import PATIENCE, GatewayTestbed
from tests.gateway.process import Gateway

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
    pytest.mark.skipif(not LIBRARY, reason="takes libfaketime"),
]
BEFORE, SHORTLY_BEFORE = timedelta(seconds=120), timedelta(seconds=2)
"""The time before the end of the period for the first call, and for the others. A busy machine needs the minutes."""


class InContainer:
    """Sends the scenes' commands to the gateway as the service does."""

    def __init__(self, testbed: GatewayTestbed) -> None:
        self._testbed = testbed
        self._version = 0

    def ask(self, do: str, **message: Any) -> dict[str, Any]:
        line = json.dumps({"do": do, **message}).encode() + b"\n"
        answer: dict[str, Any] = json.loads(self._testbed.engine.gateway().exchange(line, within=PATIENCE))
        assert answer["ok"], answer
        return answer

    def apply(self, *entries: dict[str, Any]) -> None:
        self._version += 1
        self.ask("apply", version=self._version, entries=list(entries))

    def usage(self, project: str) -> list[dict[str, Any]]:
        return [row for row in self.ask("usage", since=0)["rows"] if row["project"] == project]

    def set_clock(self, moment: datetime) -> None:
        found = self._testbed.engine.inspect_gateway()
        assert found
        container = self._testbed.client.inspect_container(found.container_id)
        [state] = [each["Source"] for each in container["Mounts"] if each["Destination"] == "/data"]
        set_clock(Path(state) / CLOCK, moment - datetime.now(UTC))


class FromHere(Agent):
    """An agent on this machine, whose entry therefore has no address."""

    host = ""

    def entry(self, *, kind: str = "openai", **changes: Any) -> dict[str, Any]:
        return super().entry(kind=kind, **changes) | {"address": None}

    @contextmanager
    def connected(self, timeout: float = PATIENCE, address: str | None = None) -> Iterator[http.client.HTTPConnection]:
        connection = http.client.HTTPConnection(self.host, 8080, timeout)
        try:
            yield connection
        finally:
            connection.close()


@pytest.fixture(scope="module")
def moved(testbed: GatewayTestbed) -> Iterator[InContainer]:
    image = f"berth-test/gateway:{testbed.instance}"
    give_clock(testbed.client, image)
    testbed.engine.ensure_gateway(replace(testbed.spec, image=image))
    try:
        yield InContainer(testbed)
    finally:
        testbed.engine.ensure_gateway(testbed.spec)
        testbed.client.remove_image(image)


@pytest.mark.parametrize("period", Period)
def test_calls_around_the_end_of_a_period_count_in_their_period_and_exceed_no_budget(
    testbed: GatewayTestbed, moved: InContainer, period: Period
) -> None:
    end = end_of(period, hour_of(datetime.now(UTC).timestamp()))
    with StreamingProvider(address_of_host()) as provider:
        agent = FromHere(cast("Gateway", moved), testbed.telegram, provider, number=9000 + len(period))
        agent.host = testbed.address.host
        moved.set_clock(end - BEFORE)

        def approach() -> None:
            moved.set_clock(end - SHORTLY_BEFORE)

        stream_over_an_end(cast("Gateway", moved), provider, agent, period=period, approach=approach)
