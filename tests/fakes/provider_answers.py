"""The answers of OpenAI, OpenRouter and Anthropic, each in its own format and words."""

import time
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.messages import BAD_GATEWAY, Answer, Request


@dataclass(frozen=True)
class Asked:
    """A request, including refused ones."""

    vendor: str  # openai, openrouter or anthropic
    kind: str  # chat, models or key
    key: str | None = field(repr=False)
    model: str | None
    messages: list[dict[str, Any]]
    system: str | None
    at: float
    body: dict[str, Any] = field(repr=False)


def vendor_of(request: Request, key: str | None, path: str) -> str:
    if path == "messages" or "anthropic-version" in request.headers or "x-api-key" in request.headers:
        return "anthropic"
    if (key or "").startswith("sk-or-") or "key" in path or request.path.startswith("/api/"):
        return "openrouter"
    return "openai"


def last_question(asked: Asked) -> str:
    content = next((m.get("content") for m in reversed(asked.messages) if m.get("role") == "user"), "")
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content)
    return str(content)


def completion(asked: Asked, text: str) -> Answer:
    now = int(time.time())
    if asked.vendor == "anthropic":
        document: dict[str, Any] = {"id": f"msg_{now}", "type": "message", "role": "assistant", "model": asked.model}
        document |= {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None}
        return Answer.json(200, document | {"usage": {"input_tokens": 1, "output_tokens": 1}})
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    document = {"id": f"chatcmpl-{now}", "object": "chat.completion", "created": now, "model": asked.model}
    return Answer.json(200, document | {"choices": [choice], "usage": usage})


def describe_model(asked: Asked, name: str) -> dict[str, Any]:
    if asked.vendor == "anthropic":
        return {"type": "model", "id": name, "display_name": name, "created_at": "2025-10-01T00:00:00Z"}
    if name.endswith("/endpoints"):
        return {"data": {"id": name.removesuffix("/endpoints"), "endpoints": [{"name": "Fake"}]}}
    return {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "fake"}


# The vendors' errors, in their own format and words.


def refuse_with(asked: Asked, status: int, words: str, kind: str, code: str | None, **headers: str) -> Answer:
    if asked.vendor == "anthropic":
        error: dict[str, Any] = {"type": "error", "error": {"type": kind, "message": words}}
        return Answer.json(status, error | {"request_id": "req_011Fake"}, **headers)
    if asked.vendor == "openrouter":
        return Answer.json(status, {"error": {"message": words, "code": status}}, **headers)
    return Answer.json(status, {"error": {"message": words, "type": kind, "param": None, "code": code}}, **headers)


def key_rejected(asked: Asked) -> Answer:
    key = asked.key or ""
    if asked.vendor == "anthropic":
        return refuse_with(asked, 401, "invalid x-api-key", "authentication_error", None)
    if asked.vendor == "openrouter":
        return refuse_with(asked, 401, "User not found." if key else "No auth credentials found", "", None)
    if not key:
        words = "You didn't provide an API key. You need to provide your API key in an Authorization header."
        return refuse_with(asked, 401, words, "invalid_request_error", None)
    shown = f"{key[:8]}{'*' * max(len(key) - 12, 3)}{key[-4:]}"  # OpenAI echoes this much of it
    words = f"Incorrect API key provided: {shown}. You can find your API key at https://platform.openai.com/api-keys."
    return refuse_with(asked, 401, words, "invalid_request_error", "invalid_api_key")


def no_credit_left(asked: Asked) -> Answer:
    if asked.vendor == "anthropic":
        words = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade."
        return refuse_with(asked, 400, words, "invalid_request_error", None)
    if asked.vendor == "openrouter":
        words = "Insufficient credits. Add more using https://openrouter.ai/settings/credits"
        return refuse_with(asked, 402, words, "", None)
    words = "You exceeded your current quota, please check your plan and billing details."
    return refuse_with(asked, 429, words, "insufficient_quota", "insufficient_quota")


def model_missing(asked: Asked) -> Answer:
    if asked.vendor == "anthropic":
        return refuse_with(asked, 404, f"model: {asked.model}", "not_found_error", None)
    if asked.vendor == "openrouter":
        if asked.kind == "chat":
            return refuse_with(asked, 400, f"{asked.model} is not a valid model ID", "", None)
        return refuse_with(asked, 404, "Model not found", "", None)
    words = f"The model `{asked.model}` does not exist or you do not have access to it."
    return refuse_with(asked, 404, words, "invalid_request_error", "model_not_found")


def too_many_requests(asked: Asked, retry_after: int) -> Answer:
    later = {"Retry_After": str(retry_after)}
    if asked.vendor == "anthropic":
        words = "This request would exceed your organization's rate limit."
        return refuse_with(asked, 429, words, "rate_limit_error", None, **later)
    if asked.vendor == "openrouter":
        return refuse_with(asked, 429, "Rate limit exceeded: free-models-per-min.", "", None, **later)
    words = f"Rate limit reached for requests per min (RPM). Please try again in {retry_after}s."
    return refuse_with(asked, 429, words, "requests", "rate_limit_exceeded", **later)


def out_of_order(asked: Asked, status: int) -> Answer:
    if status == 502:
        return Answer(502, BAD_GATEWAY, {"Content-Type": "text/html"})
    if asked.vendor == "anthropic":
        kind = "overloaded_error" if status == 529 else "api_error"
        return refuse_with(asked, status, "Overloaded" if status == 529 else "Internal server error", kind, None)
    words = "The server had an error while processing your request. Sorry about that!"
    return refuse_with(asked, status, words, "server_error", None)
