"""Every project's agent runs as a user of its own, and no number is ever used twice."""

import threading
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from containers.agent_contract import AGENT_USER
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.vocabulary import INSTALLATION_LABEL, INSTANCE_LABEL, PROJECT_LABEL, USER_LABEL
from projects.models import Project
from projects.models.agent_user import BLOCK, LOWEST, base_of, take_uid
from projects.models.installation import read_installation_id
from tests.fakes.engine import MemoryEngine
from tests.projects.services.agent_users import BASE, Deploy, token, user_in


def test_each_project_has_a_separate_user(deploy: Deploy, engine: MemoryEngine) -> None:
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


def test_a_deleted_project_s_user_is_not_reused(api: APIClient, deploy: Deploy, settings: Any) -> None:
    settings.BERTH_UID_BASE = BASE
    users = []
    for number in range(4):
        made = deploy(telegramToken=token(number))
        users.append(made.uid)
        assert api.delete(f"/api/projects/{made.id}").status_code == 204
    assert Project.objects.count() == 0
    assert users == [BASE, BASE + 1, BASE + 2, BASE + 3]


def test_an_installation_with_the_same_configured_numbers_keeps_its_own(
    deploy: Deploy, engine: MemoryEngine, settings: Any
) -> None:
    """Two installations on one engine may have the same `BERTH_UID_BASE`: each skips the other's numbers."""
    settings.BERTH_UID_BASE = BASE
    others = {INSTANCE_LABEL: "another", INSTALLATION_LABEL: "f" * 32, PROJECT_LABEL: "theirs"}
    for name, number in (("within", BASE + 3), ("far", BASE + BLOCK), ("before", BASE - 1)):
        engine.foreign(name, labels={**others, USER_LABEL: str(number)})
    given = [deploy(telegramToken=token(number), plan="pro").uid for number in range(5)]
    assert given == [BASE, BASE + 1, BASE + 2, BASE + 4, BASE + 5]


@pytest.mark.parametrize("error", [EngineRefusedError, EngineUnavailableError])
def test_the_user_of_a_failed_creation_is_not_reused(
    error: type[EngineError], api: APIClient, body: dict[str, Any], engine: MemoryEngine, settings: Any
) -> None:
    """Its container may have been created, and may have left a volume behind."""
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


@pytest.mark.django_db
def test_no_two_projects_can_have_the_same(deploy: Deploy) -> None:
    first, second = deploy(telegramToken=token(1)), deploy(telegramToken=token(2))
    with pytest.raises(IntegrityError), transaction.atomic():
        Project.objects.filter(pk=second.pk).update(uid=first.uid)


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


@given(identifier=st.text("0123456789abcdef", min_size=32, max_size=32))
def test_an_installation_chooses_numbers_that_no_other_uses(identifier: str) -> None:
    base = base_of(identifier)
    assert base >= LOWEST
    assert base + BLOCK < 2_147_352_576 < 2**31  # systemd's next block, and the highest number that Docker accepts
    assert base % BLOCK == 0


def test_two_installations_on_one_engine_use_different_numbers() -> None:
    assert abs(base_of("0" * 32) - base_of("0" * 31 + "1")) >= BLOCK
