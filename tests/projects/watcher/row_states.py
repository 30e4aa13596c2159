"""Rows and containers in every state that a round may find."""

import copy
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product
from typing import Any
from uuid import uuid4

from containers.identity import container_name
from containers.vocabulary import PROJECT_LABEL, AgentReport, ContainerState, Health
from projects.models import Project
from projects.rules.status.lifecycle import UNPROTECTED, Desired, Operation
from tests.fakes.engine import MemoryEngine
from tests.fakes.memory_container import MemoryContainer

LONG = timedelta(minutes=30)
SOON = timedelta(seconds=20)


def row_states(now: datetime) -> Iterator[dict[str, Any]]:
    """Yields every meaningful state of a row: its desired state, holds, operations, observations and oddities."""
    held: list[dict[str, Any]] = [
        {},
        {"suspended_at": now},
        {"gave_up_at": now},
        {"failure_code": "image_missing"},
        {"failure_code": "bot_claimed"},
        {"failure_code": UNPROTECTED},
    ]
    operations: list[dict[str, Any]] = [
        {},
        *(
            {"operation": Operation.START, "operation_id": uuid4(), "operation_deadline": now + until}
            for until in (SOON, -SOON)
        ),
    ]
    known: list[dict[str, Any]] = [
        {"container_state": "", "container_id": "", "health": Health.NONE, "agent_state": ""},
        {"container_state": "", "container_id": "", "health": Health.HEALTHY},
        {"container_state": "", "health": Health.NONE},
        {"container_state": ContainerState.RUNNING, "health": Health.HEALTHY, "agent_state": "running"},
        {"container_state": ContainerState.RUNNING, "health": Health.UNHEALTHY, "agent_state": "degraded"},
        {"container_state": ContainerState.RUNNING, "health": Health.NONE, "agent_state": "running"},
        {"container_state": ContainerState.RUNNING, "health": Health.NONE, "agent_state": "", "started_at": now - LONG},
        {"container_state": ContainerState.EXITED, "health": Health.UNHEALTHY, "exit_code": 1},
    ]
    odd: list[dict[str, Any]] = [
        {},
        {"reconcile_failures": 1},
        {"reconcile_again_at": now + SOON},
        {"updated_at": now + LONG},
        {"crash_count": 5},
        {"generation": 7},
    ]
    for values in product([{"desired": each} for each in Desired], held, operations, known, odd):
        yield {name: value for each in values for name, value in each.items()}


CONTAINERS: dict[str, dict[str, Any]] = {
    "healthy": {},
    "unhealthy": {"health": Health.UNHEALTHY},
    "starting": {"health": Health.STARTING},
    "no health check": {"health": Health.NONE},
    "degraded since the last check": {"has_reported": True, "report": AgentReport(state="degraded")},
    "exited": {"state": ContainerState.EXITED, "exit_code": 1, "health": Health.UNHEALTHY},
    "created": {"state": ContainerState.CREATED, "health": Health.NONE},
    "paused": {"state": ContainerState.PAUSED},
    "restarting": {"state": ContainerState.RESTARTING, "exit_code": 1, "health": Health.UNHEALTHY},
    "dead": {"state": ContainerState.DEAD, "exit_code": 1},
    "removing": {"state": ContainerState.REMOVING},
    "another one": {"container_id": "f" * 64},
    "moved": {"has_drifted": True},
    "silent": {"is_silent": True},
}


NO_CONTAINER = "none"


def add_rows(template: Project, states: list[dict[str, Any]]) -> list[Project]:
    made = []
    for state in states:
        each = copy.copy(template)
        each._state = copy.copy(template._state)
        each.pk, each.uid, each.bot_id, each.address = uuid4(), None, None, None
        for name, value in state.items():
            setattr(each, name, value)
        made.append(each)
    return Project.objects.bulk_create(made, batch_size=500)


def make_container(engine: MemoryEngine, template: Project, project: Project, kind: str) -> MemoryContainer:
    container = copy.copy(engine.containers[template.container_name])
    container.labels = {**container.labels, PROJECT_LABEL: project.container_key}
    container.name = container_name(project.container_key)
    for name, value in CONTAINERS[kind].items():
        setattr(container, name, value)
    return container
