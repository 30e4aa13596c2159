"""Every long operation through every entrance, and a user who sends it many times at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Plan, Project
from projects.services.bulkheads import COMMANDS, WAITS
from tests.clients import api_of, browser_of
from tests.deploying import PROJECT, deploy_project
from tests.fakes.engine import MemoryEngine
from tests.projects.services.crowd import AT_ONCE, Crowd

BROWSERS = 20
"""Fewer than API clients, which compete for the same places, because rendering a page takes long."""

Send = Callable[["Scene", int], Any]


@dataclass
class Scene:
    """Alice has many projects, and Bob one. `browsers` are hers or those of staff."""

    projects: list[Project]
    api: APIClient
    browsers: list[Client]

    def project(self, index: int) -> Project:
        return self.projects[index % len(self.projects)]


def control(action: str, query: str = "") -> Send:
    return lambda scene, index: scene.api.post(
        f"/api/projects/{scene.project(index).pk}/control{query}", {"action": action}
    )


def press(below: str, form: Callable[[Project], dict[str, str]]) -> Send:
    return lambda scene, index: scene.browsers[index].post(
        f"/projects/{scene.project(index).pk}{below}", form(scene.project(index))
    )


def choose(action: str) -> Send:
    def send(scene: Scene, index: int) -> Any:
        project = scene.project(index)
        form = {"action": action, "_selected_action": [str(project.pk)], "confirm": project.name}
        return scene.browsers[index].post("/admin/projects/project/", form)

    return send


def new_body(index: int) -> dict[str, Any]:
    return PROJECT | {"telegramToken": f"{900_000 + index}:a-bot-of-the-crowd"}


def new_form(index: int) -> dict[str, str]:
    return {
        "id": f"00000000-0000-4000-8000-{index:012d}",
        "name": "One of many",
        "type": "assistant",
        "plan": "pro",
        "telegram_token": f"{900_000 + index}:a-bot-of-the-crowd",
        "api_key": "sk-of-the-crowd",
    }


API: dict[str, tuple[str, Send]] = {
    "start": ("inspect", control("start")),
    "stop": ("stop", control("stop")),
    "stop and wait": ("stop", control("stop", "?wait=30")),
    "restart": ("deploy", control("restart")),
    "delete": ("stop", lambda scene, index: scene.api.delete(f"/api/projects/{scene.project(index).pk}")),
    "clear the memory": (
        "stop",
        lambda scene, index: scene.api.delete(f"/api/projects/{scene.project(index).pk}/memory"),
    ),
    "change": (
        "deploy",
        lambda scene, index: scene.api.patch(f"/api/projects/{scene.project(index).pk}?restart=true", {"name": "New"}),
    ),
    "create": ("image_exists", lambda scene, index: scene.api.post("/api/projects", new_body(index))),
    "create, deploying": ("deploy", lambda scene, index: scene.api.post("/api/projects", new_body(index))),
    "validate": ("image_exists", lambda scene, index: scene.api.post("/api/projects/validate", new_body(index))),
    "follow": ("logs", lambda scene, index: scene.api.get(f"/api/projects/{scene.project(index).pk}/logs?follow=true")),
}


DASHBOARD: dict[str, tuple[str, Send]] = {
    "stop button": ("stop", press("/control", lambda _: {"action": "stop"})),
    "restart button": ("deploy", press("/control", lambda _: {"action": "restart"})),
    "delete button": ("stop", press("/delete", lambda project: {"name": project.name})),
    "deploy form": ("image_exists", lambda scene, index: scene.browsers[index].post("/projects/new", new_form(index))),
}


ADMIN: dict[str, tuple[str, Send]] = {
    name: (verb, choose(name))
    for name, verb in {
        "start": "deploy",
        "lift": "deploy",
        "stop": "stop",
        "restart": "deploy",
        "suspend": "stop",
        "clear_memories": "stop",
        "delete_projects": "stop",
    }.items()
}


def are_down(scene: Scene, engine: MemoryEngine, **fields: Any) -> None:
    for project in scene.projects:
        engine.exit(project.container_name)
    Project.objects.filter(pk__in=[project.pk for project in scene.projects]).update(**fields)


BEFORE: dict[str, Callable[[Scene, MemoryEngine], None]] = {
    "start": lambda scene, engine: are_down(scene, engine, desired="stopped"),
    "lift": lambda scene, engine: are_down(scene, engine, suspended_at=timezone.now()),
}
"""The preparations so that an action has something to do."""


SETTLED = {200, 201, 202, 204, 302, 409, 429}
"""The statuses for requests that do not wait, and for those that waited."""


def make_scene(alice: User, number: int, browsers_of: User | None = None) -> Scene:
    Plan.objects.update(max_projects=1000)
    api = api_of(alice)
    projects = [deploy_project(api, telegramToken=f"{100_000 + index}:a-bot-of-alice") for index in range(number)]
    browsers = [browser_of(browsers_of) for _ in range(BROWSERS)] if browsers_of else []
    return Scene(projects, api, browsers)


def assert_few_wait(scene: Scene, engine: MemoryEngine, bobs: APIClient, verb: str, send: Send, *, most: int) -> None:
    crowd = Crowd(engine, verb)
    try:
        crowd.come(lambda index: send(scene, index), len(scene.browsers) or AT_ONCE)
        assert 1 <= crowd.held <= most
        assert set(crowd.answers) <= SETTLED
        # While they wait: neither the list nor a page of another user needs what they hold.
        assert bobs.get("/api/projects").json()[0]["status"] == "running"
        assert bobs.get("/api/plans").status_code == 200
    finally:
        answers = crowd.leave()
    assert set(answers) <= SETTLED
    assert crowd.most_held <= most
    assert (COMMANDS.taken, WAITS.taken) == (0, 0)


MOST = COMMANDS._each
FOLLOWERS = 5
