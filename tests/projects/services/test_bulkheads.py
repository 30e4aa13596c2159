"""Every long operation, 45 times at once by one user with a deaf agent: few wait, and others are answered meanwhile.

How many requests wait is counted; how long anything takes is not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import StillStoppingError
from projects.admin import ProjectAdmin
from projects.api import wait
from projects.models import Event, Plan, Project
from projects.services.places import COMMANDS, WAITS
from projects.watcher.background import PER_OWNER, Background
from projects.watcher.reconcile import reconcile
from tests.clients import api_of, browser_of
from tests.deploying import PROJECT, deploy_project
from tests.fakes.engine import MemoryEngine
from tests.projects.services.crowd import AT_ONCE, Crowd
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

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
"""What has to be so that an action has something to do."""

SETTLED = {200, 201, 202, 204, 302, 409, 429}
"""What those may be answered who do not wait, and those who waited."""


@pytest.fixture
def bobs(bob: User) -> APIClient:
    api = api_of(bob)
    deploy_project(api, telegramToken="777:a-bot-of-bob", plan="free")
    return api


def make_scene(alice: User, number: int, browsers_of: User | None = None) -> Scene:
    Plan.objects.update(max_projects=1000)
    api = api_of(alice)
    projects = [deploy_project(api, telegramToken=f"{100_000 + index}:a-bot-of-alice") for index in range(number)]
    browsers = [browser_of(browsers_of) for _ in range(AT_ONCE)] if browsers_of else []
    return Scene(projects, api, browsers)


@pytest.fixture(autouse=True)
def _plenty(settings: Any) -> None:
    """The limits per minute are not what is tested."""
    settings.BERTH_LIMITS = {}


def assert_few_wait(scene: Scene, engine: MemoryEngine, bobs: APIClient, verb: str, send: Send, *, most: int) -> None:
    crowd = Crowd(engine, verb)
    try:
        crowd.come(lambda index: send(scene, index))
        assert 1 <= crowd.held <= most
        assert set(crowd.answers) <= SETTLED
        # While they wait: neither the list nor a page of another needs what they hold.
        assert bobs.get("/api/projects").json()[0]["status"] == "running"
        assert bobs.get("/api/plans").status_code == 200
    finally:
        answers = crowd.leave()
    assert set(answers) <= SETTLED
    assert crowd.most_held <= most
    assert (COMMANDS.taken, WAITS.taken) == (0, 0)


MOST = COMMANDS._each
FOLLOWERS = 5


@pytest.mark.parametrize("name", API)
def test_few_requests_of_one_user_wait(alice: User, bobs: APIClient, engine: MemoryEngine, name: str) -> None:
    verb, send = API[name]
    most = FOLLOWERS if name == "follow" else MOST
    assert_few_wait(make_scene(alice, 6), engine, bobs, verb, send, most=most)


@pytest.mark.one_database("postgresql")
@pytest.mark.parametrize("name", DASHBOARD)
def test_few_buttons_of_one_user_wait(alice: User, bobs: APIClient, engine: MemoryEngine, name: str) -> None:
    verb, send = DASHBOARD[name]
    assert_few_wait(make_scene(alice, 6, browsers_of=alice), engine, bobs, verb, send, most=MOST)


@pytest.mark.one_database("postgresql")
@pytest.mark.parametrize("name", ADMIN)
def test_few_actions_of_one_of_the_staff_wait(
    alice: User, sam: User, bobs: APIClient, engine: MemoryEngine, name: str
) -> None:
    verb, send = ADMIN[name]
    scene = make_scene(alice, 6, browsers_of=sam)
    if name in BEFORE:
        BEFORE[name](scene, engine)
    assert_few_wait(scene, engine, bobs, verb, send, most=MOST)
    if name == "lift":  # recorded for all, and what had no place is started by the watcher
        assert not Project.objects.exclude(suspended_at=None).exists()
        reconcile()
        assert all(engine.containers[project.container_name].is_up for project in scene.projects)


def test_every_action_of_the_admin_is_tried() -> None:
    assert set(ADMIN) == set(ProjectAdmin.actions)


def test_few_requests_wait_for_a_status(
    alice: User, bobs: APIClient, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = make_scene(alice, 1)
    engine.ready_after_deploy = False
    assert control("restart")(scene, 0).json()["status"] == "starting"
    crowd = Crowd(engine, "nothing")
    monkeypatch.setattr(wait, "refresh", lambda _: crowd.hold())
    try:
        crowd.come(lambda index: control("start", "?wait=1")(scene, index))
        assert 1 <= crowd.held <= WAITS._each
        assert set(crowd.answers) <= {200, 429}
        assert bobs.get("/api/projects").status_code == 200
    finally:
        crowd.leave()


def test_one_stop_waits_and_all_others_are_202_stopping_at_once(
    alice: User, bobs: APIClient, engine: MemoryEngine
) -> None:
    scene = make_scene(alice, 1)
    crowd = Crowd(engine, "stop")
    try:
        crowd.come(lambda index: control("stop")(scene, index))
        assert crowd.held == 1
        assert crowd.answers == [202] * (AT_ONCE - 1)
        answer = control("stop")(scene, 0)
        assert (answer.status_code, answer.json()["status"]) == (202, "stopping")
    finally:
        answers = crowd.leave()
    assert answers == {202: AT_ONCE - 1, 200: 1}
    assert Project.objects.get(pk=scene.projects[0].pk).status == "stopped"


def test_stops_that_have_no_place_are_recorded_and_finished_by_the_watcher(
    alice: User, bobs: APIClient, engine: MemoryEngine
) -> None:
    scene = make_scene(alice, 12)
    crowd = Crowd(engine, "stop")
    try:
        crowd.come(lambda index: control("stop")(scene, index), number=12)
        assert crowd.answers == [202] * (12 - crowd.held)
        states = {each["status"] for each in scene.api.get("/api/projects").json()}
        assert states == {"stopping"}
    finally:
        crowd.leave()
    reconcile()
    assert {each["status"] for each in scene.api.get("/api/projects").json()} == {"stopped"}
    assert not any(engine.containers[each.container_name].is_up for each in scene.projects)


def test_deletions_that_have_no_place_are_recorded_and_finished_by_the_watcher(
    alice: User, bobs: APIClient, engine: MemoryEngine
) -> None:
    scene = make_scene(alice, 12)
    crowd = Crowd(engine, "stop")
    try:
        crowd.come(lambda index: API["delete"][1](scene, index), number=12)
        assert crowd.answers == [202] * (12 - crowd.held)
    finally:
        crowd.leave()
    reconcile()
    assert not Project.objects.filter(owner=alice).exists()


def test_two_users_with_deaf_agents_leave_a_place_for_a_third(
    alice: User, bobs: APIClient, engine: MemoryEngine, ada: User
) -> None:
    hers = make_scene(alice, 8)
    theirs = [deploy_project(bobs, telegramToken=f"{200_000 + index}:a-bot-of-bob") for index in range(8)]
    adas = api_of(ada)
    project = deploy_project(adas, telegramToken="300:a-bot-of-ada")
    crowd = Crowd(engine, "stop")
    scene = Scene(theirs, bobs, [])
    try:
        crowd.come(lambda index: control("stop")(hers if index % 2 else scene, index // 2), number=16)
        answer = adas.post(f"/api/projects/{project.pk}/control", {"action": "restart"})
        assert (answer.status_code, answer.json()["status"]) == (200, "running")
    finally:
        crowd.leave()


def test_a_stop_that_takes_too_long_is_202_stopping_and_finished_by_the_watcher(
    alice: User, engine: MemoryEngine
) -> None:
    scene = make_scene(alice, 1)
    engine.fail("stop", StillStoppingError)
    answer = control("stop")(scene, 0)
    assert (answer.status_code, answer.json()["status"]) == (202, "stopping")
    assert scene.api.get(f"/api/projects/{scene.projects[0].pk}").json()["status"] == "stopping"
    reconcile()
    assert scene.api.get(f"/api/projects/{scene.projects[0].pk}").json()["status"] == "stopped"
    outcomes = Event.objects.filter(action__in=["stop", "take down"]).order_by("pk").values_list("action", "outcome")
    assert list(outcomes) == [("stop", "recorded"), ("take down", "done")]


def test_a_restart_of_an_agent_that_takes_too_long_is_503_and_finished_by_the_watcher(
    alice: User, engine: MemoryEngine
) -> None:
    scene = make_scene(alice, 1)
    engine.fail("deploy", StillStoppingError)
    answer = control("restart")(scene, 0)
    assert (answer.status_code, answer.json()["code"], "Retry-After" in answer) == (503, "still_stopping", True)
    reconcile()
    row = Project.objects.get(pk=scene.projects[0].pk)
    assert engine.containers[row.container_name].observation.generation == row.generation


def test_a_deletion_of_an_agent_that_takes_too_long_is_202_and_finished_by_the_watcher(
    alice: User, engine: MemoryEngine
) -> None:
    scene = make_scene(alice, 1)
    engine.fail("stop", StillStoppingError)
    answer = API["delete"][1](scene, 0)
    assert (answer.status_code, answer.json()["status"]) == (202, "deleting")
    reconcile()
    assert not Project.objects.filter(owner=alice).exists()


@pytest.fixture
def background() -> Iterator[Background]:
    made = Background()
    yield made
    made.stop()


def test_no_round_waits_for_deaf_agents(
    alice: User, bobs: APIClient, engine: MemoryEngine, background: Background
) -> None:
    """Alice's agents are deaf. Rounds go on, and what is to be done for Bob is done, while they are being stopped."""
    make_scene(alice, 12)
    Project.objects.filter(owner=alice).update(desired="stopped")
    crowd = Crowd(engine, "stop")
    for _ in range(3):
        reconcile(hand_over=background.hand_over)
    wait_until(lambda: crowd.held == PER_OWNER)
    engine.slow("stop", None)
    Project.objects.exclude(owner=alice).update(desired="stopped", updated_at=timezone.now())

    def is_bobs_stopped() -> bool:
        reconcile(hand_over=background.hand_over)
        return bool(bobs.get("/api/projects").json()[0]["status"] == "stopped")

    wait_until(is_bobs_stopped)
    assert crowd.held == PER_OWNER
    crowd.leave()

    def are_alices_stopped() -> bool:
        reconcile(hand_over=background.hand_over)
        return not any(container.is_up for container in engine.containers.values())

    wait_until(are_alices_stopped)
