"""For how long nobody polls for an agent while another gateway takes the place of the one at work, in real containers.

python -m pytest -s tests/gateway/long/updates.py        HANDOVERS=24 of them, which take two minutes

It shows the distribution, and where the seconds go.
"""

import os
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any

import pytest

from containers.docker.gateway.containers import GatewayContainers
from containers.programs import is_root
from tests.gateway.long.beside import going_on
from tests.gateway.on_engine import PATIENCE, DeployedAgent, GatewayTestbed
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
]
HANDOVERS = int(os.environ.get("HANDOVERS", "24"))
AGENTS = 3
LONGEST = 3.0
STEPS = ("make", "start", "stop", "join", "wait_for", "discard")
"""The steps in order. `start` and `wait_for` come twice, before and after the former gateway is stopped."""


class Silence:
    """Measures for how long each agent has had no poll at Telegram, by looking every few milliseconds."""

    def __init__(self, testbed: GatewayTestbed, agents: list[DeployedAgent]) -> None:
        self._testbed = testbed
        self._agents = agents
        self._polled_at = dict.fromkeys((agent.token for agent in agents), time.monotonic())
        self._longest: dict[str, float] = {}

    def all_poll(self) -> bool:
        return all(self._testbed.telegram.polls(agent.token).open for agent in self._agents)

    def watch(self, is_over: threading.Event) -> None:
        while not is_over.wait(0.003):
            for agent in self._agents:
                now = time.monotonic()
                gap = now - self._polled_at[agent.token]
                if self._testbed.telegram.polls(agent.token).open:
                    self._polled_at[agent.token] = now
                self._longest[agent.token] = max(gap, self._longest.get(agent.token, 0.0))

    def take(self) -> list[float]:
        """Returns each agent's longest silence since the last call."""
        taken, self._longest = self._longest, {}
        return list(taken.values())


@contextmanager
def timed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[float]]]:
    """Collects the seconds that each step of a handover takes."""
    taken: dict[str, list[float]] = defaultdict(list)

    def clocked(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(act)
        def acting(*given: Any, **named: Any) -> Any:
            began = time.monotonic()
            try:
                return act(*given, **named)
            finally:
                taken[name].append(time.monotonic() - began)

        return acting

    with monkeypatch.context() as patch:
        for name in STEPS:
            patch.setattr(GatewayContainers, name, clocked(name, getattr(GatewayContainers, name)))
        yield taken


def test_no_poll_is_dropped_for_more_than_three_seconds(
    testbed: GatewayTestbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = [testbed.settle() for _ in range(AGENTS)]
    silence, found = Silence(testbed, agents), list[float]()
    with timed(monkeypatch) as taken, going_on(silence.watch):
        for number in range(HANDOVERS):
            wait_until(silence.all_poll, within=PATIENCE)
            silence.take()
            other = replace(testbed.spec, environment=(("GATEWAY_GRACE", str(10 + number % 2)),))
            testbed.engine.ensure_gateway(other)
            wait_until(silence.all_poll, within=PATIENCE)
            time.sleep(0.05)  # until the watch has seen it
            found += silence.take()
    show(found, taken)
    assert max(found) <= LONGEST


def show(found: list[float], taken: dict[str, list[float]]) -> None:
    tenths = [f"{each:.2f}" for each in statistics.quantiles(found, n=10)]
    sys.stdout.write(f"\n{len(found)} pauses, s: {min(found):.2f} … {max(found):.2f}, tenths {' '.join(tenths)}\n")
    for name, seconds in taken.items():
        sys.stdout.write(f"    {name}: {len(seconds)}, median {statistics.median(seconds):.2f}, {max(seconds):.2f}\n")
    sys.stdout.flush()
