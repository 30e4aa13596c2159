"""Telegram and a provider that know the canaries, and that the service calls."""

from collections.abc import Callable, Iterator
from functools import partial
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
    """Each of the two has 20 s to answer on a busy machine, or 0.3 s once a test has silenced it."""
    settings.BERTH_VERIFY_CREDENTIALS = True
    for server, limit in ((telegram, "TELEGRAM_LIMIT"), (provider, "PROVIDER_LIMIT")):
        monkeypatch.setattr(verification, limit, 20.0)
        monkeypatch.setattr(
            server, "stall", _stall_and_hurry(server.stall, partial(monkeypatch.setattr, verification, limit, 0.3))
        )


def _stall_and_hurry(stall: Callable[..., None], hurry: Callable[[], None]) -> Callable[..., None]:
    def stall_and_hurry(*args: Any) -> None:
        hurry()
        stall(*args)

    return stall_and_hurry
