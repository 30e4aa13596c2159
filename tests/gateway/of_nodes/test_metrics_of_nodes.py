"""`/metrics` agrees with the API and with the Swarm at each step of a node that is killed and comes back."""

import time
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from containers.programs import is_root
from projects.services.limits.capacity import learn_host_memory
from projects.watcher.leader import beat, become_leader
from projects.watcher.reconcile.full import reconcile
from tests.config.metrics.reading import scrape
from tests.containers.swarm.cluster import SwarmNode
from tests.gateway.of_nodes.fleet import Fleet, fleet, report
from tests.gateway.of_nodes.world import run_node_script

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.django_db,
    pytest.mark.rare(24),
    pytest.mark.timeout(900),
    pytest.mark.skipif(not is_root(), reason="takes the right to make networks"),
]
PATIENCE = 180.0

Numbers = Mapping[str, float]


class Observer:
    """Looks as the watcher does, and compares what is said at the same time."""

    def __init__(self, ships: Fleet) -> None:
        self.ships = ships
        self.statuses: list[str] = []
        self.compared = 0

    def look(self) -> Numbers:
        """Returns what the metrics say of the nodes, which is right at this moment."""
        self.ships.watch()
        assert become_leader("the watcher")
        beat("the watcher", reconcile().at)
        before = self.nodes_are_ready()
        learn_host_memory(at_once=True)
        listed, told, after = self.list_statuses(), scrape(), self.nodes_are_ready()
        up = {each.labels["node"]: each.value for each in told.samples if each.name == "berth_engine_up"}
        assert up.keys() == before.keys()
        assert not [name for name in up if up[name] not in {before[name], after[name]}], (before, up, after)
        if listed == self.list_statuses():  # otherwise it changed in between
            assert told.by("berth_projects", "status") == listed
            self.compared += 1
        self.statuses += [status for status in listed if self.statuses[-1:] != [status]]
        return up

    def look_until(self, condition: Callable[[Numbers], bool]) -> float:
        began = time.monotonic()
        while not condition(self.look()):
            assert time.monotonic() < began + PATIENCE, (self.statuses, self.ships.describe())
        return time.monotonic() - began

    def list_statuses(self) -> Counter[str]:
        return Counter(project["status"] for project in self.ships.api.get("/api/projects").json())

    def nodes_are_ready(self) -> Numbers:
        rows = self.ships.cluster.manager.client.nodes()
        return {row["Description"]["Hostname"]: float(row["Status"]["State"] == "ready") for row in rows}


def test_metrics_agree_with_the_api_while_a_node_is_dead_and_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with fleet(monkeypatch, heartbeat=1.0) as ships:
        manager = ships.cluster.manager
        ships.cluster.set_availability(manager, "drain")
        project = ships.deploy()
        ships.answers("ahoy", within=PATIENCE)
        observer, dead = Observer(ships), ships.node_of(project)
        assert set(observer.look().values()) == {1.0}
        ships.cluster.kill(dead)
        took = observer.look_until(lambda up: up[dead.name] == 0 and is_elsewhere(observer, dead))
        report(f"down, and its agent elsewhere, {took:.1f} s after it was killed; statuses: {observer.statuses}")
        assert observer.statuses[-1] == "running"
        assert "unknown" in observer.statuses or "restarting" in observer.statuses
        ships.cluster.revive(dead)
        run_node_script(dead)
        took = observer.look_until(lambda up: set(up.values()) == {1.0})
        report(f"up {took:.1f} s after its engine was back; {observer.compared} comparisons")
        assert observer.compared


def is_elsewhere(observer: Observer, dead: SwarmNode) -> bool:
    ships = observer.ships
    return observer.statuses[-1] == "running" and ships.node_of(ships.project) is not dead
