"""An installation whose database was restored from an older backup, in every state of what is missing in it."""

from collections.abc import Callable

from django.core.management import call_command
from rest_framework.test import APIClient

from containers.get_engine import get_engine
from containers.vocabulary import INSTALLATION_LABEL, USER_LABEL
from projects.models import Event, Installation, Project
from projects.models.agent_user import take_uid
from projects.watcher.reconcile.full import reconcile
from tests.deploying import PROJECT, create_project, token_of_bot
from tests.fakes.engine import MemoryEngine

BASE = 20_000
Stage = Callable[[MemoryEngine, list[Project]], object]


def create_numbered(api: APIClient, number: int) -> Project:
    return create_project(api, PROJECT | {"telegramToken": token_of_bot(800_000_000 + number), "plan": "pro"})


def as_they_are(engine: MemoryEngine, newer: list[Project]) -> None:
    pass


def crashed(engine: MemoryEngine, newer: list[Project]) -> None:
    for project in newer:
        engine.exit(project.container_name, 1)


def in_quarantine(engine: MemoryEngine, newer: list[Project]) -> None:
    """By the newer database, whose entry the backup lacks."""
    for project in newer:
        get_engine().quarantine(str(project.pk), timeout=1)


def volumes_only(engine: MemoryEngine, newer: list[Project]) -> None:
    for project in newer:
        engine.vanish(project.container_name)


def without_the_label(engine: MemoryEngine, newer: list[Project]) -> None:
    """Made by a Berth that did not label the user number."""
    for labels in [*(each.labels for each in engine.containers.values()), *engine.volume_labels.values()]:
        labels.pop(USER_LABEL, None)


def without_an_id(engine: MemoryEngine, newer: list[Project]) -> None:
    for each in engine.containers.values():
        each.labels.pop(INSTALLATION_LABEL)


STATES: dict[str, Stage] = {stage.__name__: stage for stage in (
    as_they_are, crashed, in_quarantine, volumes_only, without_the_label, without_an_id,
)}  # fmt: skip


def adopt(api: APIClient) -> int:
    call_command("adopt", "--yes", verbosity=0)
    return take_uid()


def look(api: APIClient) -> int:
    """The watcher adopts the containers of the rows by itself."""
    reconcile()
    return take_uid()


def create(api: APIClient) -> int:
    """Before the watcher has made a round, and before anyone has adopted anything."""
    uid = create_numbered(api, 99).uid
    assert uid is not None
    return uid


def create_after_adoption(api: APIClient) -> int:
    call_command("adopt", "--yes", verbosity=0)
    return create(api)


WAYS = {way.__name__: way for way in (adopt, look, create, create_after_adoption)}


def users_on(engine: MemoryEngine) -> set[int]:
    return set(engine._users())


def restore(*, next_uid: int | None, without: list[Project]) -> None:
    keys = [project.pk for project in without]
    Project.objects.filter(pk__in=keys).delete()
    Event.objects.filter(project_id__in=keys)._raw_delete("default")
    Installation.objects.update(next_uid=next_uid)
