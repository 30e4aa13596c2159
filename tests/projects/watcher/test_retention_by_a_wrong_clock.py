"""A clock that is wrong for a while costs no row, of whatever table."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from accounts import clock
from accounts.credentials.dashboard_sessions import find_dead_sessions
from accounts.credentials.session_tokens import revoke_session
from accounts.models import RevokedSession, User
from accounts.throttling.retention import find_expired
from projects.models import Watch
from projects.watcher.upkeep import retention
from projects.watcher.upkeep.retention import Retention
from projects.watcher.upkeep.steady_clock import WAIT, WAIT_IF_FAR
from tests.projects.watcher.old_rows import BATCHES, DAY, MINUTE, TABLES, Add, revoked_session
from tests.settings import REAL_LIMITS

AHEAD = [3 * DAY, 500 * DAY, -3 * DAY, -500 * DAY]

EVERY = TABLES | BATCHES

every_table = pytest.mark.parametrize("add", [add for add, *_ in EVERY.values()], ids=EVERY.keys())
every_error = pytest.mark.parametrize("wrong", AHEAD, ids=lambda wrong: f"{wrong.days} days")


class Time:
    """The monotonic clock, and the clock of the service, which may be wrong."""

    def __init__(self) -> None:
        self.right = timezone.now()
        self.began, self.wrong = self.right, timedelta(0)

    def monotonic(self) -> float:
        return 10_000.0 + (self.right - self.began).total_seconds()

    def now(self) -> datetime:
        return self.right + self.wrong


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Time:
    settings.BERTH_LIMITS = REAL_LIMITS
    made = Time()
    monkeypatch.setattr("time.monotonic", made.monotonic)
    monkeypatch.setattr(clock, "now", made.now)
    return made


@pytest.fixture
def run(time: Time) -> Callable[..., None]:
    """Lets so much time pass in the watcher."""

    def run_for(kept: Retention, span: timedelta, *, looks: int = 40) -> None:
        for _ in range(looks):
            kept.step()
            time.right += span / looks
        for _ in range(10):
            kept.step()

    return run_for


def beaten(at: datetime) -> None:
    Watch.objects.update_or_create(instance=django_settings.BERTH_INSTANCE, defaults={"heartbeat_at": at})


@every_table
@every_error
@pytest.mark.parametrize("begins", ["at the start", "while it runs"])
def test_a_clock_that_is_wrong_for_half_an_hour_deletes_nothing(
    begins: str, wrong: timedelta, add: Add, alice: User, time: Time, run: Callable[..., None]
) -> None:
    beaten(time.right - MINUTE)
    kept = Retention()
    if begins == "while it runs":
        run(kept, 3 * WAIT)
    row = add(alice, time.right)
    time.wrong = wrong
    run(kept, WAIT / 2)
    time.wrong = timedelta(0)
    run(kept, WAIT - MINUTE)
    assert type(row).objects.filter(pk=row.pk).exists()


@every_error
def test_a_clock_that_is_far_off_at_the_start_is_not_trusted_for_a_day(
    wrong: timedelta, alice: User, time: Time, run: Callable[..., None]
) -> None:
    beaten(time.right)
    time.wrong = wrong
    old = revoked_session(alice, time.now() - 40 * DAY)
    kept = Retention()
    kept.step()
    beaten(time.now())
    run(kept, WAIT_IF_FAR - MINUTE)
    assert RevokedSession.objects.filter(pk=old.pk).exists()
    run(kept, 2 * MINUTE)
    assert not RevokedSession.objects.exists()


@pytest.mark.sampled(6)
@every_table
@every_error
def test_a_restart_while_the_clock_is_wrong_does_not_make_it_trusted(
    wrong: timedelta, add: Add, alice: User, time: Time, run: Callable[..., None]
) -> None:
    """The watcher has noted its heartbeat by the wrong clock by then, perhaps several times."""
    beaten(time.right - MINUTE)
    kept = Retention()
    run(kept, 3 * WAIT)
    row = add(alice, time.right)
    time.wrong = wrong
    for _ in range(3):
        run(kept, 2 * WAIT)
        beaten(time.now())
        kept = Retention()
    run(kept, 2 * WAIT)
    time.wrong = timedelta(0)
    run(kept, WAIT - MINUTE)
    kept = Retention()
    run(kept, WAIT - MINUTE)
    assert type(row).objects.filter(pk=row.pk).exists()


def test_a_run_that_has_begun_ends_when_the_clock_steps(
    alice: User, time: Time, run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 1)
    beaten(time.right)
    kept = Retention()
    run(kept, WAIT, looks=1)
    rows = [revoked_session(alice, time.right - 40 * DAY) for _ in range(3)]
    kept._again_at = 0.0
    kept.step()
    kept.step()
    left = RevokedSession.objects.count()
    assert left < len(rows)
    time.wrong = -30 * DAY
    run(kept, WAIT / 2)
    assert RevokedSession.objects.count() == left


@every_error
def test_a_sign_out_forgets_no_other(wrong: timedelta, alice: User, time: Time) -> None:
    old = revoked_session(alice, time.right - DAY)
    time.wrong = wrong
    revoke_session(jti="f" * 32, expires_at=time.now())
    assert RevokedSession.objects.filter(pk=old.pk).exists()


@pytest.mark.django_db
def test_every_table_that_is_pruned_has_a_row_here(alice: User, settings: Any) -> None:
    settings.BERTH_LIMITS = REAL_LIMITS
    now = timezone.now()
    pruned = {rows.model for rows in (*find_expired(now), *find_dead_sessions(now), *retention._find_expired(now))}
    assert pruned == {type(add(alice, now)) for add, *_ in EVERY.values()}
