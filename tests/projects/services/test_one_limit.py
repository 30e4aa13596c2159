"""Everything that a command waits for has one limit, so that its answer comes within 30 seconds: time used for one
server is missing for the next."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.outbound.call_limits import seconds_left
from projects.models import Project
from projects.services import operations
from projects.services.commands import creation
from projects.services.credentials import provider_choice
from tests.clients import browser_of
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import path_of

pytestmark = pytest.mark.one_database


@pytest.fixture
def left(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> dict[str, float | None]:
    """The seconds that each server had when it was called."""
    noted: dict[str, float | None] = {}

    def noting(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted_call(*args: Any, **options: Any) -> Any:
            noted[name] = seconds_left()
            return call(*args, **options)

        return noted_call

    for service in (creation, provider_choice):
        monkeypatch.setattr(service, "verify_credentials", noting("outside", service.verify_credentials))
    monkeypatch.setattr(engine, "deploy", noting("engine", engine.deploy))
    return noted


def in_time(left: dict[str, float | None]) -> bool:
    outside, engine = left.get("outside"), left.get("engine")
    return outside is not None and engine is not None and engine < outside < operations.ANSWER_WITHIN


def test_a_deploy(api: APIClient, left: dict[str, float | None]) -> None:
    assert api.post("/api/projects", PROJECT, format="json").status_code == 201
    assert in_time(left)


def test_a_change_and_its_restart_share_one_time_limit(
    api: APIClient, project: Project, left: dict[str, float | None]
) -> None:
    left.clear()
    changed = api.patch(f"/api/projects/{project.pk}?restart=true", {"apiKey": "sk-another"}, format="json")
    assert changed.status_code == 200, changed.json()
    assert in_time(left)


def test_a_change_and_its_restart_by_the_page_share_one_time_limit(
    project: Project, left: dict[str, float | None]
) -> None:
    browser, page = browser_of(project.owner), path_of(project, "/change")
    shown = browser.get(page).context["form"].initial
    left.clear()
    changed = browser.post(page, {**shown, "api_key": "sk-another", "restart": "on"})
    assert changed.status_code == 302, changed.content.decode()
    assert in_time(left)


def test_a_dry_run_has_one_time_limit(api: APIClient, left: dict[str, float | None]) -> None:
    assert api.post("/api/projects/validate", PROJECT, format="json").status_code == 200
    outside = left["outside"]
    assert outside is not None
    assert outside < operations.ANSWER_WITHIN
