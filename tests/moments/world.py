"""The subject of a reader of a stored moment: a running agent of Alice's."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Project
from tests.deploying import deploy_project
from tests.fakes.engine import MemoryEngine

LONG_AGO: datetime = timezone.now() - timedelta(days=3)


@dataclass
class World:
    api: APIClient
    owner: User
    engine: MemoryEngine
    id: Any

    @property
    def path(self) -> str:
        return f"/api/projects/{self.id}"

    @property
    def rows(self) -> "QuerySet[Project]":
        return Project.objects.filter(pk=self.id)

    @property
    def name(self) -> str:
        return self.project().container_name

    def project(self) -> Project:
        return Project.objects.with_heartbeat().get(pk=self.id)

    def status(self) -> str:
        return str(self.api.get(self.path).json()["status"])

    def deploy(self, **fields: Any) -> Any:
        return deploy_project(self.api, **fields).pk
