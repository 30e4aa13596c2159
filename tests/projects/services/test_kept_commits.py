"""A database that loses power knows at least as much as the engine, so that repairs are not stopped."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.database import durability
from projects.models import Project
from tests.fakes.engine import MemoryEngine


class Kept:
    """Replaces the backend: records which generations would survive a power cut."""

    def __init__(self) -> None:
        self.generations: dict[str, int] = {}

    def keep_commits(self) -> None:
        self.generations = {str(pk): number for pk, number in Project.objects.values_list("pk", "generation")}


def test_no_container_is_created_for_a_generation_that_a_power_cut_could_undo(
    api: APIClient, project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept()
    unknown: list[tuple[str, int]] = []
    monkeypatch.setattr(durability, "connection", kept)

    def look() -> None:
        now = {str(pk): number for pk, number in Project.objects.values_list("pk", "generation")}
        unknown.extend(set(now.items()) - set(kept.generations.items()))

    engine.slow("deploy", look)
    body: dict[str, Any] = {"name": "Second", "telegramToken": "77:AAabcdefghij0123456789", "apiKey": "sk-0123456789"}
    assert api.post("/api/projects", body).status_code == 201
    for action in ("stop", "start", "restart"):
        assert api.post(f"/api/projects/{project.pk}/control", {"action": action}).status_code == 200
    assert api.patch(f"/api/projects/{project.pk}?restart=true", {"name": "New"}).status_code == 200
    assert len(kept.generations) == 2
    assert unknown == []
