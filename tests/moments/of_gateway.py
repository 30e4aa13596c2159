"""Readers of the moments that are stored about the gateway, and about what it has seen."""

from datetime import datetime, timedelta

from django.conf import settings

from accounts import clock
from containers.gateway.protocol import GatewayClient
from projects.models import Gateway
from projects.services.gateway.provisioning import ensure_gateway, find_gateway
from projects.services.limits.budgets import note_refusal
from projects.watcher.gateway.sightings import note_sightings
from tests.moments.world import World


def found_at(world: World, at: datetime, shift: timedelta) -> None:
    """A deploy looks for the gateway again."""
    ensure_gateway()
    Gateway.objects.filter(pk=settings.BERTH_INSTANCE).update(found_at=at)
    before = len(world.engine.calls)
    find_gateway()
    assert ("ensure_gateway", "") in world.engine.calls[before:]


def silent_at(world: World, at: datetime, shift: timedelta) -> None:
    """A deploy tries again whether it answers."""
    ensure_gateway()
    Gateway.objects.filter(pk=settings.BERTH_INSTANCE).update(found_at=None, silent_at=at)
    find_gateway()


def budget_until(world: World, at: datetime, shift: timedelta) -> None:
    world.rows.update(budget_until=at)
    assert world.status() == ("degraded" if shift > timedelta(0) else "running")


def longer_than_any_month(world: World, at: datetime, shift: timedelta) -> None:
    """A budget that is reset later than any period ends was written by another clock."""
    world.rows.update(budget_until=at + timedelta(days=40))
    assert world.status() == "running"


def budget_refused_at(world: World, at: datetime, shift: timedelta) -> None:
    """Another refusal is reported."""
    world.rows.update(budget_refused_at=at)
    note_refusal(world.project(), clock.now())
    assert world.project().budget_until is not None


def sees_from(world: World, at: datetime, shift: timedelta) -> None:
    """A refusal at present counts."""
    world.rows.update(sees_from=at, is_behind_gateway=True)
    see(world, telegram_status=401, telegram_at=clock.now().timestamp())
    assert world.project().seen_code == "telegram_token"


def polled_at(world: World, at: datetime, shift: timedelta) -> None:
    """A poll at present is recorded."""
    world.rows.update(polled_at=at, is_behind_gateway=True)
    see(world, last_poll=clock.now().timestamp())
    noted = world.project().polled_at
    assert noted is not None
    assert abs(clock.now() - noted) < timedelta(minutes=5)


def see(world: World, **what: float) -> None:
    ensure_gateway()
    world.engine.gateway_program.see(str(world.id), **what)
    note_sightings(GatewayClient(world.engine.gateway()).look().sightings)
