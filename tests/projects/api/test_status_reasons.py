"""The reason and the end of the log in GET /api/projects/{id} for a crashed project."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from rest_framework.test import APIClient

from projects.models import Project
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine


@pytest.mark.parametrize("code", ["bad_configuration", "memory_unreadable"])
def test_only_a_missing_credential_is_to_be_set_again(
    project: Project, api: APIClient, engine: MemoryEngine, code: str
) -> None:
    engine.report(project.container_name, "failed", code)
    engine.crash(project.container_name, exit_code=40)
    later(project)
    detail = api.get(f"/api/projects/{project.id}").json()
    assert (detail["status"], detail["status_reason"]["code"]) == ("crashed", code)
    assert "again, then start" not in detail["status_reason"]["message"]
    assert "token" not in detail["status_reason"]["message"]


@pytest.mark.parametrize(
    ("exit_code", "oom", "status", "code"),
    [(20, False, "crashed", "telegram_token"), (137, True, "restarting", "out_of_memory"), (0, False, None, "exited")],
)
def test_the_detail_shows_the_reason(
    project: Project,
    api: APIClient,
    engine: MemoryEngine,
    exit_code: int,
    oom: bool,
    status: str | None,
    code: str,
) -> None:
    engine.crash(project.container_name, exit_code=exit_code, oom=oom, restarting=status == "restarting")
    later(project)
    detail = api.get(f"/api/projects/{project.id}").json()
    assert detail["status"] == (status or "crashed")
    reason = detail["status_reason"]
    assert set(reason) == {"code", "message", "exit_code", "oom_killed", "at", "log_tail"}
    assert (reason["code"], reason["exit_code"], reason["oom_killed"]) == (code, exit_code, oom)
    assert reason["at"].endswith("Z")


def test_a_well_project_has_no_reason(project: Project, api: APIClient) -> None:
    assert api.get(f"/api/projects/{project.id}").json()["status_reason"] is None


LINES: dict[str, str] = {
    "a NUL": "before \x00 after",
    "an escape": "\x1b[31mred\x1b[0m",
    "half a pair": "broken \ufffd",
    "very long": "x" * 10_000,
    "line separators": "a\u2028b\x0bc",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_the_end_of_the_log_is_kept_for_any_output(
    project: Project, deploy: Callable[..., Project], api: APIClient, engine: MemoryEngine, line: str
) -> None:
    other = deploy(telegramToken="5:other")
    engine.log(project.container_name, line)
    for crashed in (project, other):
        engine.crash(crashed.container_name, exit_code=20)
    reconcile()
    for crashed in (project, other):
        detail = api.get(f"/api/projects/{crashed.id}").json()
        assert (detail["status"], detail["status_reason"]["code"]) == ("crashed", "telegram_token")
    tail = api.get(f"/api/projects/{project.id}").json()["status_reason"]["log_tail"]
    assert tail
    assert "\x00" not in "".join(tail)


def test_a_crash_is_noted_though_the_secrets_cannot_be_read(
    project: Project, api: APIClient, engine: MemoryEngine
) -> None:
    Project.objects.filter(pk=project.pk).update(api_key_ciphertext="spoilt")
    engine.log(project.container_name, "a line that cannot be searched for secrets")
    engine.crash(project.container_name, exit_code=20)
    reconcile()
    reason = api.get(f"/api/projects/{project.id}").json()["status_reason"]
    assert (reason["code"], reason["log_tail"]) == ("telegram_token", [])


def later(project: Project) -> None:
    """So much later that a read asks the engine."""
    Project.objects.filter(pk=project.pk).update(observed_at=datetime.now(UTC) - timedelta(minutes=1))
