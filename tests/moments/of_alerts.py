"""The moments that alerts depend on."""

from datetime import datetime, timedelta

from django.conf import settings

from accounts import clock
from containers.vocabulary import Health
from projects.models import AlertChannel, AlertDelivery, Event, Installation, ServiceTrouble, Trouble
from projects.models.event import SYSTEM
from projects.rules.alerts import AlertKind, Way
from projects.rules.service_alerts import AGAIN_WITHIN, Part
from projects.services.alerts.queueing import place
from projects.services.alerts.service_health import describe_backup
from projects.services.alerts.service_notifications import note_service
from projects.watcher.notifications.delivery_threads import DeliveryThreads
from projects.watcher.notifications.troubles import note_troubles
from tests.moments.world import World


def _delivery(world: World, **values: object) -> AlertDelivery:
    channel, _ = AlertChannel.objects.get_or_create(user=world.owner, way=Way.WEBHOOK, defaults={"target": "x"})
    AlertDelivery.objects.all().delete()
    facts = {"code": "crash"}
    return AlertDelivery.objects.create(channel=channel, project_id=world.id, kind="crash", facts=facts, **values)


def next_try_at(world: World, at: datetime, shift: timedelta) -> None:
    """No message waits longer than the longest pause."""
    _delivery(world, next_try_at=at)
    begun: list[object] = []
    DeliveryThreads(run=begun.append).send_due()
    assert bool(begun) == (shift != timedelta(minutes=10))


def told_at(world: World, at: datetime, shift: timedelta) -> None:
    """A message that was sent in the future is sent again; one that was sent ten minutes ago is not."""
    _delivery(world, created_at=at, state="delivered")
    event = world.project().event(SYSTEM, "crash", "crash")
    event.save()
    place(event, AlertKind.CRASH, name="x")
    assert (AlertDelivery.objects.count() == 1) == (shift == timedelta(minutes=-10))


def trouble_since(world: World, at: datetime, shift: timedelta) -> None:
    """Trouble that began in the future is reported at once."""
    world.rows.update(health=Health.UNHEALTHY, observed_at=clock.now(), updated_at=clock.now())
    Trouble.objects.update_or_create(pk=world.id, defaults={"since": at})
    note_troubles()
    assert Event.objects.filter(project_id=world.id, action="degraded").exists()


def well_since(world: World, at: datetime, shift: timedelta) -> None:
    """An agent that is well since the future is well."""
    world.rows.update(observed_at=clock.now(), updated_at=clock.now())
    Trouble.objects.update_or_create(pk=world.id, defaults={"told": "crash", "well_since": at})
    note_troubles()
    assert not Trouble.objects.exists()


def _service_row(**values: object) -> None:
    ServiceTrouble.objects.update_or_create(instance=settings.BERTH_INSTANCE, part=Part.HELD, defaults=values)
    Installation.objects.update(held_because="Something is not as it was.")


def service_since(world: World, at: datetime, shift: timedelta) -> None:
    """Trouble that began in the future is reported at once."""
    _service_row(since=at, is_wrong=True, is_told=False)
    note_service()
    assert ServiceTrouble.objects.get(part=Part.HELD).is_told


def service_told_at(world: World, at: datetime, shift: timedelta) -> None:
    """A notification from the future makes nothing flap."""
    _service_row(since=clock.now() - timedelta(hours=3), is_wrong=True, is_told=False, told_at=at)
    note_service()
    assert ServiceTrouble.objects.get(part=Part.HELD).flaps == (timedelta(0) <= -shift <= AGAIN_WITHIN)


def backed_up_at(world: World, at: datetime, shift: timedelta) -> None:
    """A backup from the future does not count."""
    Installation.objects.update(backed_up_at=at, created_at=clock.now() - timedelta(days=30))
    assert bool(describe_backup()) == (shift > timedelta(0))
