"""What Telegram and the provider are asked before anything is deployed, and what stays secret."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.credentials import verification
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.projects.credentials.outages import OUTAGES, assert_nothing_made, warnings_of

TOKEN = CANARY_TELEGRAM_TOKEN

pytestmark = pytest.mark.usefixtures("credentials_are_verified")


def test_good_credentials_are_deployed_and_the_bot_is_named(api: APIClient, body: dict[str, Any]) -> None:
    answer = api.post("/api/projects", body | {"settings": {"allowed_users": ["*"]}})
    assert warnings_of(answer) == []
    assert answer.json()["bot"] == {
        "id": 987654321,
        "username": "harbour_pilot_bot",
        "url": "https://t.me/harbour_pilot_bot",
        "paired": None,
    }
    assert answer.json()["provider"] == "openai"


def test_a_dry_run_shows_the_bot_and_creates_nothing(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    answer = api.post("/api/projects/validate", body)
    assert answer.status_code == 200
    assert answer.json()["bot"]["username"] == "harbour_pilot_bot"
    assert (answer.json()["valid"], answer.json()["warnings"]) == (True, [])
    assert_nothing_made(engine)


def test_both_out_of_order_warn_twice(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram, provider: FakeProvider
) -> None:
    telegram.stop()
    provider.stop()
    assert warnings_of(api.post("/api/projects", body)) == ["provider_unverified", "telegram_unverified"]


@pytest.mark.parametrize("outage", [*OUTAGES.values(), lambda telegram: telegram.revoke(TOKEN)])
def test_no_credential_reaches_the_log_at_its_lowest_level(
    api: APIClient,
    body: dict[str, Any],
    telegram: FakeTelegram,
    provider: FakeProvider,
    outage: Callable[[FakeTelegram], object],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    outage(telegram)
    provider.stop()
    api.post("/api/projects", body)
    secrets = (TOKEN, TOKEN.partition(":")[2], CANARY_API_KEY)
    assert not [record for record in caplog.records if any(secret in record.getMessage() for secret in secrets)]
    assert not [record.name for record in caplog.records if record.name.startswith("urllib3")]


def test_the_switch_turns_the_questions_off(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram, provider: FakeProvider, settings: Any
) -> None:
    settings.BERTH_VERIFY_CREDENTIALS = False
    telegram.revoke(TOKEN)
    answer = api.post("/api/projects", body | {"apiKey": "sk-ant-unknown"})
    assert warnings_of(answer) == []
    assert answer.json()["provider"] == "anthropic"
    assert (telegram.requests, provider.requests) == ([], [])


def test_a_check_shows_no_credential_in_its_repr() -> None:
    check = verification.verify_credentials(telegram_token=TOKEN, api_key=CANARY_API_KEY)
    assert TOKEN.partition(":")[2] not in repr(check)
    assert CANARY_API_KEY not in repr(check)
