"""Rows of projects in many statuses, as copies of one."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.utils import timezone

from projects.models import Project

KINDS: dict[str, dict[str, Any]] = {
    "well": {},
    "stopped": {"desired": "stopped", "container_state": "exited", "exit_code": 0},
    "crashed": {"container_state": "exited", "exit_code": 20, "gave_up_at": timezone.now()},
    "failed": {"container_state": "", "failure_code": "image_missing"},
    "suspended": {"container_state": "exited", "suspended_at": timezone.now()},
    "starting": {"health": "starting", "agent_state": "starting"},
    "degraded": {"health": "unhealthy"},
    "deploying": {"operation": "deploy", "container_state": ""},
    "deleting": {"desired": "deleted", "operation": "delete"},
}
NAMES = ("Zoe", "ärger", "Ärger 2", "100%", "a_b", "STRASSE", "straße", "x", "X")


def twin(project: Project, now: Any, number: int, kind: str) -> Project:
    values = {
        "pk": uuid4(), "bot_id": None, "uid": None, "address": None, "name": NAMES[number % len(NAMES)],
        "bot_username": f"Pilot{number}_bot", "observed_at": now, "health": "healthy", "container_state": "running",
        "agent_state": "running", "created_at": now - timedelta(minutes=number // 2), "is_behind_gateway": False,
        "updated_at": now - timedelta(seconds=number * 7 % 5), "operation_id": None, "operation_deadline": None,
    } | KINDS[kind]  # fmt: skip
    if values.get("operation"):
        values |= {"operation_id": uuid4(), "operation_deadline": now + timedelta(seconds=30)}
    found = Project.objects.get(pk=project.pk)
    for name, value in values.items():
        setattr(found, name, value)
    found._state.adding = True
    return found
