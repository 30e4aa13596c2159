"""`deploy_project`, with which most tests begin, makes the same as the API."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from rest_framework.test import APIClient

from projects.models import Event, Installation, Project
from projects.models.processes.engine_host import EngineHost
from tests.deploying import PROJECT, create_project, deploy_project
from tests.fakes.engine import MemoryEngine


def rows(project: Project) -> Any:
    """Returns all rows, without values that no two projects share."""

    def shared(name: str, value: Any) -> Any:
        differs = name in {"id", "container_id"} or "ciphertext" in name or isinstance(value, datetime | UUID)
        return type(value).__name__ if differs else str(value).replace(str(project.pk), "…")

    return [
        [{name: shared(name, value) for name, value in row.items()} for row in model._default_manager.values()]
        for model in apps.get_app_config("projects").get_models()
    ]


def container(project: Project, engine: MemoryEngine) -> Any:
    made = engine.containers[project.container_name]
    told = str((made.spec, made.labels, sorted(engine.volumes))).replace(str(project.pk), "…").replace(made.name, "…")
    return told, engine.secrets_of(made.name), made.state, [verb for verb, _ in engine.calls]


@pytest.mark.one_database
@pytest.mark.parametrize("fields", [{}, {"name": "Other", "plan": "free", "settings": {"model": "small-1"}}])
def test_the_service_creates_the_same_as_the_api(
    api: APIClient, engine: MemoryEngine, fields: dict[str, Any], settings: Any
) -> None:
    settings.BERTH_GATEWAY = False  # whose credentials are random
    by_api = create_project(api, PROJECT | fields)
    expected = (rows(by_api), container(by_api, engine))
    by_api.delete()
    Event.objects.all()._raw_delete("default")
    Installation.objects.update(next_uid=None)
    EngineHost.objects.all().delete()
    engine.reset()
    by_service = deploy_project(api, **fields)
    assert (rows(by_service), container(by_service, engine)) == expected
