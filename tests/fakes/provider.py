"""A model provider that answers as OpenAI, OpenRouter or Anthropic would, by the path and the key it is asked with.

Base URL of an agent: `fake.api_base` (…/v1). Without a dialled failure it echoes: "You said: <the last user message>".
`python -m tests.fakes.provider --port 9092 --key sk-fake` runs it as a program; POST /control/fail {kind, …} breaks it.
"""

import argparse
import re
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tests.fakes.messages import Answer, Fault, Request, Streamed
from tests.fakes.provider_answers import (
    Asked,
    completion,
    describe_model,
    key_rejected,
    last_question,
    model_missing,
    no_credit_left,
    out_of_order,
    refuse_with,
    too_many_requests,
    vendor_of,
)
from tests.fakes.provider_contents import find_bad_part, transcription
from tests.fakes.provider_dials import BREAK, ProviderDials
from tests.fakes.provider_streams import EVENTS, stream, stream_calls

# The failures that /control/fail may set.
DIALS: tuple[str, ...] = ("add_key", "reject", "accept", "no_credit", "add_model", "remove_model", "reply_with")
DIALS += ("hold", "release", "rate_limit", "break_down", "garbage", "stall", "heal")


KINDS = {"chat/completions": "chat", "messages": "chat", "key": "key", "auth/key": "key"}
KINDS["audio/transcriptions"] = "sound"


class FakeProvider(ProviderDials):
    def answer(self, request: Request) -> Answer | None:
        if request.path.startswith("/control/"):
            return self._control(request.path.removeprefix("/control/"), request.fields())
        match = re.fullmatch(
            r"/(?:api/)?v1/(chat/completions|audio/transcriptions|messages|models|models/.+|key|auth/key)", request.path
        )
        if match is None:
            return Answer.json(404, {"error": {"message": f"Invalid URL ({request.method} {request.path})"}})
        asked = self._record(request, match[1])
        error = self._refusal(asked)
        if error is not None:
            return error
        fault = self._take_fault(asked)
        if fault is not None:
            return self._broken(asked, request, *fault)
        if asked.kind == "sound":
            return transcription(asked, request, self._transcript)
        return self._answer_question(asked) if asked.kind == "chat" else self._look(asked, match[1])

    def _record(self, request: Request, path: str) -> Asked:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        key = request.headers.get("x-api-key") or bearer or None
        kind = KINDS.get(path, "models")
        body = request.fields() if kind in ("chat", "sound") else {}
        model = body.get("model") or (path.removeprefix("models/") if path.startswith("models/") else None)
        messages = list(body.get("messages") or [])
        system = body.get("system") or next((m["content"] for m in messages if m.get("role") == "system"), None)
        asked = Asked(vendor_of(request, key, path), kind, key, model, messages, system, time.time(), body)
        with self.changed:
            self._asked.append(asked)
            self.changed.notify_all()
        return asked

    def _refusal(self, asked: Asked) -> Answer | None:
        with self.changed:
            known = asked.key in self._keys and asked.key not in self._rejected
            penniless = asked.key in self._penniless
            missing = asked.model and asked.model.removesuffix("/endpoints") in self._missing_models
        listing = asked.kind == "models" and asked.vendor == "openrouter"  # this address is public
        if not known and not listing:
            return key_rejected(asked)
        if missing:
            return model_missing(asked)
        return no_credit_left(asked) if penniless and asked.kind == "chat" else None

    def _broken(self, asked: Asked, request: Request, name: str, values: dict[str, Any], fault: Fault) -> Answer | None:
        if name == "busy":
            return too_many_requests(asked, values["retry_after"])
        if name == "down":
            return out_of_order(asked, values["status"])
        if name == "stall":
            self.hang(request, lambda: fault.times is None and all(f[2] is not fault for f in self._faults))
        return fault.answer

    def _look(self, asked: Asked, path: str) -> Answer:
        if asked.kind == "key":
            return Answer.json(200, {"data": self._key_facts(asked)})
        if path == "models":
            listed = [describe_model(asked, name) for name in self._models if name not in self._missing_models]
            return Answer.json(200, {"object": "list", "data": listed, "has_more": False})
        return Answer.json(200, describe_model(asked, path.removeprefix("models/")))

    def _answer_question(self, asked: Asked) -> Answer:
        if (wrong := find_bad_part(asked)) is not None:
            return refuse_with(asked, 400, wrong, "invalid_request_error", None)
        if not asked.model or not asked.messages:
            return refuse_with(asked, 400, "you must provide a model parameter", "invalid_request_error", None)
        question = last_question(asked)
        with self.changed:
            self.changed.wait_for(lambda: question not in self._held or self.closing.is_set())
        if (calls := self._take_calls(asked)) is not None:
            return Streamed(200, b"", EVENTS, pieces=stream_calls(asked, calls))
        text = self._reply if self._reply is not None else f"You said: {question}"
        if not asked.body.get("stream") or not self.streams:
            return completion(asked, text)
        pieces = self._pieces if self._pieces is not None else [text]
        return Streamed(200, b"", EVENTS, pieces=stream(asked, self._paced(pieces)))

    def _take_calls(self, asked: Asked) -> list[tuple[str, dict[str, Any]]] | None:
        """Calls tools if the model may call any."""
        choice = str(asked.body.get("tool_choice", "auto"))
        with self.changed:
            return self._calls.pop(0) if self._calls and asked.body.get("tools") and "none" not in choice else None

    def _paced(self, pieces: list[str]) -> Iterator[str]:
        """Sends each piece when the test lets it through."""
        for number, piece in enumerate(pieces):
            with self.changed:
                while number >= self._let_through and not self.closing.is_set():
                    self.changed.wait()
            if piece is BREAK:
                raise ConnectionResetError
            yield piece

    def _key_facts(self, asked: Asked) -> dict[str, Any]:
        left = 0 if asked.key in self._penniless else None
        facts = {"label": "sk-or-v1-abc...xyz", "usage": 0, "is_free_tier": False, "is_provisioning_key": False}
        return facts | {"limit": 5 if left == 0 else None, "limit_remaining": left, "rate_limit": {"requests": -1}}

    def _control(self, verb: str, fields: dict[str, Any]) -> Answer:
        try:
            if verb == "asked":
                shown = [asdict(asked) | {"key": None, "body": None} for asked in self.asked()]
                return Answer.json(200, shown)
            getattr(self, DIALS[DIALS.index(str(fields.pop("kind")))])(**fields)
            return Answer.json(200, True)
        except (KeyError, ValueError, TypeError):
            return Answer.json(400, {"error": f"cannot {verb} with these parameters"})


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
