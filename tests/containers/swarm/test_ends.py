"""While a living node runs the former container, no second one is started and no removal is reported."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings

from containers.docker_api.client import Connection
from containers.errors import EngineUnavailableError
from containers.swarm.services import verbs
from containers.swarm.services.secrets import Secrets
from containers.swarm.services.services import Services
from containers.swarm.services.verbs import Verbs
from containers.vocabulary import Observation
from tests.containers.swarm.manager import Manager, manager
from tests.containers.swarm.test_tasks import service, task

LABELS = {"berth.instance": settings.BERTH_INSTANCE, "berth.project": "x"}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    monkeypatch.setattr(verbs, "STOP_MARGIN", 0.0)
    monkeypatch.setattr(verbs, "_ASK_EVERY", 0.01)
    with manager(monkeypatch) as found:
        found.rows = {"nodes": [_node("ready")], "tasks": [_task("running")]}
        yield found


def _node(state: str) -> dict[str, Any]:
    return {"ID": "n1", "Spec": {"Availability": "active"}, "Status": {"State": state, "Addr": "10.0.0.1"}}


def _task(state: str, *, grace: float = 0.2) -> dict[str, Any]:
    container = {"Labels": LABELS, "StopGracePeriod": int(grace * 1e9)}
    return {**task(1, state, desired="remove"), "ServiceID": "s", "Spec": {"ContainerSpec": container}}


def _make(lost: frozenset[str] = frozenset()) -> Verbs:
    connection = Connection()
    return Verbs(connection, Services(connection), Secrets(connection), lambda: lost)


@pytest.mark.parametrize(
    "act", [lambda made: made.remove_key("x", volumes=False), lambda made: made.await_removed("x")]
)
def test_a_removal_waits_each_time_until_the_container_is_gone(fake: Manager, act: Callable[[Verbs], None]) -> None:
    made = _make(frozenset({"n1"}))  # it does not answer us, and the Swarm hears of it
    for _ in range(2):
        with pytest.raises(EngineUnavailableError):
            act(made)
    fake.rows["tasks"] = [_task("shutdown")]
    act(made)
    fake.rows |= {"tasks": [_task("running")], "nodes": [_node("down")]}
    act(made)


def test_the_tasks_of_a_service_that_is_there_are_not_waited_for(fake: Manager) -> None:
    fake.rows["services"] = [{"ID": "s"}]
    _make().await_removed("x")


def test_a_deploy_ignores_only_tasks_that_the_swarm_gave_up(fake: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Services, "hold", lambda *args: None)
    monkeypatch.setattr(Services, "empty", lambda *args: None)
    found = service(task(1, "running"))
    monkeypatch.setattr(Services, "look_up", lambda *args: found)

    def stop() -> Observation | None:
        return _make(frozenset({"n1"})).stop(found, timeout=0, leave_lost=True)

    with pytest.raises(EngineUnavailableError):
        stop()
    fake.rows["nodes"] = [_node("down")]
    assert stop()
