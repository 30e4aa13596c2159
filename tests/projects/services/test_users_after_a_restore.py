"""A restored older backup continues from a lower user id, but agents on the engine keep theirs."""

from itertools import product
from typing import Any

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.vocabulary import GENERATION_LABEL
from projects.models import Installation, Project, Quarantined
from projects.models.agent_user import base_of, take_uid
from projects.models.installation import read_installation_id
from projects.watcher.reconcile.full import reconcile
from tests.clients import api_of
from tests.fakes.engine import MemoryEngine
from tests.projects.services.restored import BASE, STATES, WAYS, as_they_are, create, create_numbered, restore, users_on
from tests.projects.watcher.other_databases import grow_old
from tests.sampling import Some


@pytest.mark.one_database
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_no_number_on_the_engine_is_given_again(
    way: str, number: int, some: Some, api: APIClient, engine: MemoryEngine, settings: Any
) -> None:
    cells = [(None, ("as they are", as_they_are)), *product([BASE], STATES.items())]
    for base, (state, stage) in some(cells, one_in=3, first=number + list(WAYS).index(way)):
        settings.BERTH_UID_BASE = base
        engine.reset()
        restore(next_uid=None, without=list(Project.objects.all()))
        Quarantined.objects.all().delete()
        create_numbered(api, 1)
        backup = Installation.objects.get().next_uid
        newer = [create_numbered(api, 2 + index) for index in range(number)]
        stage(engine, newer)
        grow_old(engine)
        restore(next_uid=backup, without=newer)
        taken = users_on(engine)
        given = WAYS[way](api)
        assert given not in taken, (state, base)
        assert given > max(taken), (state, base)
        assert given >= (base or base_of(read_installation_id()))


def test_the_first_number_of_all_counts(api: APIClient, engine: MemoryEngine, settings: Any) -> None:
    """An empty database with the id of one that has deployed a single project."""
    settings.BERTH_UID_BASE = BASE
    lost = create_numbered(api, 1)
    assert lost.uid == BASE
    restore(next_uid=None, without=[lost])
    assert create(api) == BASE + 1


def test_numbers_of_a_lower_base_push_nothing_up(api: APIClient, engine: MemoryEngine, settings: Any) -> None:
    settings.BERTH_UID_BASE = BASE
    lost = create_numbered(api, 1)
    restore(next_uid=None, without=[lost])
    settings.BERTH_UID_BASE = BASE + 1000
    assert create(api) == BASE + 1000


def test_an_agent_deleted_from_quarantine_keeps_its_user_number_reserved(
    api: APIClient, engine: MemoryEngine, settings: Any
) -> None:
    settings.BERTH_UID_BASE = BASE
    lost = [create_numbered(api, number) for number in range(3)]
    restore(next_uid=BASE, without=lost)
    call_command("adopt", "--yes", verbosity=0)
    call_command("quarantine", "delete", "--yes", *(str(project.pk) for project in lost), verbosity=0)
    assert (engine.containers, engine.volumes) == ({}, set())
    assert take_uid() == BASE + 3


def test_a_dry_run_changes_no_number(api: APIClient, engine: MemoryEngine, settings: Any) -> None:
    settings.BERTH_UID_BASE = BASE
    lost = create_numbered(api, 1)
    restore(next_uid=BASE, without=[lost])
    call_command("adopt", "--dry-run", verbosity=0)
    assert Installation.objects.get().next_uid == BASE


def test_an_old_project_gets_an_unused_user_number(api: APIClient, engine: MemoryEngine, settings: Any) -> None:
    """The backup is from before it had one, and its container is from a later deploy,
    with the user that it then got."""
    settings.BERTH_UID_BASE = BASE
    old, lost = create_numbered(api, 1), create_numbered(api, 2)
    restore(next_uid=None, without=[lost])
    Project.objects.filter(pk=old.pk).update(uid=None)
    for container in engine.containers.values():
        container.labels[GENERATION_LABEL] = "1"
    assert api.post(f"/api/projects/{old.pk}/control", {"action": "restart"}).status_code == 200
    old.refresh_from_db()
    assert old.uid == BASE + 2


@pytest.mark.parametrize(("error", "status"), [(EngineUnavailableError, 503), (EngineRefusedError, 502)])
def test_a_possibly_used_number_is_not_assigned(
    error: type[EngineError], status: int, api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    lost = create_numbered(api, 1)
    for verb in ("has_user", "highest_user"):
        restore(next_uid=None, without=list(Project.objects.filter(pk=lost.pk)))
        engine.fail(verb, error)
        assert api.post("/api/projects", body).status_code == status
        assert not Project.objects.exists()
    assert users_on(engine) == {lost.uid}
    assert create_numbered(api, 2).uid not in {lost.uid, None}


@pytest.mark.parametrize("error", [EngineUnavailableError, EngineRefusedError])
def test_a_round_continues_without_the_known_numbers(
    error: type[EngineError], project: Project, engine: MemoryEngine
) -> None:
    engine.fail("highest_user", error)
    engine.exit(project.container_name, 1)
    result = reconcile()
    assert result.repaired == [f"bring back: {project.container_name}"]
    assert result.failed == [f"learn users: {error.__name__}"]


def test_two_owners_of_a_restored_database_get_two_numbers(api: APIClient, bob: Any, engine: MemoryEngine) -> None:
    lost = create_numbered(api, 1)
    restore(next_uid=None, without=[lost])
    mine, his = create_numbered(api, 2), create_numbered(api_of(bob), 3)
    assert len({lost.uid, mine.uid, his.uid}) == 3
