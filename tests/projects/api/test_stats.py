"""GET /api/projects/{id}/stats."""

from dataclasses import fields

import pytest
from rest_framework.test import APIClient

from containers.vocabulary import Usage
from projects.api.serializers.stats import UsageSerializer
from projects.models import Project
from tests.fakes.engine import MemoryEngine


def test_stats_show_the_resources_that_the_agent_uses(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    assert api.get(f"/api/projects/{project.id}/stats").json() == {
        "cpu_percent": 1.5,
        "memory": 48 << 20,
        "memory_limit": 256 << 20,
        "network_received": 2048,
        "network_sent": 1024,
        "pids": 3,
    }
    engine.exit(project.container_name)
    assert set(api.get(f"/api/projects/{project.id}/stats").json().values()) == {None}


@pytest.mark.one_database
def test_the_answer_has_all_that_an_engine_measures() -> None:
    assert set(UsageSerializer().fields) == {field.name for field in fields(Usage)}
