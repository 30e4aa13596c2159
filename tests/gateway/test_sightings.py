"""What the running gateway reports of Telegram and the provider is what their answers prove."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fakes.messages import Answer
from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.process import PATIENCE

pytestmark = pytest.mark.one_database

NOT_FOUND = Answer.json(404, {"ok": False, "error_code": 404, "description": "Not Found"})
PROXY = Answer(404, b"<html>no such page</html>", {"Content-Type": "text/html"})
QUOTA = Answer.json(429, {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota."}})
RATE = Answer.json(429, {"error": {"code": "rate_limit_exceeded", "message": "Slow down."}})
UNPAID = Answer.json(402, {"error": {"message": "Insufficient Balance"}})
UNKNOWN = Answer.json(401, {"error": {"message": "Incorrect API key provided."}})
BUSY = Answer.json(503, {"error": {"message": "Overloaded."}})


def seen(agent: Agent) -> dict[str, Any]:
    found = agent.gateway.ask("truth")["seen"].get(agent.project)
    return found or {"telegram_status": None, "provider_status": None, "last_poll": None, "facts": {}}


@pytest.mark.parametrize("answer", [NOT_FOUND, Answer.json(401, {"ok": False, "error_code": 401})])
@pytest.mark.parametrize("method", ["getMe", "getUpdates", "GETUPDATES", "sendMessage"])
def test_a_wrong_token_is_known_by_methods_that_exist(
    alice: Agent, telegram: FakeTelegram, method: str, answer: Answer
) -> None:
    telegram._fault(alice.token, answer, method.lower(), 1)
    assert alice.bot(method).status == answer.status
    assert seen(alice)["telegram_status"] == 401


@pytest.mark.parametrize("before", ["getMe", None])
def test_nothing_else_that_is_not_found_makes_a_token_wrong(
    alice: Agent, telegram: FakeTelegram, before: str | None
) -> None:
    if before:
        alice.bot(before)
    status = 200 if before else None
    telegram._fault(alice.token, NOT_FOUND, "sendhologram", None)
    assert alice.bot("sendHologram").status == 404
    assert seen(alice)["telegram_status"] == status
    assert alice.ask("GET", f"/tg/file/bot1:{alice.virtual_token}/photos/none.jpg").status == 404
    assert seen(alice)["telegram_status"] == status
    telegram._fault(alice.token, PROXY, "getme", 1)
    assert alice.bot("getMe").status == 404
    assert seen(alice)["telegram_status"] == status


@pytest.mark.parametrize("code", [400, 403, 404, 429, 500, 502])
def test_only_a_success_makes_a_refused_token_right(alice: Agent, telegram: FakeTelegram, code: int) -> None:
    telegram.revoke(alice.token)
    assert alice.bot("getMe").status == 401
    telegram.restore(alice.token)
    telegram._fault(alice.token, Answer.json(code, {"ok": False, "error_code": code}), "sendphoto", 1)
    assert alice.bot("sendPhoto").status == code
    assert seen(alice)["telegram_status"] == 401
    assert alice.bot("getMe").status == 200
    assert seen(alice)["telegram_status"] == 200


def test_only_a_poll_shows_that_nobody_else_polls(alice: Agent, telegram: FakeTelegram) -> None:
    telegram.conflict(alice.token, times=1)
    assert alice.bot("getUpdates").status == 409
    assert alice.bot("getMe").status == 200
    assert seen(alice)["telegram_status"] == 409
    assert alice.bot("getUpdates").status == 200
    assert seen(alice)["telegram_status"] == 200


@pytest.mark.parametrize("refusal", [UNKNOWN, UNPAID, QUOTA], ids=["key", "credit", "quota"])
def test_a_refusal_by_the_provider_stands_until_a_call_is_paid(
    alice: Agent, provider: StreamingProvider, refusal: Answer
) -> None:
    provider.answer_with = refusal
    assert alice.chat().status == refusal.status
    status = 401 if refusal is UNKNOWN else 402
    assert seen(alice)["provider_status"] == status
    for passing in (BUSY, RATE, Answer.json(400, {"error": {"message": "Bad"}}), Answer.json(404, {}), PROXY):
        provider.answer_with = passing
        assert alice.chat().status == passing.status
        assert seen(alice)["provider_status"] == status
    provider.answer_with = None
    assert alice.ask("GET", "/llm/v1/models", headers=alice.login).status == 200
    assert seen(alice)["provider_status"] == (None if refusal is UNKNOWN else 402), "OpenAI's list needs the key."
    assert alice.chat(stream=True).status == 200
    assert seen(alice)["provider_status"] == 200


def test_a_list_of_models_that_needs_no_key_refutes_nothing(alice: Agent, provider: StreamingProvider) -> None:
    alice.gateway.apply(alice.entry(kind="compatible"))
    provider.answer_with = UNKNOWN
    assert alice.chat().status == 401
    provider.answer_with = None
    assert alice.ask("GET", "/llm/v1/models", headers=alice.login).status == 200
    assert seen(alice)["provider_status"] == 401


class HeldBack(StreamingProvider):
    """Answers the first call only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = threading.Event(), threading.Event()

    def answer(self, request: Any) -> Any:
        if self.asked.is_set():
            return super().answer(request)
        self.asked.set()
        self.go_on.wait(PATIENCE)
        return UNKNOWN


@pytest.fixture
def held_back() -> Iterator[HeldBack]:
    with HeldBack() as fake:
        yield fake
        fake.go_on.set()


def test_a_late_refusal_of_the_former_key_does_not_blame_the_new_one(
    alice: Agent, held_back: HeldBack, threads: ThreadPoolExecutor
) -> None:
    alice.provider = held_back
    alice.gateway.apply(alice.entry())
    late = threads.submit(alice.chat)
    assert held_back.asked.wait(PATIENCE)
    alice.key = "sk-CANARYnewCANARYnewCANARYnew"
    alice.gateway.apply(alice.entry())
    assert alice.chat().status == 200
    held_back.go_on.set()
    assert late.result(PATIENCE).status == 401
    assert seen(alice)["provider_status"] == 200


def test_a_new_key_leaves_what_is_known_of_the_token(alice: Agent, provider: StreamingProvider) -> None:
    provider.answer_with = UNKNOWN
    alice.chat()
    alice.bot("getUpdates")
    polled_at = seen(alice)["last_poll"]
    alice.key = "sk-CANARYnewCANARYnewCANARYnew"
    alice.gateway.apply(alice.entry())
    assert (seen(alice)["provider_status"], seen(alice)["telegram_status"]) == (None, 200)
    assert seen(alice)["last_poll"] == polled_at
