"""A model provider that answers as OpenAI, OpenRouter or Anthropic would, by the path and the key it is asked with.

Base URL of an agent: `fake.api_base` (…/v1). Without a dialled failure it echoes: "You said: <the last user message>".
`python -m tests.fakes.provider --port 9092 --key sk-fake` runs it as a program; POST /control/fail {kind, …} breaks it.
"""

import argparse
import re
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.fakes import BAD_GATEWAY, GARBAGE, Answer, FakeServer, Fault, Request

LISTED_MODELS = (
    "gpt-5.4-mini",
    "gpt-5-mini",
    "claude-haiku-5-5",
    "claude-sonnet-5-5",
    "openai/gpt-5.4-mini",
    "openrouter/auto",
)

# What /control/fail may turn.
DIALS: tuple[str, ...] = ("add_key", "reject", "accept", "no_credit", "add_model", "remove_model", "reply_with")
DIALS += ("delay", "rate_limit", "break_down", "garbage", "stall", "heal")


@dataclass(frozen=True)
class Asked:
    """One request that came, refused ones included."""

    vendor: str  # openai, openrouter or anthropic
    kind: str  # chat, models or key
    key: str | None = field(repr=False)
    model: str | None
    messages: list[dict[str, Any]]
    system: str | None
    at: float
    body: dict[str, Any] = field(repr=False)


class FakeProvider(FakeServer):
    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host, port)
        self._keys: set[str] = set()
        self._rejected: set[str] = set()
        self._penniless: set[str] = set()
        self._missing_models: set[str] = set()
        self._models = list(LISTED_MODELS)
        self._faults: list[tuple[str, dict[str, Any], Fault]] = []
        self._asked: list[Asked] = []
        self._reply: str | None = None
        self._delay = 0.0

    @property
    def api_base(self) -> str:
        return f"{self.url}/v1"

    # What a test sets up and asks.

    def add_key(self, key: str) -> None:
        with self.changed:
            self._keys.add(key)

    def add_model(self, model: str) -> None:
        """List a model. Unlisted ones answer too, unless `remove_model` was called for them."""
        with self.changed:
            self._models.append(model)
            self._missing_models.discard(model)

    def remove_model(self, model: str) -> None:
        with self.changed:
            self._missing_models.add(model)

    def reply_with(self, text: str | None) -> None:
        """A fixed answer; None: echo again."""
        with self.changed:
            self._reply = text

    def delay(self, seconds: float) -> None:
        """Think that long before each chat answer."""
        with self.changed:
            self._delay = seconds

    def asked(self, kind: str | None = "chat") -> list[Asked]:
        """Requests of a kind: "chat", "models", "key"; None: all."""
        with self.changed:
            return [asked for asked in self._asked if kind in (None, asked.kind)]

    def wait_for_request(self, *, kind: str | None = "chat", after: int = 0, timeout: float = 10) -> Asked:
        """The request with index `after` of `asked(kind)`. TimeoutError if it does not come."""
        until = time.monotonic() + timeout
        with self.changed:
            while len(fits := [a for a in self._asked if kind in (None, a.kind)]) <= after:
                if (left := until - time.monotonic()) <= 0:
                    raise TimeoutError(f"no {kind} request within {timeout} s")
                self.changed.wait(left)
            return fits[after]

    # What a test breaks. `only` limits a failure to "chat", "models" or "key"; `times` to so many requests.

    def reject(self, key: str) -> None:
        with self.changed:
            self._rejected.add(key)

    def accept(self, key: str) -> None:
        with self.changed:
            self._keys.add(key)
            self._rejected.discard(key)
            self._penniless.discard(key)

    def no_credit(self, key: str) -> None:
        """The key is right and its owner has no money. Lists of models still answer, as the vendors' do."""
        with self.changed:
            self._penniless.add(key)

    def rate_limit(self, retry_after: int = 1, only: str | None = None, times: int | None = None) -> None:
        self._fault("busy", {"retry_after": retry_after}, Fault(None, only, times))

    def break_down(self, status: int = 500, only: str | None = None, times: int | None = None) -> None:
        """500 and 529 in the vendor's JSON; 502 as a proxy's HTML page."""
        self._fault("down", {"status": status}, Fault(None, only, times))

    def answer_with(self, status: int, document: object, only: str | None = None, times: int | None = None) -> None:
        """Any other answer, word for word."""
        self._fault("fixed", {}, Fault(Answer.json(status, document), only, times))

    def garbage(self, only: str | None = None, times: int | None = None) -> None:
        self._fault("fixed", {}, Fault(GARBAGE, only, times))

    def stall(self, only: str | None = None, times: int | None = None) -> None:
        """Accept the request and never answer."""
        self._fault("stall", {}, Fault(None, only, times))

    def heal(self) -> None:
        """End every dialled failure, delays and fixed answers; keys are accepted again and models are back."""
        with self.changed:
            for dialled in (self._faults, self._rejected, self._penniless, self._missing_models):
                dialled.clear()
            self._reply, self._delay = None, 0.0

    # The server.

    def answer(self, request: Request) -> Answer | None:
        if request.path.startswith("/control/"):
            return self._control(request.path.removeprefix("/control/"), request.fields())
        match = re.fullmatch(r"/(?:api/)?v1/(chat/completions|messages|models|models/.+|key|auth/key)", request.path)
        if match is None:
            return Answer.json(404, {"error": {"message": f"Invalid URL ({request.method} {request.path})"}})
        asked = self._record(request, match[1])
        error = self._refusal(asked)
        if error is not None:
            return error
        fault = self._take_fault(asked)
        if fault is not None:
            return self._broken(asked, request, *fault)
        return self._result(asked, match[1])

    def _record(self, request: Request, path: str) -> Asked:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        key = request.headers.get("x-api-key") or bearer or None
        kind = {"chat/completions": "chat", "messages": "chat", "key": "key", "auth/key": "key"}.get(path, "models")
        body = request.fields() if kind == "chat" else {}
        model = body.get("model") or (path.removeprefix("models/") if path.startswith("models/") else None)
        messages = list(body.get("messages") or [])
        system = body.get("system") or next((m["content"] for m in messages if m.get("role") == "system"), None)
        asked = Asked(_vendor(request, key, path), kind, key, model, messages, system, time.time(), body)
        with self.changed:
            self._asked.append(asked)
            self.changed.notify_all()
        return asked

    def _refusal(self, asked: Asked) -> Answer | None:
        with self.changed:
            known = asked.key in self._keys and asked.key not in self._rejected
            penniless = asked.key in self._penniless
            missing = asked.model and asked.model.removesuffix("/endpoints") in self._missing_models
        listing = asked.kind == "models" and asked.vendor == "openrouter"  # public there
        if not known and not listing:
            return _rejected(asked)
        if missing:
            return _model_missing(asked)
        return _no_credit(asked) if penniless and asked.kind == "chat" else None

    def _take_fault(self, asked: Asked) -> tuple[str, dict[str, Any], Fault] | None:
        with self.changed:
            found = next((f for f in self._faults if f[2].only in (None, asked.kind)), None)
            if found is not None and found[2].times is not None:
                found[2].times -= 1
                self._faults[:] = [f for f in self._faults if f[2].times is None or f[2].times > 0]
            return found

    def _broken(self, asked: Asked, request: Request, name: str, values: dict[str, Any], fault: Fault) -> Answer | None:
        if name == "busy":
            return _busy(asked, values["retry_after"])
        if name == "down":
            return _down(asked, values["status"])
        if name == "stall":
            self.hang(request, lambda: fault.times is None and all(f[2] is not fault for f in self._faults))
        return fault.answer

    def _result(self, asked: Asked, path: str) -> Answer:
        if asked.kind == "key":
            return Answer.json(200, {"data": self._key_facts(asked)})
        if path == "models":
            listed = [_model(asked, name) for name in self._models if name not in self._missing_models]
            return Answer.json(200, {"object": "list", "data": listed, "has_more": False})
        if asked.kind == "models":
            return Answer.json(200, _model(asked, path.removeprefix("models/")))
        if not asked.model or not asked.messages:
            return _error(asked, 400, "you must provide a model parameter", "invalid_request_error", None)
        if self._delay:
            self.closing.wait(self._delay)
        return _completion(asked, self._reply if self._reply is not None else f"You said: {_last_words(asked)}")

    def _key_facts(self, asked: Asked) -> dict[str, Any]:
        left = 0 if asked.key in self._penniless else None
        facts = {"label": "sk-or-v1-abc...xyz", "usage": 0, "is_free_tier": False, "is_provisioning_key": False}
        return facts | {"limit": 5 if left == 0 else None, "limit_remaining": left, "rate_limit": {"requests": -1}}

    def _fault(self, name: str, values: dict[str, Any], fault: Fault) -> None:
        with self.changed:
            self._faults.append((name, values, fault))

    def _control(self, verb: str, fields: dict[str, Any]) -> Answer:
        try:
            if verb == "asked":
                shown = [asdict(asked) | {"key": None, "body": None} for asked in self.asked()]
                return Answer.json(200, shown)
            getattr(self, DIALS[DIALS.index(str(fields.pop("kind")))])(**fields)
            return Answer.json(200, True)
        except (KeyError, ValueError, TypeError):
            return Answer.json(400, {"error": f"cannot {verb} with these parameters"})


def _vendor(request: Request, key: str | None, path: str) -> str:
    if path == "messages" or "anthropic-version" in request.headers or "x-api-key" in request.headers:
        return "anthropic"
    if (key or "").startswith("sk-or-") or "key" in path or request.path.startswith("/api/"):
        return "openrouter"
    return "openai"


def _last_words(asked: Asked) -> str:
    content = next((m.get("content") for m in reversed(asked.messages) if m.get("role") == "user"), "")
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content)
    return str(content)


def _completion(asked: Asked, text: str) -> Answer:
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


def _model(asked: Asked, name: str) -> dict[str, Any]:
    if asked.vendor == "anthropic":
        return {"type": "model", "id": name, "display_name": name, "created_at": "2025-10-01T00:00:00Z"}
    if name.endswith("/endpoints"):
        return {"data": {"id": name.removesuffix("/endpoints"), "endpoints": [{"name": "Fake"}]}}
    return {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "fake"}


# The vendors' errors, in their own shapes and words.


def _error(asked: Asked, status: int, words: str, kind: str, code: str | None, **headers: str) -> Answer:
    if asked.vendor == "anthropic":
        error: dict[str, Any] = {"type": "error", "error": {"type": kind, "message": words}}
        return Answer.json(status, error | {"request_id": "req_011Fake"}, **headers)
    if asked.vendor == "openrouter":
        return Answer.json(status, {"error": {"message": words, "code": status}}, **headers)
    return Answer.json(status, {"error": {"message": words, "type": kind, "param": None, "code": code}}, **headers)


def _rejected(asked: Asked) -> Answer:
    key = asked.key or ""
    if asked.vendor == "anthropic":
        return _error(asked, 401, "invalid x-api-key", "authentication_error", None)
    if asked.vendor == "openrouter":
        return _error(asked, 401, "User not found." if key else "No auth credentials found", "", None)
    if not key:
        words = "You didn't provide an API key. You need to provide your API key in an Authorization header."
        return _error(asked, 401, words, "invalid_request_error", None)
    shown = f"{key[:8]}{'*' * max(len(key) - 12, 3)}{key[-4:]}"  # OpenAI does echo so much of it
    words = f"Incorrect API key provided: {shown}. You can find your API key at https://platform.openai.com/api-keys."
    return _error(asked, 401, words, "invalid_request_error", "invalid_api_key")


def _no_credit(asked: Asked) -> Answer:
    if asked.vendor == "anthropic":
        words = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade."
        return _error(asked, 400, words, "invalid_request_error", None)
    if asked.vendor == "openrouter":
        words = "Insufficient credits. Add more using https://openrouter.ai/settings/credits"
        return _error(asked, 402, words, "", None)
    words = "You exceeded your current quota, please check your plan and billing details."
    return _error(asked, 429, words, "insufficient_quota", "insufficient_quota")


def _model_missing(asked: Asked) -> Answer:
    if asked.vendor == "anthropic":
        return _error(asked, 404, f"model: {asked.model}", "not_found_error", None)
    if asked.vendor == "openrouter":
        if asked.kind == "chat":
            return _error(asked, 400, f"{asked.model} is not a valid model ID", "", None)
        return _error(asked, 404, "Model not found", "", None)
    words = f"The model `{asked.model}` does not exist or you do not have access to it."
    return _error(asked, 404, words, "invalid_request_error", "model_not_found")


def _busy(asked: Asked, retry_after: int) -> Answer:
    later = {"Retry_After": str(retry_after)}
    if asked.vendor == "anthropic":
        words = "This request would exceed your organization's rate limit."
        return _error(asked, 429, words, "rate_limit_error", None, **later)
    if asked.vendor == "openrouter":
        return _error(asked, 429, "Rate limit exceeded: free-models-per-min.", "", None, **later)
    words = f"Rate limit reached for requests per min (RPM). Please try again in {retry_after}s."
    return _error(asked, 429, words, "requests", "rate_limit_exceeded", **later)


def _down(asked: Asked, status: int) -> Answer:
    if status == 502:
        return Answer(502, BAD_GATEWAY, {"Content-Type": "text/html"})
    if asked.vendor == "anthropic":
        kind = "overloaded_error" if status == 529 else "api_error"
        return _error(asked, status, "Overloaded" if status == 529 else "Internal server error", kind, None)
    words = "The server had an error while processing your request. Sorry about that!"
    return _error(asked, status, words, "server_error", None)


def main() -> None:
    parser = argparse.ArgumentParser(description="A fake model provider, to try an agent without one.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9092)
    parser.add_argument("--key", action="append", default=[], help="an API key it accepts; may be repeated")
    options = parser.parse_args()
    provider = FakeProvider(options.host, options.port)
    for key in options.key or ["sk-fake-provider-key"]:
        provider.add_key(key)
    provider.serve()


if __name__ == "__main__":
    main()
