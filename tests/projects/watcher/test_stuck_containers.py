"""Containers about which the engine does not answer."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import ContainerSilentError
from containers.vocabulary import Health
from projects.models import Event, Project
from projects.models.columns.reconciliation import LONGEST_SILENCE
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import grow_old, look, statuses
from tests.projects.watcher.rows import later

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.mark.parametrize("health", [Health.NONE, Health.STARTING, Health.HEALTHY, Health.UNHEALTHY])
@pytest.mark.parametrize("is_told", [False, True])
def test_a_stuck_container_is_unknown_and_the_round_continues(
    victim: Project, others: list[Project], engine: MemoryEngine, api: APIClient, health: Health, is_told: bool
) -> None:
    engine.set_health(victim.container_name, health)
    engine.silence_container(victim.container_name)
    for each in others:
        engine.exit(each.container_name, exit_code=1)
    keys = [victim.container_key] if is_told else []
    assert len(look(changed_keys=keys)) == 1
    assert all(engine.containers[each.container_name].is_up for each in others)
    look()
    known = statuses(api)
    assert known.pop(str(victim.pk)) == "unknown"
    assert set(known.values()) == {"running"}
    assert api.get(f"/api/projects/{victim.pk}").json()["status"] == "unknown"
    engine.silence_container(victim.container_name, is_silent=False)
    engine.set_health(victim.container_name, Health.HEALTHY)
    later(victim, reconcile_again_at=timezone.now())
    assert look() == []
    assert set(statuses(api).values()) == {"running"}
    assert engine.calls.count(("stop", victim.container_key)) == 0


def test_a_stuck_container_is_unknown_without_a_watcher_too(
    victim: Project, others: list[Project], engine: MemoryEngine, api: APIClient
) -> None:
    engine.silence_container(victim.container_name)
    grow_old()
    known = statuses(api)
    assert known.pop(str(victim.pk)) == "unknown"
    assert set(known.values()) == {"running"}


def test_a_project_alone_in_the_world_ends_no_round_either(victim: Project, engine: MemoryEngine) -> None:
    engine.silence_container(victim.container_name)
    assert len(look()) == 1
    assert len(look(changed_keys=[victim.container_key])) == 0  # it is skipped for a while
    later(victim, reconcile_failures=40, reconcile_again_at=None)
    look()
    assert Project.objects.get().reconcile_again_at <= timezone.now() + LONGEST_SILENCE  # type: ignore[operator]  # just written
    assert Project.objects.get().reconcile_error == ContainerSilentError.__name__


def test_a_stuck_orphan_delays_nobody(victim: Project, engine: MemoryEngine) -> None:
    labels = {
        **engine.containers[victim.container_name].labels,
        "berth.project": "0" * 8 + "-0000-4000-8000-" + "0" * 12,
    }
    orphan = engine.foreign("orphan", labels=labels)
    orphan.created_at -= timedelta(hours=1)
    Event.objects.create(
        project_id=labels["berth.project"], owner_id=victim.owner_id, actor="x", action="delete", outcome="done"
    )
    engine.silence_container("orphan")
    assert look() == []
    assert "orphan" in engine.containers
    engine.silence_container("orphan", is_silent=False)
    assert look() == []
    assert "orphan" not in engine.containers
