"""A moment in the future counts as never written: the pure functions, and the same conditions in SQL."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import Q

from accounts import moments
from accounts.models import RevokedSession

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
WITHIN = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
OFFSETS = [
    timedelta(seconds=seconds) for seconds in (-86_400, -600, -61, -59, -1, 0, 1, 2, 10, 59, 60, 61, 62, 600, 86_400)
]


@pytest.mark.parametrize("offset", OFFSETS, ids=lambda offset: f"{offset.total_seconds():+g} s")
def test_moments_that_count(offset: timedelta) -> None:
    moment = NOW + offset
    assert moments.is_future(moment, now=NOW) == (offset > SECOND)
    assert moments.is_recent(moment, within=WITHIN, now=NOW) == (-WITHIN <= offset <= SECOND)
    assert moments.lasts(moment, at_most=WITHIN, now=NOW) == (timedelta(0) < offset <= WITHIN + SECOND)


def test_moments_that_do_not_count() -> None:
    assert not moments.is_future(None, now=NOW)
    assert not moments.is_recent(None, within=WITHIN, now=NOW)
    assert not moments.lasts(None, at_most=WITHIN, now=NOW)


@pytest.mark.django_db
def test_the_database_agrees() -> None:
    RevokedSession.objects.bulk_create(
        RevokedSession(jti=str(number), expires_at=NOW + offset) for number, offset in enumerate(OFFSETS)
    )
    rows = {row.expires_at: row for row in RevokedSession.objects.all()}
    field = "expires_at"
    pairs: list[tuple[Q, Callable[[datetime], bool]]] = [
        (moments.future(field, now=NOW), lambda at: moments.is_future(at, now=NOW)),
        (moments.recent(field, within=WITHIN, now=NOW), lambda at: moments.is_recent(at, within=WITHIN, now=NOW)),
        (
            moments.not_recent(field, within=WITHIN, now=NOW),
            lambda at: not moments.is_recent(at, within=WITHIN, now=NOW),
        ),
        (moments.over(field, at_most=WITHIN, now=NOW), lambda at: not moments.lasts(at, at_most=WITHIN, now=NOW)),
    ]
    for condition, function in pairs:
        found = set(RevokedSession.objects.filter(condition).values_list(field, flat=True))
        assert found == {at for at in rows if function(at)}
