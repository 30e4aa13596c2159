"""An error in an answer that has begun as a success proves what it says, and not that the call was accepted."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fakes.messages import Answer, Streamed
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.process import PATIENCE
from tests.gateway.test_sightings import UNPAID, seen
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

OPENAI, ANTHROPIC, OPENROUTER, RESPONSES = "openai", "anthropic", "openrouter", "responses"


def of_openrouter(code: int | str, message: str) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "error": {"code": code, "message": message},
        "choices": [choice],
    }


def failed(code: str) -> dict[str, Any]:
    return {"type": "response.failed", "response": {"status": "failed", "error": {"code": code, "message": "No."}}}


ERRORS: list[tuple[str, dict[str, Any], int | None]] = [
    (OPENAI, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}, 402),
    (OPENAI, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}, 401),
    (OPENAI, {"error": {"message": "You have insufficient permissions for this operation."}}, 401),
    (OPENAI, {"error": {"message": "The server had an error", "type": "server_error"}}, None),
    (OPENAI, {"object": "error", "message": "Too long", "type": "BadRequestError", "code": 400}, None),
    (RESPONSES, {"type": "error", "code": "insufficient_quota", "message": "No.", "param": None}, 402),
    (RESPONSES, failed("insufficient_quota"), 402),
    (RESPONSES, failed("server_error"), None),
    (ANTHROPIC, {"type": "error", "error": {"type": "billing_error", "message": "No."}}, 402),
    (ANTHROPIC, {"type": "error", "error": {"type": "authentication_error", "message": "No."}}, 401),
    (ANTHROPIC, {"type": "error", "error": {"type": "invalid_request_error",
                                           "message": "Your credit balance is too low to access"}}, 402),
    (ANTHROPIC, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, None),
    (OPENROUTER, of_openrouter(402, "Your account has insufficient credits"), 402),
    (OPENROUTER, of_openrouter(401, "User not found."), 401),
    (OPENROUTER, of_openrouter(403, "Key limit exceeded (total limit)."), 402),
    (OPENROUTER, of_openrouter("server_error", "Provider disconnected"), None),
    (OPENROUTER, {"choices": [{"error": {"code": 402, "message": "Insufficient credits"}}]}, 402),
]  # fmt: skip
PATHS = {ANTHROPIC: "messages", RESPONSES: "responses"}
WORDS: dict[str, dict[str, Any]] = {
    ANTHROPIC: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Well, "}},
    RESPONSES: {"type": "response.output_text.delta", "delta": "Well, "},
}
CHAT_WORDS = {"id": "c", "choices": [{"index": 0, "delta": {"content": "Well, "}}]}


def event(document: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def stream_of(kind: str, error: dict[str, Any], *, has_words: bool) -> Answer:
    def pieces() -> Iterator[bytes]:
        yield b": OPENROUTER PROCESSING\n\n"
        if has_words:
            yield event(WORDS.get(kind, CHAT_WORDS))
        yield event(error)

    return Streamed(200, b"", {"Content-Type": "text/event-stream"}, pieces=list(pieces()))


def ask(agent: Agent, kind: str, **fields: Any) -> int:
    return agent.chat(path=PATHS.get(kind, "chat/completions"), input="hello", max_tokens=100, **fields).status


def prepare(agent: Agent, kind: str) -> None:
    agent.gateway.apply(agent.entry(kind=OPENAI if kind == RESPONSES else kind))


@pytest.mark.parametrize("has_words", [False, True], ids=["at once", "after words"])
@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_an_error_within_a_stream_proves_what_it_says(
    alice: Agent, provider: StreamingProvider, number: int, *, has_words: bool
) -> None:
    kind, error, status = ERRORS[number]
    prepare(alice, kind)
    provider.answer_with = stream_of(kind, error, has_words=has_words)
    assert ask(alice, kind, stream=True) == 200
    assert seen(alice)["provider_status"] == status or (status is None and has_words)
    provider.answer_with = None
    assert ask(alice, kind, stream=True) == 200
    assert seen(alice)["provider_status"] == 200


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_an_error_in_a_document_proves_what_it_says(alice: Agent, provider: StreamingProvider, number: int) -> None:
    kind, error, status = ERRORS[number]
    prepare(alice, kind)
    provider.answer_with = Answer.json(200, error)
    assert ask(alice, kind) == 200
    assert seen(alice)["provider_status"] == status
    provider.answer_with = None
    assert ask(alice, kind) == 200
    assert seen(alice)["provider_status"] == 200


def test_a_refusal_ends_with_the_first_words_of_an_answer(
    alice: Agent, provider: StreamingProvider, threads: ThreadPoolExecutor
) -> None:
    """Not only with its end."""
    provider.answer_with = UNPAID
    assert alice.chat().status == 402
    provider.answer_with = None
    provider.gate.clear()
    late = threads.submit(alice.chat, stream=True)
    wait_until(lambda: seen(alice)["provider_status"] == 200, within=PATIENCE)
    assert not late.done()
    provider.gate.set()
    assert late.result(PATIENCE).status == 200
