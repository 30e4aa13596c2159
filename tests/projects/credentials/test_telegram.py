"""Telegram's answer about a bot token before anything is deployed."""

from collections.abc import Callable
from typing import Any

import pytest
import requests
from rest_framework.test import APIClient

from tests.canaries import CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.fakes.telegram import FakeTelegram
from tests.problem_document import assert_problem, codes_of
from tests.projects.credentials.outages import OUTAGES, assert_nothing_made, warnings_of

TOKEN = CANARY_TELEGRAM_TOKEN

pytestmark = pytest.mark.usefixtures("credentials_are_verified")


@pytest.mark.parametrize("path", ["/api/projects", "/api/projects/validate"])
def test_a_token_that_telegram_refuses_is_a_400(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram, engine: MemoryEngine, path: str
) -> None:
    telegram.revoke(TOKEN)
    answer = api.post(path, body, headers={"idempotency-key": "k"})
    assert_problem(answer, 400, "invalid")
    assert codes_of(answer) == {("telegramToken", "rejected")}
    assert_nothing_made(engine)


def test_a_token_that_telegram_does_not_know_is_a_400(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    answer = api.post("/api/projects", body | {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN})
    assert codes_of(answer) == {("telegramToken", "rejected")}
    assert_nothing_made(engine)


@pytest.mark.parametrize("token", ["1:" + "x" * 254, "1:_", "1:--", "0:0"])
def test_a_token_of_an_unlikely_form_is_for_telegram_to_judge(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, telegram: FakeTelegram, token: str
) -> None:
    assert codes_of(api.post("/api/projects", body | {"telegramToken": token})) == {("telegramToken", "rejected")}
    assert telegram.requests == [("GET", f"/bot{token}/getMe")]
    assert_nothing_made(engine)


@pytest.mark.parametrize(
    "token",
    [
        *("x", "12:", "12", ":abc", "a:b", "12:a b", "1:" + "ä" * 20, "1:a/../getMe?x=", "1:a#b", "1:a%2fb"),
        *("1:a?b=c", "1:%00", "1:a:b", "1:\\", "1:abc+def/ghi", "1:a\u200bb", "\ufeff1:ab"),
    ],
)
def test_a_malformed_token_is_not_sent_to_telegram(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram, token: str
) -> None:
    assert codes_of(api.post("/api/projects", body | {"telegramToken": token})) == {("telegramToken", "malformed")}
    assert telegram.requests == []


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES.keys())
def test_a_telegram_out_of_order_only_warns(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram, outage: Callable[[FakeTelegram], object]
) -> None:
    outage(telegram)
    answer = api.post("/api/projects", body)
    assert warnings_of(answer) == ["telegram_unverified"]
    assert answer.json()["status"] == "running"
    assert answer.json()["bot"] == {"id": 987654321, "username": "", "url": "", "paired": None}


def test_a_dry_run_warns_in_its_answer(api: APIClient, body: dict[str, Any], telegram: FakeTelegram) -> None:
    telegram.stop()
    [warning] = api.post("/api/projects/validate", body).json()["warnings"]
    assert warning.startswith("telegram_unverified: ")


def test_a_webhook_is_reported_because_it_blocks_polling(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram
) -> None:
    requests.post(f"{telegram.url}/bot{TOKEN}/setWebhook", json={"url": "https://elsewhere.example/hook"}, timeout=5)
    answer = api.post("/api/projects", body)
    assert warnings_of(answer) == ["telegram_webhook"]
    assert answer.json()["bot"]["username"] == "harbour_pilot_bot"


def test_an_unknown_webhook_does_not_count(api: APIClient, body: dict[str, Any], telegram: FakeTelegram) -> None:
    telegram.stall(TOKEN, "getWebhookInfo")
    assert warnings_of(api.post("/api/projects", body)) == []


@pytest.mark.parametrize("username", ["x" * 65, "a b", "<script>", "a\\u0000b", "../evil", ""])
def test_an_invalid_bot_name_is_left_out(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram, username: str
) -> None:
    telegram._bots[TOKEN].username = username.replace("\\u0000", "\x00")
    assert api.post("/api/projects", body).json()["bot"] == {"id": 987654321, "username": "", "url": "", "paired": None}
