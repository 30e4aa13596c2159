"""What a deaf agent delays, and for how long: the watcher stops it, and no round waits for it."""

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import StillStoppingError
from projects.models import Event, Project
from projects.watcher.reconcile.background import PER_OWNER, Background
from projects.watcher.reconcile.full import reconcile
from tests.clients import api_of
from tests.deploying import deploy_project
from tests.fakes.engine import MemoryEngine
from tests.projects.services.bulkheads.scenes import API, Scene, control, make_scene
from tests.projects.services.crowd import AT_ONCE, Crowd
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database("postgresql")]


def test_one_stop_waits_and_the_others_get_202_stopping_at_once(
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


def test_no_round_waits_for_deaf_agents(
    alice: User, bobs: APIClient, engine: MemoryEngine, background: Background
) -> None:
    """Alice's agents are deaf. While they are being stopped, rounds continue, and work for Bob gets done."""
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
