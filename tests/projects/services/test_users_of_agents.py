"""Every project's agent runs as a user of its own, and no number is ever given twice."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from containers.agent_contract import AGENT_USER
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from projects.models import Project
from projects.models.agent_user import BLOCK, LOWEST, base_of, take_uid
from projects.models.installation import read_installation_id
from projects.watcher.reconcile import reconcile
from tests.canaries import CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.projects.services.races import beat

BASE = 20_000
Deploy = Callable[..., Project]


def token(number: int) -> str:
    return CANARY_TELEGRAM_TOKEN.replace(CANARY_TELEGRAM_TOKEN.partition(":")[0], str(700_000_000 + number))


def user_in(engine: MemoryEngine, project: Project) -> int:
    """The user as whom the container of the project was made."""
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    return spec.user


def test_each_project_has_a_user_of_its_own(deploy: Deploy, engine: MemoryEngine) -> None:
    projects = [deploy(telegramToken=token(number)) for number in range(4)]
    users = [project.uid for project in projects]
    base = base_of(read_installation_id())
    assert users == [base, base + 1, base + 2, base + 3]
    assert [user_in(engine, project) for project in projects] == users
    assert AGENT_USER not in users


def test_a_user_stays_with_its_project(project: Project, engine: MemoryEngine, control: Any) -> None:
    for action in ("restart", "stop", "start", "restart"):
        assert control(action).status_code == 200
        assert user_in(engine, project) == project.uid
    assert Project.objects.get().uid == project.uid


def test_a_deleted_projects_user_is_given_to_nobody(api: APIClient, deploy: Deploy, settings: Any) -> None:
    settings.BERTH_UID_BASE = BASE
    users = []
    for number in range(4):
        made = deploy(telegramToken=token(number))
        users.append(made.uid)
        assert api.delete(f"/api/projects/{made.id}").status_code == 204
    assert Project.objects.count() == 0
    assert users == [BASE, BASE + 1, BASE + 2, BASE + 3]


@pytest.mark.parametrize("error", [EngineRefusedError, EngineUnavailableError])
def test_the_user_of_a_project_that_could_not_be_made_is_given_to_nobody(
    error: type[EngineError], api: APIClient, body: dict[str, Any], engine: MemoryEngine, settings: Any
) -> None:
    """Its container may have been made, and may have left a volume behind."""
    settings.BERTH_UID_BASE = BASE
    engine.fail("deploy.start", error)
    assert api.post("/api/projects", body).status_code in {502, 503}
    answer = api.post("/api/projects", body | {"telegramToken": token(1)})
    assert Project.objects.get(pk=answer.json()["id"]).uid == BASE + 1


@pytest.mark.parametrize(
    ("bases", "expected"),
    [
        ([BASE, BASE + 100, BASE + 100], [BASE, BASE + 100, BASE + 101]),
        ([BASE + 100, BASE, BASE], [BASE + 100, BASE + 101, BASE + 102]),
        ([BASE, BASE + 1, BASE + 2], [BASE, BASE + 1, BASE + 2]),
    ],
)
def test_numbers_only_go_up_when_the_base_is_changed(
    bases: list[int], expected: list[int], deploy: Deploy, settings: Any
) -> None:
    users = []
    for number, base in enumerate(bases):
        settings.BERTH_UID_BASE = base
        users.append(deploy(telegramToken=token(number)).uid)
    assert users == expected


# -- projects from before each had a user of its own ------------------------------------------------------------------


@pytest.fixture
def old(project: Project, engine: MemoryEngine) -> Project:
    """A project as an older Berth left it: without a user of its own, its container running as everybody's."""
    Project.objects.update(uid=None)
    project.refresh_from_db()
    return project


def restart(api: APIClient, project: Project) -> None:
    assert api.post(f"/api/projects/{project.id}/control", {"action": "restart"}).status_code == 200


def stop_and_start(api: APIClient, project: Project) -> None:
    for action in ("stop", "start"):
        assert api.post(f"/api/projects/{project.id}/control", {"action": action}).status_code == 200


def change(api: APIClient, project: Project) -> None:
    changed = {"settings": {"model": "another"}}
    assert api.patch(f"/api/projects/{project.id}?restart=true", changed).status_code == 200


@pytest.mark.parametrize("act", [restart, stop_and_start, change])
def test_an_old_project_gets_a_user_with_its_next_deploy(
    act: Callable[[APIClient, Project], None], old: Project, api: APIClient, engine: MemoryEngine
) -> None:
    act(api, old)
    old.refresh_from_db()
    assert old.uid is not None
    assert old.uid >= LOWEST
    assert user_in(engine, old) == old.uid
    given_once = old.uid
    restart(api, old)
    old.refresh_from_db()
    assert old.uid == given_once


def test_so_does_one_whose_container_the_watcher_makes_again(old: Project, engine: MemoryEngine) -> None:
    engine.vanish(old.container_name)
    beat(seconds=0)
    reconcile()
    old.refresh_from_db()
    assert old.uid is not None
    assert user_in(engine, old) == old.uid


def test_until_then_nothing_of_it_changes(old: Project, api: APIClient) -> None:
    assert api.get(f"/api/projects/{old.id}").json()["status"] == "running"
    reconcile()
    old.refresh_from_db()
    assert old.uid is None


def test_an_older_server_may_go_on_making_projects_without_one(deploy: Deploy) -> None:
    """Rows without a number do not stand in each other's way."""
    deploy(telegramToken=token(1))
    deploy(telegramToken=token(2))
    assert Project.objects.update(uid=None) == 2


@pytest.mark.django_db
def test_no_two_projects_can_have_the_same(deploy: Deploy) -> None:
    first, second = deploy(telegramToken=token(1)), deploy(telegramToken=token(2))
    with pytest.raises(IntegrityError), transaction.atomic():
        Project.objects.filter(pk=second.pk).update(uid=first.uid)


# -- many at once -----------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_many_at_once_get_different_numbers(settings: Any) -> None:
    settings.BERTH_UID_BASE = BASE
    taken: list[int] = []

    def take() -> None:
        try:
            for _ in range(10):
                with transaction.atomic():
                    taken.append(take_uid())
        finally:
            connection.close()

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(taken) == list(range(BASE, BASE + 60))


@pytest.mark.django_db(transaction=True)
def test_two_deploys_of_an_old_project_agree_on_its_user(project: Project) -> None:
    Project.objects.update(uid=None)
    same = [Project.objects.get(pk=project.pk) for _ in range(2)]
    for each in same:
        each.ensure_uid()
    assert same[0].uid == same[1].uid == Project.objects.get().uid


# -- where numbers begin ----------------------------------------------------------------------------------------------


@given(identifier=st.text("0123456789abcdef", min_size=32, max_size=32))
def test_an_installation_takes_its_numbers_where_nobody_else_does(identifier: str) -> None:
    base = base_of(identifier)
    assert base >= LOWEST
    assert base + BLOCK < 2_147_352_576 < 2**31  # systemd's next block, and the end of what Docker takes
    assert base % BLOCK == 0


def test_two_installations_on_one_engine_begin_elsewhere() -> None:
    assert abs(base_of("0" * 32) - base_of("0" * 31 + "1")) >= BLOCK
