"""Without a watcher, no read trusts the engine's list about facts that it may hide."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.projects.hidden_changes import CHANGES

READS = ("/api/projects", "/api/projects?sort=name", "/api/projects/{}")
HAS_TO_DIFFER = set(CHANGES) - {"drifted", "starting"}
"""The others cannot be seen in any status."""


def read(api: APIClient, project: Project) -> list[tuple[str, Any]]:
    """What each read says about the project now, long after the last look at it."""
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=1))
    told = []
    for path in READS:
        answer = api.get(path.format(project.pk)).json()
        detail = answer if isinstance(answer, dict) else next(each for each in answer if each["id"] == str(project.pk))
        told.append((detail["status"], (detail.get("status_reason") or {}).get("code")))
    return told


@pytest.mark.one_database
@pytest.mark.parametrize("change", CHANGES)
def test_a_container_missing_from_the_engine_s_list_is_inspected(
    change: str, api: APIClient, deploy: Any, engine: MemoryEngine
) -> None:
    project, other = deploy(), deploy(telegramToken="999:another")
    well = read(api, project)
    engine.fill_disk()
    CHANGES[change](engine, project.container_name)
    hidden = read(api, project)
    assert (hidden != well) is (change in HAS_TO_DIFFER)
    assert read(api, other) == well
    engine.free_disk()
    assert hidden == read(api, project)


def test_only_the_container_without_an_answer_is_unknown(api: APIClient, deploy: Any, engine: MemoryEngine) -> None:
    project, other = deploy(), deploy(telegramToken="999:another")
    engine.silence_container(project.container_name)
    assert {status for status, _ in read(api, project)} == {"unknown"}
    assert {status for status, _ in read(api, other)} == {"running"}
