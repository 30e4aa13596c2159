"""Remains of the database's own interrupted operations never stop all repairs.

Each operation is killed at each of its effects, on the database and on the engine, and after each of them the engine
carries out its last command late. Remains are repaired or put away, and other agents are looked after.
A run tries a third of the effects, and another third for the next operation; `--whole` tries each.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Event, IdempotencyRecord, Project, Quarantined
from projects.models.installation import read_hold
from projects.watcher.reconcile.full import reconcile
from tests.clients import api_of
from tests.deploying import PROJECT, create_project
from tests.fakes.engine import MemoryEngine
from tests.projects.played_back import played_back
from tests.projects.watcher.killed_operations import MOST, OPERATIONS, ROUNDS, create, create_broken, killed_at, mine
from tests.projects.watcher.other_databases import grow_old
from tests.sampling import Some

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture
def bobs(bob: User) -> Project:
    return create_project(api_of(bob), PROJECT | {"telegramToken": "777777777:a-bot-of-bob"})


@contextmanager
def remembering(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Every container that was created meanwhile, with its volumes, as an engine may create it late."""
    made: dict[str, Any] = {}
    emit = engine._emit

    def note(container: Any, action: str) -> None:
        if action == "create":
            labels = {name: engine.volume_labels[name] for name in engine.volumes if name.startswith(container.name)}
            made[container.name] = container, labels
        emit(container, action)

    with monkeypatch.context() as patch:
        patch.setattr(engine, "_emit", note)
        yield made


def come_late(engine: MemoryEngine, made: dict[str, Any]) -> None:
    for name, (container, labels) in made.items():
        if name not in engine.containers:
            engine.containers[name] = container
            engine.volumes |= set(labels)
            engine.volume_labels |= labels


def settle(engine: MemoryEngine, bobs: Project) -> None:
    """Minutes later: the killed process holds nothing any more. Bob's agent has crashed meanwhile."""
    engine._failures.clear()
    past = timezone.now() - timedelta(minutes=5)
    Project.objects.exclude(operation="").update(operation_deadline=past)
    Project.objects.update(reconcile_again_at=None)
    if bobs.container_name in engine.containers:
        engine.exit(bobs.container_name, 1)
    grow_old(engine)
    for _ in range(ROUNDS):
        result = reconcile()
        assert result.held == ""
    assert read_hold() == ""
    assert engine.containers[bobs.container_name].is_up


def assert_all_is_accounted_for(engine: MemoryEngine) -> None:
    """Each container has a row, or is in quarantine with an entry."""
    keys = {str(pk) for pk in Project.objects.values_list("pk", flat=True)}
    noted = set(Quarantined.objects.values_list("key", flat=True))
    assert {container.key for container in engine.containers.values()} <= keys | noted
    assert not [each for each in engine.containers.values() if each.key not in keys and each.is_up]


@pytest.mark.rare(1)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", OPERATIONS)
def test_no_killed_operation_holds_the_mending(
    name: str, some: Some, api: APIClient, bobs: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    operate = OPERATIONS[name]
    if not name.startswith("create"):
        create(api, engine)
        IdempotencyRecord.objects.all().delete()
    for number in some(range(1, MOST), one_in=3, first=list(OPERATIONS).index(name)):
        with played_back(engine), remembering(engine, monkeypatch) as made:
            with killed_at(number, engine) as effects:
                operate(api, engine)
            settle(engine, bobs)
            assert_all_is_accounted_for(engine)
            come_late(engine, made)
            settle(engine, bobs)
            assert_all_is_accounted_for(engine)
        if len(effects) < number:
            break
    else:
        pytest.fail("It has more effects than are tried.")
    assert number > 3


def test_late_remains_of_an_undone_creation_are_removed(
    api: APIClient, bobs: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never ran, so it has no memory."""
    with remembering(engine, monkeypatch) as made:
        create_broken(api, engine)
    assert Project.objects.count() == 1
    [told] = Event.objects.exclude(project_id=bobs.pk).values_list("action", "outcome")
    assert told == ("finish deletion", "done")
    come_late(engine, made)
    settle(engine, bobs)
    assert set(engine.containers) == {bobs.container_name}
    assert not Quarantined.objects.exists()


def test_a_database_that_is_really_behind_still_repairs_nothing(
    api: APIClient, bobs: Project, engine: MemoryEngine
) -> None:
    create(api, engine)
    key = str(mine().pk)
    Project.objects.filter(pk=key).delete()
    Event.objects.filter(project_id=key)._raw_delete("default")
    engine.exit(bobs.container_name, 1)
    grow_old(engine)
    for _ in range(ROUNDS):
        assert "manage.py adopt" in reconcile().held
    assert not engine.containers[bobs.container_name].is_up
