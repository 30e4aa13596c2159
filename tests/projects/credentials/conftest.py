"""Telegram and a provider that know the canaries, and are asked."""

from collections.abc import Iterator
from typing import Any

import pytest

from projects.credentials import verification
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram


@pytest.fixture
def telegram(settings: Any) -> Iterator[FakeTelegram]:
    with FakeTelegram() as server:
        server.add_bot(CANARY_TELEGRAM_TOKEN, "harbour_pilot_bot")
        settings.BERTH_TELEGRAM_API = server.url
        yield server


@pytest.fixture
def provider(settings: Any) -> Iterator[FakeProvider]:
    with FakeProvider() as server:
        server.add_key(CANARY_API_KEY)
        settings.BERTH_PROVIDER_API = server.api_base
        yield server


@pytest.fixture
def credentials_are_verified(
    settings: Any, telegram: FakeTelegram, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BERTH_VERIFY_CREDENTIALS = True
    monkeypatch.setattr(verification, "TELEGRAM_LIMIT", 0.3)
    monkeypatch.setattr(verification, "PROVIDER_LIMIT", 0.3)
