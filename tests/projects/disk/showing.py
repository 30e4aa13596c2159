"""What owners see of a project."""

from typing import Any

from rest_framework.test import APIClient

from projects.models import Project


def shown(api: APIClient, project: Project) -> Any:
    return api.get(f"/api/projects/{project.pk}").json()
