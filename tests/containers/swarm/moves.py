"""Watches what an engine says of many agents while a node of its Swarm is killed, cut off or drained."""

import threading
import time
from collections import defaultdict
from contextlib import suppress
from typing import NamedTuple

from containers.errors import EngineUnavailableError
from containers.swarm.engine import SwarmEngine
from containers.vocabulary import ContainerState
from tests.containers.engine_fixtures import deploy
from tests.containers.swarm.under_test import SwarmUnderTest


class Said(NamedTuple):
    """`began` and `at` are when the question was asked and answered, on the monotonic clock."""

    began: float
    at: float
    key: str
    is_running: bool
    node: str


class Witness:
    """Asks again and again, as a list of agents does, and keeps each answer."""

    def __init__(self, engine: SwarmEngine) -> None:
        self._engine = engine
        self._ends = threading.Event()
        self.said: list[Said] = []
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> "Witness":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._ends.wait(0.1):
            began = time.monotonic()
            with suppress(EngineUnavailableError):  # nothing was said
                found = self._engine.observe({})
                at = time.monotonic()
                for each in found:
                    is_running = each.state is ContainerState.RUNNING and not each.is_silent
                    self.said.append(Said(began, at, each.key, is_running, each.node))


def deploy_many(under_test: SwarmUnderTest, count: int) -> list[str]:
    keys = [f"{under_test.key}-{number}" for number in range(count)]
    for key in keys:
        deploy(under_test, key=key)
    return keys


def where_they_run(engine: SwarmEngine) -> dict[str, set[str]]:
    """The keys of the agents that run on each node."""
    found: dict[str, set[str]] = defaultdict(set)
    for each in engine.observe({}):
        if each.state is ContainerState.RUNNING and not each.is_silent:
            found[each.node].add(each.key)
    return dict(found)
