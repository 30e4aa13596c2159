"""Readers of the moments that projects store.

Each is shown a moment that is `shift` away from now, and must treat one in the future as never written.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings

from accounts import clock
from containers.vocabulary import Health
from projects.api.streams.long_requests import PER_USER, acquire_lease
from projects.models import EngineHost, Event, EventCursor, IdempotencyRecord, LongRequest, Project, Watch
from projects.models.columns.reconciliation import LONGEST_PAUSE
from projects.rules.status.image_update import LONGEST_TRIAL, Step, choose_due
from projects.rules.status.lifecycle import CRASH_LIMIT, Operation
from projects.services.bulkheads import Places
from projects.services.credentials.bot_claims import find_unconfirmed
from projects.services.limits.capacity import learn_host_memory
from projects.services.staff.batches import begin_batch, end_what_was_lost
from projects.watcher.reconcile.full import reconcile
from projects.watcher.upkeep.disk import measure_disks
from tests.deploying import PROJECT
from tests.moments.world import LONG_AGO, World


def observed_at(world: World, at: datetime, shift: timedelta) -> None:
    """An agent is killed: the next read says so, and the next round records it."""
    world.rows.update(observed_at=at)
    world.engine.crash(world.name)
    assert world.status() != "running"
    reconcile(repair=False)
    assert world.project().container_state == "exited"
    assert world.project().observed_at <= clock.now()  # type: ignore[operator]  # it has just been written


def updated_at(world: World, at: datetime, shift: timedelta) -> None:
    """One round brings the row back to the present, so that the heartbeat vouches for it again."""
    world.rows.update(updated_at=at, observed_at=LONG_AGO)
    world.engine.crash(world.name)
    _beat(clock.now())
    assert world.status() != "running" or shift < timedelta(0)
    world.engine.restart_once_more(world.name)
    _beat(reconcile().at)
    assert world.project().updated_at <= clock.now()
    world.engine.unavailable = True
    assert world.status() != "unknown"


def operation_deadline(world: World, at: datetime, shift: timedelta) -> None:
    """An owner's command and the watcher take over what a killed server has left."""
    held = {"operation": Operation.RESTART, "operation_id": uuid4(), "operation_deadline": at}
    world.rows.update(**held)
    assert world.status() == "running"
    assert world.api.post(f"{world.path}/control", {"action": "restart"}).status_code == 200
    world.rows.update(**held)
    reconcile()
    assert world.project().operation == ""


def started_at(world: World, at: datetime, shift: timedelta) -> None:
    """If the engine's clock is ahead of ours by a day,
    an agent without a health check must not be `starting` for a day."""
    world.rows.update(started_at=at, health=Health.NONE, agent_state="", observed_at=clock.now())
    world.engine.unavailable = True
    assert world.status() == "running"


def recreated_at(world: World, at: datetime, shift: timedelta) -> None:
    world.rows.update(recreated_at=at)
    world.engine.vanish(world.name)
    reconcile()
    assert world.name in world.engine.containers
    assert world.status() == "running"


def crashes_since(world: World, at: datetime, shift: timedelta) -> None:
    """The crashes of a window that is over, or has not begun, no longer count."""
    world.rows.update(crashes_since=at, crash_count=CRASH_LIMIT - 1)
    world.engine.crash(world.name, restarting=True)
    reconcile()
    assert world.project().crash_count == 1
    assert world.project().gave_up_at is None


def disk_measured_at(world: World, at: datetime, shift: timedelta) -> None:
    """A measurement from the future prevents no other, even for a stopped agent."""
    world.api.post(f"{world.path}/control", {"action": "stop"})
    world.rows.update(disk_measured_at=at, disk_used=1, updated_at=LONG_AGO, finished_at=LONG_AGO)
    measure_disks()
    measured = world.project().disk_measured_at
    assert measured is not None and measured <= clock.now()  # noqa: PT018 - for the type checker
    assert (world.project().disk_used != 1) == (shift > timedelta(0))


def noticed_at(world: World, at: datetime, shift: timedelta) -> None:
    """A mail that was sent in the future prevents none; one from ten minutes ago does."""
    world.rows.update(noticed_at=at)
    world.engine.crash(world.name, exit_code=20, restarting=True)
    reconcile()
    told = world.project().noticed_at
    assert (told == at) == (shift == timedelta(minutes=-10))
    assert told is not None and told <= clock.now()  # noqa: PT018 - for the type checker


def reconcile_again_at(world: World, at: datetime, shift: timedelta) -> None:
    world.rows.update(reconcile_failures=1, reconcile_again_at=at)
    assert reconcile().skipped == (1 if shift == LONGEST_PAUSE else 0)


def update_until(world: World, at: datetime, shift: timedelta) -> None:
    """A new image that is not ready has until then, but none has longer than any trial."""
    starting = {"health": Health.STARTING, "agent_state": "", "started_at": LONG_AGO}
    world.rows.update(update_step=Step.TRIAL, update_until=at, **starting)
    has_time = timedelta(0) < shift <= LONGEST_TRIAL
    assert (choose_due(world.project().facts()) is None) == has_time


def bot_unconfirmed_at(world: World, at: datetime, shift: timedelta) -> None:
    """A claim that was checked in the future is the next to be checked."""
    asked_now = Project.objects.get(pk=world.deploy(telegramToken="5:other"))
    Project.objects.update(bot_unconfirmed_at=clock.now())
    world.rows.update(bot_unconfirmed_at=at)
    assert list(find_unconfirmed()) == [world.project(), asked_now]


def ask_again_at(world: World, at: datetime, shift: timedelta) -> None:
    """Within the hour of the postponement nobody asks the engine about its host's memory."""
    EngineHost.objects.update_or_create(instance=settings.BERTH_INSTANCE, defaults={"ask_again_at": at})
    world.engine.calls.clear()
    learn_host_memory()
    assert (("describe_host", "") in world.engine.calls) == (shift != timedelta(minutes=10))


def idempotency_created_at(world: World, at: datetime, shift: timedelta) -> None:
    """An answer is kept, and a request that was interrupted before it created anything is repeated."""

    def send() -> Any:
        body, headers = PROJECT | {"telegramToken": "5:once"}, {"idempotency-key": "once"}
        return world.api.post("/api/projects", body, headers=headers)

    first = send()
    assert first.status_code == 201, first.content
    IdempotencyRecord.objects.update(created_at=at)
    if shift > timedelta(days=-1):
        assert send().content == first.content
    Project.objects.filter(pk=first.json()["id"]).delete()
    IdempotencyRecord.objects.update(created_at=at, answer="")
    assert send().status_code == 201


def held_until(world: World, at: datetime, shift: timedelta) -> None:
    LongRequest.objects.bulk_create(LongRequest(owner=world.owner, held_until=at) for _ in range(PER_USER))
    with acquire_lease(world.owner, Places(total=4, each=4, reserve=1)):
        assert LongRequest.objects.count() == 1


def event_at(world: World, at: datetime, shift: timedelta) -> None:
    """A reader waits ten seconds at a gap, and not for a day."""
    cursor = EventCursor.named(f"reader {shift}")
    after_a_gap = cursor.last_event_id + 10_000  # far from the numbers that the sequence gives out meanwhile
    late = Event(pk=after_a_gap, project_id=uuid4(), owner_id=uuid4(), at=at, actor="a", source="s", action="stop")
    Event.objects.bulk_create([late])
    assert [event.pk for event in cursor.unread(limit=10)] == [after_a_gap]


def batch_item_begun_at(world: World, at: datetime, shift: timedelta) -> None:
    """An item that began long ago, or in the future, is no longer under way."""
    batch = begin_batch(by=world.owner, action="stop", chosen=[(world.id, "x")])
    batch.items.update(state="begun", begun_at=at)
    end_what_was_lost(batch)
    assert batch.items.get().state == "lost"


def _beat(at: datetime) -> None:
    Watch.objects.update_or_create(instance=settings.BERTH_INSTANCE, defaults={"heartbeat_at": at})
