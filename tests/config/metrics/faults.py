"""The fault of each alert, and how to cause it in a service with an agent. Counters count one minute of it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta

import requests
from django.db import OperationalError, connection
from django.test import RequestFactory
from rest_framework.test import APIClient

from accounts import clock
from config.metrics.requests import note_request
from config.metrics.shared import begin_to_count
from containers.docker_api.counted_requests import send_counted
from containers.errors import EngineRefusedError
from projects.models import Project, Watch
from projects.services.alerts.service_notifications import note_service
from projects.services.limits.capacity import learn_host_memory
from projects.watcher.leader import beat, become_leader
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.counting import read


@dataclass(frozen=True)
class Scene:
    api: APIClient
    project: Project
    engine: MemoryEngine

    def look(self) -> None:
        """Runs a round of the watcher."""
        assert become_leader("the watcher")
        beat("the watcher", reconcile().at)

    def grow_old(self) -> None:
        """Nothing was checked for a minute."""
        long_ago = clock.now() - timedelta(minutes=1)
        Watch.objects.update(heartbeat_at=long_ago, lease_until=long_ago)
        Project.objects.update(observed_at=long_ago, updated_at=long_ago)

    @contextmanager
    def without_database(self) -> Iterator[None]:
        def refuse(*_: object) -> None:
            raise OperationalError("connection refused")

        with connection.execute_wrapper(refuse):
            yield


def silence_engine(scene: Scene) -> None:
    scene.engine.unavailable = True
    scene.grow_old()
    note_service()


def lose_node(scene: Scene) -> None:
    """The manager of a Swarm no longer hears from a node that it heard from before."""
    scene.engine.nodes = {"node1": True, "node2": False}
    learn_host_memory(at_once=True)


def lack_firewall(scene: Scene) -> None:
    Watch.objects.update(firewall_warning="iptables is not installed here.")
    note_service()


def crash(scene: Scene) -> None:
    Project.objects.update(observed_at=clock.now() - timedelta(seconds=1))
    scene.engine.crash(scene.project.container_name, exit_code=137, restarting=True)
    scene.look()


def refuse_start(scene: Scene) -> None:
    path = f"/api/projects/{scene.project.pk}/control"
    assert scene.api.post(path, {"action": "stop"}).status_code == 200
    scene.engine.fail("deploy", EngineRefusedError("no room"))
    assert scene.api.post(path, {"action": "start"}).status_code == 502


def fail_engine(scene: Scene) -> None:
    def send() -> requests.Response:
        raise requests.ConnectionError

    for _ in range(3):
        try:
            send_counted("GET", "http://engine/v1.41/containers/json", send)
        except requests.ConnectionError:
            continue


def answer_errors(scene: Scene) -> None:
    with scene.without_database():
        assert scene.api.get("/api/projects").status_code == 503


def be_slow(scene: Scene) -> None:
    for _ in range(20):
        note_request(RequestFactory().get("/"), status=200, seconds=2.0)


def fail_models(scene: Scene) -> None:
    scene.engine.gateway_program.use(str(scene.project.pk), model="gpt", requests=10, errors=9)
    read(scene.engine)


FAULTS: dict[str, Callable[[Scene], object]] = {
    "BerthEngineDown": silence_engine,
    "BerthNodeDown": lose_node,
    "BerthWatcherSilent": Scene.grow_old,
    "BerthServiceTrouble": lack_firewall,
    "BerthProjectsUnknown": silence_engine,
    "BerthAgentsCrash": crash,
    "BerthOperationsFail": refuse_start,
    "BerthEngineFails": fail_engine,
    "BerthErrors": answer_errors,
    "BerthSlow": be_slow,
    "BerthModelCallsFail": fail_models,
    "BerthProcessesRestart": lambda _: begin_to_count("web"),
}
DURING: dict[str, Callable[[Scene], AbstractContextManager[None]]] = {"BerthDatabaseDown": Scene.without_database}
"""Faults that last while /metrics is requested."""


def during(alert: str, scene: Scene) -> AbstractContextManager[None]:
    return DURING[alert](scene) if alert in DURING else nullcontext()
