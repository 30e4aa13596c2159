"""Readers of the moments that the watcher stores.

Each is shown a moment that is `shift` away from now, and must treat one in the future as never written.
"""

from datetime import datetime, timedelta
from uuid import uuid4

from django.conf import settings
from django.utils import timezone

from containers.identity import own_labels
from containers.vocabulary import PROJECT_LABEL
from projects.models import Event, Installation, Quarantined, Watch
from projects.models.installation import read_installation
from projects.watcher.leader import become_leader
from projects.watcher.reconcile.full import reconcile
from projects.watcher.upkeep.reminders import EVERY, remind
from projects.watcher.upkeep.steady_clock import SteadyClock
from tests.fakes.engine import MemoryEngine
from tests.moments.world import LONG_AGO, World


def heartbeat_at(world: World, at: datetime, shift: timedelta) -> None:
    world.rows.update(observed_at=LONG_AGO, updated_at=LONG_AGO)
    Watch.objects.update_or_create(instance=settings.BERTH_INSTANCE, defaults={"heartbeat_at": at})
    world.engine.vanish(world.name)
    assert world.status() != "running"


def lease_until(world: World, at: datetime, shift: timedelta) -> None:
    """A dead watcher's lease blocks no other one, and starts no agent again."""
    Watch.objects.all().delete()
    assert become_leader("dead")
    Watch.objects.update(lease_until=at)
    world.engine.exit(world.name, 3)
    world.rows.update(observed_at=LONG_AGO)
    assert world.status() == "crashed"
    assert become_leader("next")


def trusted_at(world: World, at: datetime, shift: timedelta) -> None:
    """No row is deleted by its age just after a start, by no clock."""
    become_leader("one")
    Watch.objects.update(trusted_at=at)
    assert not SteadyClock().is_trusted()


def quarantined_since(world: World, at: datetime, shift: timedelta) -> None:
    key = str(uuid4())
    _leave_behind(world.engine, key, LONG_AGO)
    Quarantined.objects.create(key=key, instance=settings.BERTH_INSTANCE, since=at)
    reconcile()
    assert Quarantined.objects.get(pk=key).since <= timezone.now()


def held_since(world: World, at: datetime, shift: timedelta) -> None:
    """A hold since the future or for a day is reported again; one that has just begun was just reported."""
    Installation.objects.filter(pk=read_installation().pk).update(
        held_because="A test.", held_since=at, reminded_at=None
    )
    remind()
    assert (Installation.objects.get().reminded_at is not None) == (shift > timedelta(0) or -shift >= EVERY)


def reminded_at(world: World, at: datetime, shift: timedelta) -> None:
    """A reminder from the future does not count, and one from ten minutes ago does."""
    held = {"held_because": "A test.", "held_since": LONG_AGO}
    Installation.objects.filter(pk=read_installation().pk).update(reminded_at=at, **held)
    remind()
    assert (Installation.objects.get().reminded_at != at) == (shift > timedelta(0) or -shift >= EVERY)


def orphan_created_at(world: World, at: datetime, shift: timedelta) -> None:
    """The moment is the engine's. Orphans go into quarantine, no matter how far the clocks differ."""
    key = str(uuid4())
    _leave_behind(world.engine, key, at)
    Event.objects.create(project_id=key, owner_id=uuid4(), actor="a", source="s", action="stop")  # it was known once
    reconcile()
    assert Quarantined.objects.filter(pk=key).exists()


def _leave_behind(engine: MemoryEngine, key: str, at: datetime) -> None:
    Event.objects.create(project_id=key, owner_id=uuid4(), actor="a", source="s", action="stop")
    engine.foreign(f"left-{key[:8]}", labels={**own_labels(), PROJECT_LABEL: key}).created_at = at
