"""The requests of the tests of the capacity."""

from typing import Any

from rest_framework.test import APIClient

from projects.models import Actor, Project

STAFF = Actor(label="sam@example.com", source="admin")
MIB = 1 << 20


def send(api: APIClient, project: Project, action: str) -> Any:
    return api.post(f"/api/projects/{project.pk}/control", {"action": action})
