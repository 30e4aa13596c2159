"""The whole life of a project, from its creation to its deletion, over API, pages and admin, with credentials in it."""

from contextlib import suppress
from typing import Any

from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import EngineError
from projects.models import Project
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.clients import api_of, browser_of
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine

ALL = (CANARY_TELEGRAM_TOKEN, CANARY_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN, CANARY_OTHER_API_KEY)


def live_through(alice: User, sam: User, engine: MemoryEngine) -> None:
    """Does everything that can be done with a project of Alice's, and goes on when something fails."""
    engine.silence = 0.01
    owner = api_of(alice)
    page, office = browser_of(alice), browser_of(sam)
    owner.post("/api/projects/validate", PROJECT)
    owner.post("/api/projects", PROJECT, headers={"idempotency-key": "k"})
    owner.post("/api/projects", PROJECT, headers={"idempotency-key": "k"})
    page.post("/projects/new", form() | {"telegram_token": CANARY_OTHER_TELEGRAM_TOKEN})
    for number, project in enumerate(Project.objects.all()):
        talk(engine, project)
        if number == 0:  # one row is like another as long as its agent runs, and a test of it takes a second
            use_api(owner, f"/api/projects/{project.pk}")
            use_page(page, f"/projects/{project.pk}")
            use_admin(office, project)
        break_down(engine, project)
        use_api(owner, f"/api/projects/{project.pk}")
        assert owner.get("/api/projects").status_code == page.get("/").status_code == 200
        owner.delete(f"/api/projects/{project.pk}")
    reconcile_anyhow()


def form() -> dict[str, str]:
    return {
        "id": "7b0e1b5e-5d0f-4a83-9f4e-1d9a1c0c2a11", "name": "Harbour pilot", "type": "assistant", "plan": "pro",
        "telegram_token": CANARY_TELEGRAM_TOKEN, "api_key": CANARY_API_KEY,
        "instructions": "", "model": "", "allowed_users": "",
    }  # fmt: skip


def talk(engine: MemoryEngine, project: Project) -> None:
    """An agent that says what it must not: what it has now, in full and in part, and what it had before."""
    name = project.container_name
    if name in engine.containers:
        for secret in engine.secrets_of(name).values():
            engine.log(name, f"401 for https://api.example.org/?key={secret}&half={secret.partition(':')[2]}")
        for secret in ALL:
            engine.log(name, f"rejected: {secret}")
        engine.report(name, "degraded", "provider_key", f"rejected {CANARY_API_KEY}")


def break_down(engine: MemoryEngine, project: Project) -> None:
    if project.container_name in engine.containers:
        engine.report(project.container_name, "failed", "crash", f"with {CANARY_TELEGRAM_TOKEN}")
        engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile_anyhow()


def use_api(owner: APIClient, path: str) -> None:
    new = {"apiKey": CANARY_OTHER_API_KEY, "telegramToken": CANARY_TELEGRAM_TOKEN}
    owner.patch(f"{path}?restart=true", new)
    # What people do: a credential in the wrong field.
    owner.patch(path, {"settings": {"provider": CANARY_API_KEY, "allowed_users": [CANARY_TELEGRAM_TOKEN]}})
    owner.patch(path, {"plan": CANARY_API_KEY, "apiKey": {"key": CANARY_API_KEY}})
    owner.post(f"{path}/control", {"action": CANARY_TELEGRAM_TOKEN})
    for below in ("", "/logs", "/logs?follow=true&tail=3", "/logs?run=1", "/runs", "/stats", "/events"):
        read_a_little(owner.get(path + below))
    for action in ("stop", "start", "restart"):
        owner.post(f"{path}/control", {"action": action})


def read_a_little(answer: Any) -> None:
    """Of a stream, which does not end by itself. Its place is given back here and now, not at some collection."""
    if answer.streaming:
        next(iter(answer.streaming_content))
        for close in answer._resource_closers:
            close()


def use_page(page: Client, path: str) -> None:
    for below in ("", "/change", "/delete"):
        page.get(path + below)
    page.post(f"{path}/change", form() | {"api_key": CANARY_OTHER_API_KEY, "name": ""})
    page.post(f"{path}/change", form() | {"api_key": CANARY_OTHER_API_KEY, "restart": "on"})
    page.post(f"{path}/control", {"action": "restart"})


def use_admin(office: Client, project: Project) -> None:
    office.get("/admin/projects/project/")
    office.get(f"/admin/projects/project/{project.pk}/change/")
    office.get("/admin/projects/event/")
    for action in ("stop", "start", "restart"):
        office.post("/admin/projects/project/", {"action": action, "_selected_action": [str(project.pk)]}, follow=True)


def reconcile_anyhow() -> None:
    with suppress(EngineError):
        reconcile()
