"""A model provider that streams like OpenAI and Anthropic, and counts what it has sold.

One word is one token. A call is sold when its answer begins to be generated; of a stream, the words that were sent are
sold.
"""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.http_server import FakeServer
from tests.fakes.messages import Answer, Request, Streamed

LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")


@dataclass
class Sale:
    """The price of one call."""

    model: str
    input: int
    output: int = 0
    key: str = field(default="", repr=False)
    body: dict[str, Any] = field(default_factory=dict, repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)


class StreamingProvider(FakeServer):
    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__(host)
        self.sales: list[Sale] = []
        self.words = 10
        """Words of an answer without a limit."""
        self.obeys = True
        """Whether it writes no more than requested."""
        self.break_after: int | None = None
        """Words after which streams break off."""
        self.tells_usage = True
        self.answers_as = ""
        """The model that answers, no matter which was requested."""
        self.gate = threading.Event()
        """Streams stop before their third word until this is set."""
        self.gate.set()
        self.answer_with: Answer | None = None

    def sold(self) -> int:
        with self.changed:
            return sum(sale.input + sale.output for sale in self.sales)

    def answer(self, request: Request) -> Answer | None:
        if self.answer_with is not None:
            return self.answer_with
        path = request.path.partition("/v1/")[2]
        if request.method == "GET":
            return Answer.json(200, {"object": "list", "data": [{"id": "model-a"}]})
        body = request.fields()
        limits = [body[name] for name in LIMITS if name in body] if self.obeys else []
        made = min(self.words, *limits, self.words)
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        sale = Sale(
            self.answers_as or str(body.get("model")), _count(body), key=key, body=body, headers=dict(request.headers)
        )
        with self.changed:
            self.sales.append(sale)
            self.changed.notify_all()
        if not body.get("stream"):
            sale.output = 0 if path in ("embeddings", "audio/transcriptions") else made
            return Answer.json(200, _document(path, sale, self.tells_usage))
        makers = {"messages": self._messages, "responses": self._responses}
        events = makers.get(path, self._chat)(sale, made)
        return Streamed(200, b"", {"Content-Type": "text/event-stream; charset=utf-8"}, pieces=events)

    def _words(self, sale: Sale, made: int) -> Iterator[str]:
        for number in range(made):
            if number == 2:
                while not (self.gate.wait(0.05) or self.closing.is_set()):
                    pass
            if self.break_after is not None and number >= self.break_after:
                raise ConnectionResetError
            sale.output += 1
            yield f"word{number} "

    def _chat(self, sale: Sale, made: int) -> Iterator[bytes]:
        for word in self._words(sale, made):
            delta = {"content": word}
            yield _event({"id": "c", "model": sale.model, "choices": [{"index": 0, "delta": delta}], "usage": None})
        yield _event({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": None})
        if self.tells_usage and (sale.body.get("stream_options") or {}).get("include_usage"):
            yield _event({"id": "c", "choices": [], "usage": _usage("chat", sale)})
        yield b"data: [DONE]\n\n"

    def _responses(self, sale: Sale, made: int) -> Iterator[bytes]:
        for word in self._words(sale, made):
            yield _named({"type": "response.output_text.delta", "delta": word})
        yield _named({"type": "response.completed", "response": {"id": "r", "usage": _usage("responses", sale)}})

    def _messages(self, sale: Sale, made: int) -> Iterator[bytes]:
        usage = {"input_tokens": sale.input, "output_tokens": 0}
        yield _named({"type": "message_start", "message": {"id": "m", "usage": usage}})
        for word in self._words(sale, made):
            yield _named({"type": "content_block_delta", "delta": {"type": "text_delta", "text": word}})
        delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
        yield _named(delta | {"usage": {"output_tokens": sale.output}})
        yield _named({"type": "message_stop"})


def _count(body: dict[str, Any]) -> int:
    """Counts the words of the request, wherever they are."""
    parts = [body.get("system"), body.get("input"), *(each.get("content") for each in body.get("messages") or ())]
    return sum(len(str(part).split()) for part in parts if part)


def _usage(path: str, sale: Sale) -> dict[str, Any]:
    if path in ("messages", "responses"):
        return {"input_tokens": sale.input, "output_tokens": sale.output}
    total = sale.input + sale.output
    return {"prompt_tokens": sale.input, "completion_tokens": sale.output, "total_tokens": total}


def _document(path: str, sale: Sale, tells_usage: bool) -> dict[str, Any]:
    words = " ".join(f"word{number}" for number in range(sale.output))
    document: dict[str, Any] = {"id": "d", "model": sale.model, "choices": [{"message": {"content": words}}]}
    return document | ({"usage": _usage(path, sale)} if tells_usage else {})


def _event(document: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def _named(document: dict[str, Any]) -> bytes:
    return f"event: {document['type']}\n".encode() + _event(document)
