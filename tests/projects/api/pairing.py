"""Requests and reports for the tests of pairing."""

from typing import Any

from rest_framework.test import APIClient

from containers.agent_contract import PairingCode, read_pairing_code
from projects.models import Project
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile.changed import look_at
from tests.fakes.engine import MemoryEngine

PLAIN = "https://t.me/harbour_bot"


def secret_of(engine: MemoryEngine, project: Project) -> str:
    return engine.containers[project.container_name].secrets.get("pairing_secret", "")


def bot_of(api: APIClient, project: Project) -> dict[str, Any]:
    bot: dict[str, Any] = api.get(f"/api/projects/{project.pk}").json()["bot"]
    return bot


def report(engine: MemoryEngine, project: Project, paired: int) -> None:
    engine.report(project.container_name, "running", paired=paired)
    look_at([project.container_key], RunEnds())


def read_link(url: str, secret: str) -> PairingCode | None:
    return read_pairing_code(url.removeprefix(f"{PLAIN}?start="), secret)


def make(api: APIClient, project: Project, **body: Any) -> Any:
    return api.post(f"/api/projects/{project.pk}/pairing", body)
