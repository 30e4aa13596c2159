"""The fakes behave like Telegram in details that the agent's own tests do not check, also when they run as programs."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_errors import CONFLICT_HOOK, CONFLICT_POLL
from tests.paths import ROOT


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=100, trust_env=False) as client:
        yield client


@pytest.fixture
def api(telegram: FakeTelegram, token: str) -> str:
    return f"{telegram.url}/bot{token}"


def description(answer: httpx.Response) -> tuple[int, Any]:
    return answer.status_code, answer.json().get("description")


def test_unknown_malformed_and_revoked_tokens_are_refused_as_telegram_refuses_them(
    telegram: FakeTelegram, http: httpx.Client, api: str, token: str
) -> None:
    assert description(http.get(f"{telegram.url}/bot1:unknown/getMe")) == (401, "Unauthorized")
    assert description(http.get(f"{telegram.url}/botjunk/getMe")) == (404, "Not Found")
    assert description(http.get(f"{api}/noSuchMethod")) == (404, "Not Found")
    telegram.revoke(token)
    assert description(http.get(f"{api}/getMe")) == (401, "Unauthorized")


def test_updates_are_held_until_one_comes_and_kept_until_confirmed(
    telegram: FakeTelegram, http: httpx.Client, api: str, token: str
) -> None:
    timer = threading.Timer(0.2, telegram.say, (token, 5, "Hi"))
    timer.start()
    first = http.post(f"{api}/getUpdates", json={"timeout": 15}).json()["result"]
    timer.join()
    assert http.get(f"{api}/getUpdates").json()["result"] == first
    confirmed = {"offset": str(first[0]["update_id"] + 1), "timeout": "0"}
    assert http.post(f"{api}/getUpdates", data=confirmed).json()["result"] == []
    assert http.post(f"{api}/getUpdates", files={"offset": (None, "0")}).json()["result"] == []


def test_a_second_poller_and_a_webhook_are_conflicts(
    telegram: FakeTelegram, http: httpx.Client, api: str, token: str
) -> None:
    answers: list[httpx.Response] = []
    first = threading.Thread(
        target=lambda: answers.append(httpx.get(f"{api}/getUpdates?timeout=15", timeout=100, trust_env=False))
    )
    first.start()
    telegram._wait(lambda: telegram.polls(token).open or None, 10, "no open poll")
    assert http.get(f"{api}/getUpdates").status_code == 200
    first.join()
    assert description(answers[0]) == (409, CONFLICT_POLL)
    http.post(f"{api}/setWebhook", json={"url": "https://example.org/"})
    assert description(http.get(f"{api}/getUpdates")) == (409, CONFLICT_HOOK)
    assert http.get(f"{api}/getWebhookInfo").json()["result"]["url"] == "https://example.org/"


@pytest.mark.parametrize(
    ("chat", "text", "words"),
    [(5, "x" * 4097, "message is too long"), (5, "🚢" * 2049, "too long"), (5, " ", "empty"), (6, "x", "not found")],
)
def test_bad_messages_are_refused(
    telegram: FakeTelegram, http: httpx.Client, api: str, token: str, chat: int, text: str, words: str
) -> None:
    telegram.say(token, 5, "Hi")
    answer = http.post(f"{api}/sendMessage", json={"chat_id": chat, "text": text})
    assert answer.status_code == 400
    assert words in answer.json()["description"]


def test_an_outage_can_be_staged_on_the_same_port(http: httpx.Client) -> None:
    with FakeTelegram() as fake:
        fake.add_bot("1:a")
        url = f"{fake.url}/bot1:a/getMe"
        fake.stop()
        with pytest.raises(httpx.ConnectError):
            http.get(url)
        fake.start()
        assert http.get(url).status_code == 200


@pytest.mark.parametrize("module", ["telegram", "provider"])
def test_the_fakes_run_as_programs_controlled_by_another_process(http: httpx.Client, module: str) -> None:
    command = [sys.executable, "-m", f"tests.fakes.{module}", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip().removeprefix("listening on ")
        if module == "telegram":
            http.post(f"{url}/control/say", json={"chat_id": 5, "text": "Hi"})
            http.post(f"{url}/bot123456:fake-telegram-token/sendMessage", json={"chat_id": 5, "text": "Hello"})
            assert http.get(f"{url}/control/wait?containing=Hel").json()["text"] == "Hello"
            assert http.get(f"{url}/control/polls").json()["count"] == 0
        else:
            http.post(f"{url}/control/fail", json={"kind": "reject", "key": "sk-fake-provider-key"})
            bearer = {"Authorization": "Bearer sk-fake-provider-key"}
            assert http.get(f"{url}/v1/models", headers=bearer).status_code == 401
        process.terminate()
