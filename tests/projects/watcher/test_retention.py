"""Rows that are no longer needed are deleted, and no others."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.test import Client
from django.utils import timezone

import accounts.clock
from accounts.models import RevokedSession, UsageCounter, User
from accounts.services.code_alarm import send_code_alarm
from accounts.services.email_change import ask_for_email
from accounts.services.invitations import invite
from accounts.throttling.retention import WINDOW_SECONDS
from projects.models import LongRequest
from projects.services.account.export import start_export
from projects.watcher import watcher as loop
from projects.watcher.upkeep import retention, steady_clock
from projects.watcher.upkeep.retention import Retention, prune
from projects.watcher.upkeep.steady_clock import WAIT as STEADY
from projects.watcher.watcher import Watcher
from tests.projects.watcher.old_rows import BATCHES, DAY, MINUTE, TABLES, Add, long_request, revoked_session
from tests.settings import REAL_LIMITS

every_table = pytest.mark.parametrize(("add", "too_old", "not_too_old"), TABLES.values(), ids=TABLES.keys())

EVERY = TABLES | BATCHES
every_table_and_batches = pytest.mark.parametrize(("add", "too_old", "not_too_old"), EVERY.values(), ids=EVERY.keys())


@pytest.fixture(autouse=True)
def _limits_are_on(settings: Any) -> None:
    settings.BERTH_LIMITS = REAL_LIMITS


@contextmanager
def deleted_rows() -> Iterator[list[int]]:
    """The number of rows that each DELETE has removed."""
    found: list[int] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if sql.startswith("DELETE"):
            found.append(context["cursor"].rowcount)
        return result

    with connection.execute_wrapper(note):
        yield found


@every_table_and_batches
def test_only_rows_that_are_too_old_are_deleted(
    add: Add, too_old: timedelta, not_too_old: timedelta, alice: User
) -> None:
    now = timezone.now()
    old, young = add(alice, now - too_old), add(alice, now - not_too_old)
    list(prune())
    assert list(type(old).objects.values_list("pk", flat=True)) == [young.pk]


@every_table
def test_no_statement_deletes_more_than_a_batch(
    add: Add, too_old: timedelta, not_too_old: timedelta, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 3)
    for _ in range(7):
        add(alice, timezone.now() - too_old)
    with deleted_rows() as batches:
        assert sum(prune()) == 7
    assert batches == [3, 3, 1]


@pytest.mark.django_db
def test_a_batch_is_500_rows() -> None:
    long_ago = timezone.now() - timedelta(days=33)
    sessions = [RevokedSession(jti=str(number), expires_at=long_ago) for number in range(1001)]
    RevokedSession.objects.bulk_create(sessions)
    with deleted_rows() as batches:
        list(prune())
    assert batches == [500, 500, 1]


def test_a_row_used_again_meanwhile_is_kept(alice: User) -> None:
    """It is renewed between the query and the deletion."""
    lease = long_request(alice, timezone.now() - MINUTE)

    def renew(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("DELETE"):
            LongRequest.objects.update(held_until=timezone.now() + MINUTE)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(renew):
        list(prune())
    assert LongRequest.objects.get() == lease


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("broken", ["accounts_usagecounter", "accounts_logincounter", "projects_idempotencyrecord"])
def test_an_error_in_one_table_blocks_no_other(broken: str, alice: User, caplog: pytest.LogCaptureFixture) -> None:
    rows = [add(alice, timezone.now() - too_old) for add, too_old, _ in TABLES.values()]

    def fail(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("DELETE") and broken in sql:
            raise DatabaseError("The table is locked.")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail):
        list(prune())
    left = {type(row)._meta.db_table for row in rows if type(row).objects.filter(pk=row.pk).exists()}
    assert left == {broken}
    assert caplog.text.count("could not be deleted") == 1


def test_a_step_deletes_one_batch_and_a_run_starts_once_an_hour(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 1)
    clock = [10_000.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    began = timezone.now()
    monkeypatch.setattr(accounts.clock, "now", lambda: began + timedelta(seconds=clock[0] - 10_000))
    for _ in range(2):
        revoked_session(alice, timezone.now() - 33 * DAY)
    kept = Retention()
    kept.step()
    clock[0] += STEADY.total_seconds()
    left = []
    for _ in range(4):
        kept.step()
        left.append(RevokedSession.objects.count())
    assert left == [2, 1, 0, 0]  # the first step only begins
    revoked_session(alice, timezone.now() - 33 * DAY)
    kept.step()
    kept.step()
    assert RevokedSession.objects.count() == 1
    clock[0] += retention.EVERY
    kept.step()
    kept.step()
    assert RevokedSession.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_the_watcher_deletes_round_by_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(steady_clock, "WAIT", timedelta(0))
    RevokedSession.objects.create(jti="old", expires_at=timezone.now() - 33 * DAY)
    watcher = Watcher()
    gone = threading.Event()
    monkeypatch.setattr(loop, "beat", lambda name, at: gone.set() if not RevokedSession.objects.exists() else None)

    def run() -> None:
        watcher.run()
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert gone.wait(60)
    finally:
        watcher.stop()
        thread.join(60)


@pytest.mark.django_db
def test_every_scope_that_is_counted_is_known(settings: Any, alice: User) -> None:
    """The rows of a scope with an unknown window would be kept forever."""
    settings.BERTH_SIGNUP = "open"
    settings.BERTH_SENDS_MAIL = True
    send_code_alarm(user=alice, address=None)
    cache.clear()
    client = Client()
    client.post("/sign-up", {"email": "carol@example.org"})
    client.post("/api/auth/login", {"email": "carol@example.org", "password": "wrong"}, "application/json")
    ask_for_email(user=alice, session=None, email="alice@new.example.com")
    start_export(user=alice)
    invite(["carol@new.example.com"], by=alice, by_mail=True)
    counted = set(UsageCounter.objects.values_list("scope", flat=True))
    assert counted == set(WINDOW_SECONDS)
    assert not counted & set(django_settings.BERTH_LIMITS)
