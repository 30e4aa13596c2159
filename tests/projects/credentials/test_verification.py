"""What Telegram and the provider say of the credentials before anything is deployed."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from rest_framework.test import APIClient

from projects.credentials import verification
from projects.models import Event, IdempotencyRecord, Project
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.problem_document import assert_problem, codes_of

TOKEN = CANARY_TELEGRAM_TOKEN


@pytest.fixture
def telegram(settings: Any) -> Iterator[FakeTelegram]:
    with FakeTelegram() as server:
        server.add_bot(TOKEN, "harbour_pilot_bot")
        settings.BERTH_TELEGRAM_API = server.url
        yield server


@pytest.fixture
def provider(settings: Any) -> Iterator[FakeProvider]:
    with FakeProvider() as server:
        server.add_key(CANARY_API_KEY)
        settings.BERTH_PROVIDER_API = server.api_base
        yield server


@pytest.fixture(autouse=True)
def _checks_are_on(
    settings: Any, telegram: FakeTelegram, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BERTH_VERIFY_CREDENTIALS = True
    monkeypatch.setattr(verification, "TIMEOUT", (0.3, 0.3))


def warnings_of(answer: Any) -> list[str]:
    """The codes of the warning events of the project that was made."""
    assert answer.status_code == 201, answer.content
    details = Event.objects.filter(project_id=answer.json()["id"], outcome="warning").values_list("detail", flat=True)
    return sorted(detail.partition(":")[0] for detail in details)


def assert_nothing_made(engine: MemoryEngine) -> None:
    assert not Project.objects.exists()
    assert not IdempotencyRecord.objects.exists()
    assert not engine.containers
    assert not [verb for verb, _ in engine.calls if verb == "deploy"]


def test_good_credentials_are_deployed_and_the_bot_is_named(api: APIClient, body: dict[str, Any]) -> None:
    answer = api.post("/api/projects", body)
    assert warnings_of(answer) == []
    assert answer.json()["bot"] == {
        "id": 987654321,
        "username": "harbour_pilot_bot",
        "url": "https://t.me/harbour_pilot_bot",
    }
    assert answer.json()["provider"] == "openai"


def test_a_dry_run_tells_the_bot_and_makes_nothing(api: APIClient, body: dict[str, Any], engine: MemoryEngine) -> None:
    answer = api.post("/api/projects/validate", body)
    assert answer.status_code == 200
    assert answer.json()["bot"]["username"] == "harbour_pilot_bot"
    assert (answer.json()["valid"], answer.json()["warnings"]) == (True, [])
    assert_nothing_made(engine)


# -- Telegram ---------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "token",
    ["1:" + "ä" * 20, "1:a/../getMe?x=", "1:a#b", "1:a%2fb", "1:a?b=c", "1:%00", "1:" + "x" * 254, "1:a:b", "1:\\"],
)
def test_a_token_of_an_unlikely_form_is_for_telegram_to_judge(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, telegram: FakeTelegram, token: str
) -> None:
    assert codes_of(api.post("/api/projects", body | {"telegramToken": token})) == {("telegramToken", "rejected")}
    assert telegram.requests == [("GET", f"/bot{token}/getMe")]
    assert_nothing_made(engine)


@pytest.mark.parametrize("token", ["x", "12:", "12", ":abc", "a:b", "12:a b"])
def test_what_is_no_token_is_not_sent_to_telegram(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram, token: str
) -> None:
    assert codes_of(api.post("/api/projects", body | {"telegramToken": token})) == {("telegramToken", "malformed")}
    assert telegram.requests == []


def conflict(telegram: FakeTelegram) -> None:
    telegram.conflict(TOKEN)
    for fault in telegram._bots[TOKEN].faults:
        fault.only = None


def not_an_object(telegram: FakeTelegram) -> None:
    telegram.garbage(TOKEN, body=b"[1, 2]")


def hang_up(telegram: FakeTelegram) -> None:
    telegram.stop()


OUTAGES: dict[str, Callable[[FakeTelegram], object]] = {
    "409": conflict,
    "429": lambda telegram: telegram.rate_limit(TOKEN),
    "500": lambda telegram: telegram.break_down(TOKEN, 500),
    "502 in HTML": lambda telegram: telegram.break_down(TOKEN, 502),
    "403 in HTML": lambda telegram: telegram.break_down(TOKEN, 403),
    "302": lambda telegram: telegram.break_down(TOKEN, 302),
    "200 in HTML": lambda telegram: telegram.break_down(TOKEN, 200),
    "garbage": lambda telegram: telegram.garbage(TOKEN),
    "a list": not_an_object,
    "silence": lambda telegram: telegram.stall(TOKEN),
    "nobody there": hang_up,
}


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES.keys())
def test_a_telegram_out_of_order_only_warns(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram, outage: Callable[[FakeTelegram], object]
) -> None:
    outage(telegram)
    answer = api.post("/api/projects", body)
    assert warnings_of(answer) == ["telegram_unverified"]
    assert answer.json()["status"] == "running"
    assert answer.json()["bot"] == {"id": 987654321, "username": "", "url": ""}


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


def test_a_webhook_that_cannot_be_asked_for_is_none(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram
) -> None:
    telegram.stall(TOKEN, "getWebhookInfo")
    assert warnings_of(api.post("/api/projects", body)) == []


@pytest.mark.parametrize("username", ["x" * 65, "a b", "<script>", "a\\u0000b", "../evil", ""])
def test_a_name_that_is_none_of_telegrams_is_left_out(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram, username: str
) -> None:
    telegram._bots[TOKEN].username = username.replace("\\u0000", "\x00")
    assert api.post("/api/projects", body).json()["bot"] == {"id": 987654321, "username": "", "url": ""}


# -- the provider -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "asked_as", "path"),
    [
        ("sk-ant-api03-x", "anthropic", "/v1/models"),
        ("sk-or-v1-x", "openrouter", "/v1/key"),
        ("sk-proj-x", "openai", "/v1/models"),
        ("anything else", "openai", "/v1/models"),
    ],
)
def test_the_provider_is_told_from_the_key(
    api: APIClient, body: dict[str, Any], provider: FakeProvider, key: str, asked_as: str, path: str
) -> None:
    provider.add_key(key)
    answer = api.post("/api/projects", body | {"apiKey": key})
    assert (answer.status_code, answer.json()["provider"]) == (201, asked_as)
    assert provider.requests == [("GET", path)]
    assert [(asked.vendor, asked.key) for asked in provider.asked(None)] == [(asked_as, key)]


@pytest.mark.parametrize("chosen", ["anthropic", "openai", "openrouter"])
def test_the_settings_decide_the_provider_whatever_the_key_looks_like(
    api: APIClient, body: dict[str, Any], provider: FakeProvider, engine: MemoryEngine, chosen: str
) -> None:
    answer = api.post("/api/projects", body | {"settings": {"provider": chosen}})
    assert (answer.status_code, answer.json()["provider"]) == (201, chosen)
    assert [asked.vendor for asked in provider.asked(None)] == [chosen]
    spec = engine.containers[f"berth-{answer.json()['id']}"].spec
    assert spec is not None
    assert spec.environment["AGENT_PROVIDER"] == chosen


@pytest.mark.parametrize("key", [CANARY_OTHER_API_KEY, "sk-ant-unknown", "sk-or-unknown", "x"])
@pytest.mark.parametrize("path", ["/api/projects", "/api/projects/validate"])
def test_a_key_that_the_provider_refuses_is_a_400(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, path: str, key: str
) -> None:
    answer = api.post(path, body | {"apiKey": key}, headers={"idempotency-key": "k"})
    assert_problem(answer, 400, "invalid")
    assert codes_of(answer) == {("apiKey", "rejected")}
    assert_nothing_made(engine)


PROVIDER_OUTAGES: dict[str, Callable[[FakeProvider], object]] = {
    "429": lambda provider: provider.rate_limit(),
    "500": lambda provider: provider.break_down(500),
    "502 in HTML": lambda provider: provider.break_down(502),
    "529": lambda provider: provider.break_down(529),
    "silence": lambda provider: provider.stall(),
    "nobody there": lambda provider: provider.stop(),
}


@pytest.mark.parametrize("outage", PROVIDER_OUTAGES.values(), ids=PROVIDER_OUTAGES.keys())
def test_a_provider_out_of_order_only_warns(
    api: APIClient, body: dict[str, Any], provider: FakeProvider, outage: Callable[[FakeProvider], object]
) -> None:
    outage(provider)
    answer = api.post("/api/projects", body)
    assert warnings_of(answer) == ["provider_unverified"]
    assert answer.json()["status"] == "running"


@pytest.mark.parametrize("status", [403, 404])
def test_what_is_no_definite_no_is_none(
    api: APIClient, body: dict[str, Any], provider: FakeProvider, status: int
) -> None:
    """A key may be right and not allowed to list models."""
    provider.answer_with(status, {"error": "not for you"})
    assert warnings_of(api.post("/api/projects", body)) == []


def test_a_key_that_no_header_can_carry_only_warns(api: APIClient, body: dict[str, Any]) -> None:
    assert warnings_of(api.post("/api/projects", body | {"apiKey": "ключ"})) == ["provider_unverified"]


def test_both_out_of_order_warn_twice(
    api: APIClient, body: dict[str, Any], telegram: FakeTelegram, provider: FakeProvider
) -> None:
    telegram.stop()
    provider.stop()
    assert warnings_of(api.post("/api/projects", body)) == ["provider_unverified", "telegram_unverified"]


# -- a change ---------------------------------------------------------------------------------------------------------


def test_a_change_asks_about_what_changes(
    project: Project, api: APIClient, telegram: FakeTelegram, provider: FakeProvider
) -> None:
    provider.requests.clear()
    telegram.requests.clear()
    assert api.patch(f"/api/projects/{project.id}", {"name": "Renamed"}).status_code == 200
    assert (telegram.requests, provider.requests) == ([], [])
    answer = api.patch(f"/api/projects/{project.id}", {"apiKey": CANARY_OTHER_API_KEY})
    assert codes_of(answer) == {("apiKey", "rejected")}
    assert telegram.requests == []


def test_a_new_token_is_taken_though_the_stored_key_is_no_longer_accepted(
    project: Project, api: APIClient, telegram: FakeTelegram, provider: FakeProvider
) -> None:
    provider.reject(CANARY_API_KEY)
    telegram.add_bot(CANARY_OTHER_TELEGRAM_TOKEN, "other_bot")
    answer = api.patch(f"/api/projects/{project.id}", {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN})
    assert (answer.status_code, answer.json()["bot"]["username"]) == (200, "other_bot")
    assert answer.json()["provider"] == "openai"


def test_another_provider_is_asked_about_the_stored_key(
    project: Project, api: APIClient, provider: FakeProvider
) -> None:
    provider.reject(CANARY_API_KEY)
    answer = api.patch(f"/api/projects/{project.id}", {"settings": {"provider": "anthropic"}})
    assert codes_of(answer) == {("apiKey", "rejected")}
    provider.heal()
    answer = api.patch(f"/api/projects/{project.id}", {"settings": {"provider": "anthropic"}})
    assert answer.json()["provider"] == "anthropic"
    answer = api.patch(f"/api/projects/{project.id}", {"settings": {}})
    assert answer.json()["provider"] == "openai"


def test_a_change_that_could_not_be_checked_is_noted(project: Project, api: APIClient, telegram: FakeTelegram) -> None:
    telegram.stop()
    assert api.patch(f"/api/projects/{project.id}", {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN}).status_code == 200
    [event] = Event.objects.filter(project_id=project.id, action="update", outcome="warning")
    assert event.detail.startswith("telegram_unverified: ")


def test_a_refused_change_changes_nothing(project: Project, api: APIClient) -> None:
    before = Project.objects.filter(pk=project.pk).values().get()
    changed = {"name": "Renamed", "telegramToken": CANARY_OTHER_TELEGRAM_TOKEN}
    assert codes_of(api.patch(f"/api/projects/{project.id}", changed)) == {("telegramToken", "rejected")}
    assert Project.objects.filter(pk=project.pk).values().get() == before


# -- secrecy and the switch -------------------------------------------------------------------------------------------


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
