"""A visit to the gateways of a Swarm's nodes, some of which are silent."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import clock
from containers.errors import EngineUnavailableError
from containers.gateway.transport import NOT_THERE
from projects.models import Gateway, Project
from projects.models.processes.gateway import row_of
from projects.services.gateway.provisioning import describe_trouble
from projects.watcher.gateway.node_polling import look_at_all
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.fakes.memory_gateway import MemoryTransport

pytestmark = pytest.mark.django_db


class Silent:
    """Counts the questions. Answers only when so many are being asked at once."""

    def __init__(self, together: int = 1) -> None:
        self.asked = 0
        self._meet = threading.Barrier(together)

    def exchange(self, line: bytes, *, within: float) -> bytes:
        self.asked += 1
        self._meet.wait(60)
        raise EngineUnavailableError(NOT_THERE)

    def prepare(self, *, within: float) -> None:
        """Nothing has to be prepared."""


def test_silent_gateways_are_asked_once_and_side_by_side(engine: MemoryEngine, project: Project) -> None:
    silent = Silent(together=4)
    seen = look_at_all({"a": engine.gateway(), **{f"s{number}": silent for number in range(8)}})
    assert (len(seen.silent), silent.asked) == (8, 8)


@pytest.mark.parametrize("ahead", [-3600.0, 3600.0])
def test_of_two_nodes_the_later_sighting_counts_by_any_clocks(project: Project, ahead: float) -> None:
    key, now = str(project.pk), clock.now().timestamp()
    former, present = MemoryGateway(), MemoryGateway()
    former.clock, present.clock = lambda: now + ahead, lambda: now
    former.see(key, telegram_status=401, telegram_at=now + ahead - 20)
    present.see(key, last_poll=now - 10)
    sightings = look_at_all({"a": MemoryTransport(former.answer), "b": MemoryTransport(present.answer)}).sightings
    assert sightings[key].telegram_status is None
    assert sightings[key].last_poll == now - 10


def test_rows_in_force_are_read_once_for_all_nodes(engine: MemoryEngine, project: Project) -> None:
    def reads(nodes: str) -> int:
        look_at_all(ways := {node: engine.gateway() for node in nodes})
        with CaptureQueriesContext(connection) as queries:
            look_at_all(ways)
        return sum("entry_version" in query["sql"] for query in queries.captured_queries)

    assert reads("a") == reads("abcd") == 1


def _on_nodes(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, nodes: Any, **address: Any) -> None:
    ensure: Callable[..., Any] = engine.ensure_gateway
    monkeypatch.setattr(engine, "gateways", lambda: nodes)
    monkeypatch.setattr(engine, "ensure_gateway", lambda spec: replace(ensure(spec), nodes=frozenset(nodes), **address))


def test_a_drained_node_is_not_reported_as_trouble(
    engine: MemoryEngine, project: Project, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BERTH_GATEWAY_ON_EACH_NODE = True
    nodes = {"a": engine.gateway(), "b": Silent()}
    with monkeypatch.context() as patch:
        _on_nodes(engine, patch, nodes)
        look_after_gateway()
        assert "1 (b)" in describe_trouble()
    _on_nodes(engine, monkeypatch, nodes, without=frozenset("b"))
    look_after_gateway()
    assert describe_trouble() == ""


def test_the_read_position_of_a_node_is_removed_with_it(
    engine: MemoryEngine, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    _on_nodes(engine, monkeypatch, {"a": engine.gateway(), "b": engine.gateway()})
    look_after_gateway()
    _on_nodes(engine, monkeypatch, {"b": engine.gateway()})
    look_after_gateway()
    kept = set(Gateway.objects.values_list("pk", flat=True))
    assert (row_of("a") in kept, row_of("b") in kept, row_of("") in kept) == (False, True, True)
