"""A clock that steps back makes no status wrong: every stored moment, 10 minutes and a day away, before its reader.

A run takes two of the four cases, and the other two for the next column; `--whole` takes all. A new column needs a row
in the table below: the reader that compares it with the present, or the word `SHOWN` if none does.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db.models import DateTimeField
from rest_framework.test import APIClient

from accounts import clock
from accounts.models import User
from projects.models import Project
from tests.deploying import deploy_project
from tests.fakes.engine import MemoryEngine
from tests.moments import of_accounts, of_alerts, of_gateway, of_projects, of_watcher
from tests.moments.world import World
from tests.sampling import Some

Reader = Callable[[World, datetime, timedelta], None]
SHOWN = None
"""Nothing follows from the moment, or only from whether there is one."""

SHIFTS = [timedelta(minutes=-10), timedelta(minutes=10), timedelta(days=-1), timedelta(days=1)]

COLUMNS: dict[str, Reader | None] = {
    "accounts.ApiKey.created_at": SHOWN,
    "accounts.ApiKey.expires_at": of_accounts.key_expires_at,
    "accounts.ApiKey.last_used_at": of_accounts.last_used_at,
    "accounts.ApiKey.revoked_at": SHOWN,
    "accounts.KnownNetwork.used_at": of_accounts.known_network_used_at,
    "accounts.LoginCounter.last_attempt_at": of_accounts.last_attempt_at,
    "accounts.OpenSession.began_at": SHOWN,
    "accounts.OpenSession.ends_at": of_accounts.open_session_ends_at,
    "accounts.OutgoingMail.created_at": SHOWN,
    "accounts.OutgoingMail.ended_at": SHOWN,
    "accounts.OutgoingMail.give_up_at": SHOWN,
    "accounts.OutgoingMail.next_try_at": of_accounts.mail_next_try_at,
    "accounts.RevokedSession.expires_at": of_accounts.revocation_expires_at,
    "accounts.SecondFactor.enrolled_at": SHOWN,
    "accounts.User.closed_at": SHOWN,
    "accounts.User.date_joined": SHOWN,
    "accounts.User.last_login": SHOWN,
    "admin.LogEntry.action_time": SHOWN,
    "projects.AlertChannel.created_at": SHOWN,
    "projects.AlertDelivery.created_at": of_alerts.told_at,
    "projects.AlertDelivery.ended_at": SHOWN,
    "projects.AlertDelivery.next_try_at": of_alerts.next_try_at,
    "projects.Batch.created_at": SHOWN,
    "projects.BatchItem.begun_at": of_projects.batch_item_begun_at,
    "projects.EngineHost.ask_again_at": of_projects.ask_again_at,
    "projects.Event.at": of_projects.event_at,
    "projects.Gateway.found_at": of_gateway.found_at,
    "projects.Gateway.silent_at": of_gateway.silent_at,
    "projects.HourlyUsage.hour": SHOWN,
    "projects.IdempotencyRecord.created_at": of_projects.idempotency_created_at,
    "projects.Installation.backed_up_at": of_alerts.backed_up_at,
    "projects.Installation.created_at": SHOWN,
    "projects.Installation.held_since": of_watcher.held_since,
    "projects.Installation.reminded_at": of_watcher.reminded_at,
    "projects.LongRequest.held_until": of_projects.held_until,
    "projects.Project.bot_unconfirmed_at": of_projects.bot_unconfirmed_at,
    "projects.Project.crashes_since": of_projects.crashes_since,
    "projects.Project.budget_refused_at": of_gateway.budget_refused_at,
    "projects.Project.budget_until": of_gateway.budget_until,
    "projects.Project.created_at": SHOWN,
    "projects.Project.disk_measured_at": of_projects.disk_measured_at,
    "projects.Project.disk_warned_at": SHOWN,
    "projects.Project.ended_at": SHOWN,
    "projects.Project.failed_at": SHOWN,
    "projects.Project.finished_at": SHOWN,
    "projects.Project.first_polled_at": SHOWN,
    "projects.Project.gave_up_at": SHOWN,
    "projects.Project.noticed_at": of_projects.noticed_at,
    "projects.Project.observed_at": of_projects.observed_at,
    "projects.Project.operation_deadline": of_projects.operation_deadline,
    "projects.Project.polled_at": of_gateway.polled_at,
    "projects.Project.reconcile_again_at": of_projects.reconcile_again_at,
    "projects.Project.reconcile_failed_at": SHOWN,
    "projects.Project.recreated_at": of_projects.recreated_at,
    "projects.Project.sees_from": of_gateway.sees_from,
    "projects.Project.started_at": of_projects.started_at,
    "projects.Project.suspended_at": SHOWN,
    "projects.Project.update_until": of_projects.update_until,
    "projects.Project.updated_at": of_projects.updated_at,
    "projects.Quarantined.since": of_watcher.quarantined_since,
    "projects.Run.ended_at": SHOWN,
    "projects.Run.started_at": SHOWN,
    "projects.Sample.at": SHOWN,
    "projects.ServiceTrouble.since": of_alerts.service_since,
    "projects.ServiceTrouble.told_at": of_alerts.service_told_at,
    "projects.Trouble.since": of_alerts.trouble_since,
    "projects.Trouble.well_since": of_alerts.well_since,
    "projects.Watch.heartbeat_at": of_watcher.heartbeat_at,
    "projects.Watch.lease_until": of_watcher.lease_until,
    "projects.Watch.trusted_at": of_watcher.trusted_at,
    "sessions.Session.expire_date": of_accounts.session_expire_date,
}
ELSEWHERE: dict[str, Reader] = {
    "budgets of longer than any month": of_gateway.longer_than_any_month,
    "windows of usage": of_accounts.usage_window,
    "session tokens": of_accounts.token_issued_at,
    "set-password links": of_accounts.link_made_at,
    "containers on the engine": of_watcher.orphan_created_at,
}
"""Moments that are not in a column of that kind."""

READERS = {name: reader for name, reader in (COLUMNS | ELSEWHERE).items() if reader is not None}


@pytest.mark.one_database
def test_every_stored_moment_is_in_the_table() -> None:
    stored = {
        f"{model._meta.app_label}.{model.__name__}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, DateTimeField)
    }
    assert stored == COLUMNS.keys()


@pytest.mark.parametrize("name", READERS)
def test_a_moment_in_the_future_counts_as_never_written(
    name: str, api: APIClient, alice: User, engine: MemoryEngine, settings: Any, some: Some
) -> None:
    settings.BERTH_SENDS_MAIL = True
    settings.BERTH_PUBLIC_URL = "https://berth.example"
    for shift in some(SHIFTS, one_in=2, first=list(READERS).index(name)):
        Project.objects.all().delete()
        engine.reset()
        world = World(api, alice, engine, deploy_project(api).pk)
        READERS[name](world, clock.now() + shift, shift)
