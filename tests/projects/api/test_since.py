"""`?since=`: a time, or how long ago."""

from datetime import UTC, datetime, timedelta

import pytest

from accounts.api.parameters import ParameterError
from projects.api.parameters import SINCE

pytestmark = pytest.mark.one_database

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
AGO = {
    "5m": timedelta(minutes=5), "0s": timedelta(), "90s": timedelta(seconds=90), "2h": timedelta(hours=2),
    "7d": timedelta(days=7), "2w": timedelta(weeks=2), "1h30m": timedelta(minutes=90), "1d1d": timedelta(days=2),
    "007m": timedelta(minutes=7),
}  # fmt: skip
NO_MOMENTS = [
    "", "5", "m", "-5m", "+5m", "5 m", " 5m", "5m ", "5M", "5y", "1.5h", "5m!", "\u0665m", "5m\n", "m5",
    "9" * 5000 + "m", "1s" * 2000 + "x", "99999999999s", "yesterday", "PT5M",
]  # fmt: skip


@pytest.mark.parametrize("sent", AGO)
def test_how_long_ago_is_a_time(monkeypatch: pytest.MonkeyPatch, sent: str) -> None:
    monkeypatch.setattr("accounts.clock.now", lambda: NOW)
    assert SINCE.read(sent) == NOW - AGO[sent]


@pytest.mark.parametrize("sent", NO_MOMENTS)
def test_a_value_that_is_neither_time_nor_duration_is_refused(sent: str) -> None:
    with pytest.raises(ParameterError, match="5m, 2h or 7d"):
        SINCE.read(sent)


@pytest.mark.parametrize("sent", ["999999999w", "435053366w8h", "999999999w" * 20, "30000d", "999999999s" * 400])
def test_longer_ago_than_anything_is_from_the_beginning_on(sent: str) -> None:
    assert SINCE.read(sent) == datetime(1970, 1, 1, tzinfo=UTC)
