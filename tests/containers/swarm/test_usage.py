"""What an agent on another node uses, and the reason if nobody measures it there."""

from collections.abc import Iterator
from typing import Any

import pytest

from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.gateway.transport import NOT_THERE
from containers.identity import own_labels
from containers.swarm.nodes.nodes import Node
from containers.swarm.observation.usage import Usages
from containers.swarm.services.services import Services
from tests.containers.swarm.manager import Manager, manager
from tests.containers.swarm.test_node_gateways import node
from tests.fakes.messages import Answer

pytestmark = pytest.mark.one_database

KEY, CONTAINER = "11111111-1111-4111-8111-111111111111", "c1" * 32


class NodesGateway:
    """A fake gateway that answers with `says`, or not at all if that is empty."""

    def __init__(self, says: str) -> None:
        self.says = says
        self.heard: list[bytes] = []

    def exchange(self, line: bytes, *, within: float) -> bytes:
        self.heard.append(line)
        if not self.says:
            raise EngineUnavailableError(NOT_THERE)
        return self.says.encode()

    def prepare(self, *, within: float) -> None:
        """There is nothing to prepare."""


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    """The agent runs on n2, and Berth talks to n1."""
    with manager(monkeypatch) as found:
        found.rows["nodes"] = [node(1), node(2)]
        found.bodies["/info"] = Answer.json(200, {"Swarm": {"NodeID": "n1"}})
        spec = {"Name": "a", "Labels": {**own_labels(), "berth.project": KEY}, "TaskTemplate": {}, "Mode": {}}
        at = "2026-01-01T00:00:00Z"
        found.rows["services"] = [{"ID": "s1", "Version": {"Index": 1}, "CreatedAt": at, "Spec": spec}]
        status = {"State": "running", "Timestamp": at, "ContainerStatus": {"ContainerID": CONTAINER}}
        task = {"ID": "t1", "ServiceID": "s1", "NodeID": "n2", "CreatedAt": at, "DesiredState": "running"}
        found.rows["tasks"] = [{**task, "Status": status, "Spec": {}}]
        yield found


def usages(gateway: NodesGateway, *, lost: frozenset[str] = frozenset()) -> Usages:
    asked: list[Node] = []

    def way_to(node: Node) -> Any:
        asked.append(node)
        assert node.node_id == "n2"
        return gateway

    connection = Connection()
    return Usages(connection, Services(connection), way_to, lambda: lost)


COUNTERS = (
    '{"read": "2026-01-01T00:01:40Z", "memory_stats": {"usage": 5000, "limit": 9000, "stats": {"inactive_file": 1000}},'
    ' "cpu_stats": {"cpu_usage": {"total_usage": 10000000000}}, "pids_stats": {"current": 3}}'
)


def test_the_gateway_of_its_node_says_what_an_agent_uses(swarm: Manager) -> None:
    gateway = NodesGateway(f'{{"ok": true, "counters": {COUNTERS}}}')
    usage = usages(gateway).of_key(KEY)
    assert usage
    assert (usage.memory, usage.memory_limit, usage.pids, usage.cpu_percent) == (4000, 9000, 3, 10.0)
    assert (usage.network_received, usage.network_sent) == (None, None)
    assert KEY.encode() in gateway.heard[0]
    assert CONTAINER.encode() in gateway.heard[0]
    assert usages(gateway).of_id("s1") == usage


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("", "the gateway of its node host2 does not answer"),
        ('{"ok": true, "counters": null}', "its node host2 has no control group"),
        ('{"ok": false, "error": "This gateway does not measure agents."}', "does not measure"),
    ],
)
def test_it_is_said_why_nobody_knows_it(swarm: Manager, says: str, told: str) -> None:
    with pytest.raises(EngineRefusedError, match=told):
        usages(NodesGateway(says)).of_key(KEY)


def test_a_lost_node_is_not_asked(swarm: Manager) -> None:
    gateway = NodesGateway("")
    with pytest.raises(EngineRefusedError, match="host2 does not answer"):
        usages(gateway, lost=frozenset({"n2"})).of_key(KEY)
    assert gateway.heard == []


def test_without_gateways_nobody_measures_there(swarm: Manager, settings: Any) -> None:
    settings.BERTH_GATEWAY = False
    with pytest.raises(EngineRefusedError, match="without gateways"):
        usages(NodesGateway("")).of_key(KEY)


def test_an_agent_that_does_not_run_uses_nothing(swarm: Manager) -> None:
    swarm.rows["tasks"][0]["Status"]["State"] = "shutdown"
    assert usages(NodesGateway("")).of_key(KEY) is None
