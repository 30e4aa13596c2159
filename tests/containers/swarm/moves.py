"""Records what an engine reports about many agents while a node is killed, cut off or drained."""

import threading
import time
from collections import defaultdict
from typing import NamedTuple

from containers.errors import EngineError, EngineUnavailableError
from containers.swarm.engine import SwarmEngine
from containers.vocabulary import ContainerState
from tests.containers.engine_fixtures import deploy
from tests.containers.swarm.cluster import SwarmNode
from tests.containers.swarm.under_test import SwarmUnderTest

NOTICED_WITHIN = 1.0
"""Seconds after the end of a node from which no new request may be answered with `running`."""


class Said(NamedTuple):
    """One answer about one agent. `began` and `at`: when it was requested and answered, on the monotonic clock."""

    began: float
    at: float
    key: str
    is_running: bool
    node: str


class Witness:
    """A thread that lists all agents again and again and keeps each answer."""

    def __init__(self, engine: SwarmEngine) -> None:
        self._engine = engine
        self._ends = threading.Event()
        self.said: list[Said] = []
        self.failures: set[str] = set()
        """The errors in place of answers."""
        self.is_vague = True
        """Whether each of these errors says that nothing is known at the moment."""
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
            try:
                found = self._engine.observe({})
            except EngineError as error:
                self.failures.add(f"{type(error).__name__}: {error}")
                self.is_vague &= isinstance(error, EngineUnavailableError)
                continue
            at = time.monotonic()
            for each in found:
                is_running = each.state is ContainerState.RUNNING and not each.is_silent
                self.said.append(Said(began, at, each.key, is_running, each.node))

    def require_truth(self, gone: SwarmNode, *, since: float, until: float) -> None:
        """Asserts that no request during the node's absence was told that an agent runs there."""
        asked = [said for said in self.said if since + NOTICED_WITHIN < said.began < until]
        assert not [said for said in asked if said.is_running and said.node == gone.node_id]
        assert self.is_vague, self.failures


def deploy_many(under_test: SwarmUnderTest, count: int) -> list[str]:
    keys = [f"{under_test.key}-{number}" for number in range(count)]
    for key in keys:
        deploy(under_test, key=key)
    return keys


def where_they_run(engine: SwarmEngine) -> dict[str, set[str]]:
    """Returns the keys of the agents that run on each node."""
    found: dict[str, set[str]] = defaultdict(set)
    for each in engine.observe({}):
        if each.state is ContainerState.RUNNING and not each.is_silent:
            found[each.node].add(each.key)
    return dict(found)
