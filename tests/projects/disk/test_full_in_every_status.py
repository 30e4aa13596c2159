"""A full agent in every possible status, with every verb: nothing runs without room."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineUnavailableError
from containers.vocabulary import Health
from projects.models import Event, Project
from projects.rules.status.lifecycle import Action, Operation
from projects.rules.status.statuses import Status
from projects.watcher.reconcile.full import reconcile
from projects.watcher.upkeep.disk import measure_disks
from tests.deploying import deploy_project
from tests.fakes.engine import MemoryEngine
from tests.projects.disk.measuring import keep
from tests.sampling import Some

Prepare = Callable[[Project, MemoryEngine, APIClient], object]


def control(api: APIClient, project: Project, action: str) -> Any:
    return api.post(f"/api/projects/{project.pk}/control", {"action": action})


def in_flight(operation: Operation) -> Prepare:
    held = {"operation": operation, "operation_id": uuid4()}
    return lambda project, engine, api: Project.objects.update(
        **held, operation_deadline=timezone.now() + timedelta(seconds=30)
    )


def give_up(project: Project, engine: MemoryEngine, api: APIClient) -> None:
    engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()


def vanish_twice(project: Project, engine: MemoryEngine, api: APIClient) -> None:
    Project.objects.update(failure_code="vanished", failed_at=timezone.now())
    engine.vanish(project.container_name)


PREPARED: dict[Status, Prepare] = {
    Status.DEPLOYING: in_flight(Operation.DEPLOY),
    Status.STARTING: lambda project, engine, api: engine.set_health(project.container_name, Health.STARTING),
    Status.RUNNING: lambda project, engine, api: None,
    Status.DEGRADED: lambda project, engine, api: engine.report(project.container_name, "degraded", "provider_key"),
    Status.RESTARTING: in_flight(Operation.RESTART),
    Status.STOPPING: in_flight(Operation.STOP),
    Status.STOPPED: lambda project, engine, api: control(api, project, "stop"),
    Status.CRASHED: give_up,
    Status.FAILED: vanish_twice,
    Status.SUSPENDED: lambda project, engine, api: Project.objects.update(suspended_at=timezone.now()),
    Status.UNKNOWN: lambda project, engine, api: None,
    Status.DELETING: lambda project, engine, api: Project.objects.update(desired="deleted"),
}
"""How an agent gets into each status. The case of a silent engine follows below."""

Verb = Callable[[Project, APIClient], Any]


def command(action: str) -> Verb:
    return lambda project, api: control(api, project, action)


VERBS: dict[str, Verb] = {
    **{str(action): command(action) for action in Action},
    "patch": lambda project, api: api.patch(path_of(project), {"name": "Renamed"}),
    "patch and restart": lambda project, api: api.patch(f"{path_of(project)}?restart=true", {"name": "Renamed"}),
    "delete": lambda project, api: api.delete(path_of(project)),
    "clear": lambda project, api: api.delete(f"{path_of(project)}/memory"),
    "read": lambda project, api: api.get(path_of(project)),
    "round": lambda project, api: reconcile(),
    "measure": lambda project, api: measure_disks(),
}


def act(verb: str, project: Project, api: APIClient) -> int:
    """Returns the HTTP status of the response; 0 if there is no response."""
    try:
        return getattr(VERBS[verb](project, api), "status_code", 0)
    except EngineUnavailableError:
        assert verb in {"round", "measure"}
        return 0


def path_of(project: Project) -> str:
    return f"/api/projects/{project.pk}"


def test_every_status_and_every_verb_is_tried() -> None:
    assert PREPARED.keys() == set(Status)
    assert set(Action.values) < set(VERBS)


CELLS = [(status, False) for status in Status] + [(Status.RUNNING, True)]
"""The last value says whether the engine is silent during the verb."""


@pytest.mark.sampled(4)
@pytest.mark.one_database
@pytest.mark.parametrize(("status", "silent"), CELLS, ids=str)
def test_nothing_runs_that_has_no_room(
    status: Status, silent: bool, some: Some, api: APIClient, engine: MemoryEngine
) -> None:
    """A run takes a third of the verbs, and another third for the next status."""
    for verb in some(VERBS, one_in=3, first=CELLS.index((status, silent))):
        where = f"{status}, {verb}"
        Project.objects.all().delete()
        engine.reset()
        project = deploy_project(api)
        PREPARED[status](project, engine, api)
        keep(engine, project, 1.5)
        measure_disks()
        engine.unavailable = silent or status == Status.UNKNOWN
        code = act(verb, project, api)
        assert code < 500 or engine.unavailable, where
        assert code in {0, 200, 202, 204, 409, 503}, where
        engine.unavailable = False
        Project.objects.update(suspended_at=None)
        Project.objects.exclude(operation="").update(operation_deadline=timezone.now() - timedelta(seconds=1))
        for _ in range(2):
            measure_disks()
            reconcile()
        left = Project.objects.filter(pk=project.pk).first()
        if left is None:
            assert verb == "delete" or status == Status.DELETING, where
            continue
        is_empty = project.container_key not in engine.disks
        container = engine.containers.get(project.container_name)
        runs = container is not None and container.is_up
        assert left.operation == "", where
        assert not runs or is_empty, where
        assert is_empty <= (verb == "clear"), where
        shown = api.get(f"/api/projects/{project.pk}").json()
        assert shown["status"] in ({"running", "stopped"} if is_empty else {"failed", "stopped"}), where
        if shown["status"] == "failed":
            assert shown["status_reason"]["code"] == "disk_full", where
            assert control(api, project, "start").json()["code"] == "disk_full", where
        assert Event.objects.filter(project_id=project.pk, action="disk", outcome="full").count() <= 2, where
