"""Fixtures of all tests of limits: production's limits, and a clock that stands still."""

import pytest
from pytest_django import Settings

from tests.accounts.throttling.rate_limiting import Clock
from tests.settings import REAL_LIMITS


@pytest.fixture
def real_limits(settings: Settings) -> None:
    settings.BERTH_LIMITS = REAL_LIMITS


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Each test here counts within one time window, which must not end in the middle of the test."""
    clock = Clock()
    monkeypatch.setattr("django.utils.timezone.now", clock)
    monkeypatch.setattr("accounts.clock.now", clock)  # without a question to PostgreSQL, which some tests do not have
    return clock
