"""Every long operation, many times at once by one user with a deaf agent: few requests wait, and others are answered
meanwhile.

The test counts waiting requests, not seconds.
"""

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from projects.admin.confinement import CONFINING
from projects.admin.projects import ProjectAdmin
from projects.api.streams import wait
from projects.models import Project
from projects.services.bulkheads import WAITS
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.services.bulkheads.scenes import (
    ADMIN,
    API,
    BEFORE,
    DASHBOARD,
    FOLLOWERS,
    MOST,
    assert_few_wait,
    control,
    make_scene,
)
from tests.projects.services.crowd import Crowd

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database("postgresql")]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", API)
def test_few_requests_of_one_user_wait(alice: User, bobs: APIClient, engine: MemoryEngine, name: str) -> None:
    verb, send = API[name]
    most = FOLLOWERS if name == "follow" else MOST
    assert_few_wait(make_scene(alice, 6), engine, bobs, verb, send, most=most)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", DASHBOARD)
def test_few_buttons_of_one_user_wait(alice: User, bobs: APIClient, engine: MemoryEngine, name: str) -> None:
    verb, send = DASHBOARD[name]
    assert_few_wait(make_scene(alice, 6, browsers_of=alice), engine, bobs, verb, send, most=MOST)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ADMIN)
def test_few_actions_of_one_staff_member_wait(
    alice: User, sam: User, bobs: APIClient, engine: MemoryEngine, name: str
) -> None:
    verb, send = ADMIN[name]
    scene = make_scene(alice, 6, browsers_of=sam)
    if name in BEFORE:
        BEFORE[name](scene, engine)
    assert_few_wait(scene, engine, bobs, verb, send, most=MOST)
    if name == "lift":  # recorded for all, and those without a place are started by the watcher
        assert not Project.objects.exclude(suspended_at=None).exists()
        reconcile()
        assert all(engine.containers[project.container_name].is_up for project in scene.projects)


def test_every_action_of_the_admin_is_tried() -> None:
    writing = {*CONFINING, "update_images", "pin_images", "release_images"}  # requests that come later
    assert {*ADMIN, *writing} == set(ProjectAdmin.actions)


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
