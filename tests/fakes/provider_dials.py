"""What a test sets up, reads and breaks at the fake provider."""

import time
from typing import Any

from tests.fakes.http_server import FakeServer
from tests.fakes.messages import GARBAGE, Answer, Fault
from tests.fakes.provider_answers import Asked

LISTED_MODELS = (
    "gpt-5.4-mini",
    "gpt-5-mini",
    "claude-haiku-5-5",
    "claude-sonnet-5-5",
    "openai/gpt-5.4-mini",
    "openrouter/auto",
)


ALL = 1 << 30
BREAK = "\0break"
"""A piece at which the connection ends."""


class ProviderDials(FakeServer):
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
        self._calls: list[list[tuple[str, dict[str, Any]]]] = []
        self._transcript: str | None = "What is this?"
        self._pieces: list[str] | None = None
        self._let_through = ALL
        self.streams = True
        """Whether it streams on request; some gateways ignore that."""
        self._held: set[str] = set()

    @property
    def api_base(self) -> str:
        return f"{self.url}/v1"

    # Settings and reads of a test.

    def add_key(self, key: str) -> None:
        with self.changed:
            self._keys.add(key)

    def add_model(self, model: str) -> None:
        """Lists a model. Unlisted ones answer too, unless `remove_model` was called for them."""
        with self.changed:
            self._models.append(model)
            self._missing_models.discard(model)

    def remove_model(self, model: str) -> None:
        with self.changed:
            self._missing_models.add(model)

    def reply_with(self, text: str | None) -> None:
        """Sets a fixed answer; None means to echo again."""
        with self.changed:
            self._reply = text

    def reply_in_pieces(self, *pieces: str, let_through: int = ALL) -> None:
        """Streams this answer, but only this many pieces of it until `let_through` or `heal`."""
        with self.changed:
            self._pieces, self._let_through = list(pieces), let_through

    def let_through(self, pieces: int = ALL) -> None:
        with self.changed:
            self._let_through = pieces
            self.changed.notify_all()

    def call_tools(self, *steps: list[tuple[str, dict[str, Any]]]) -> None:
        """Answers the next questions with tools by calling some: in each step those with these arguments."""
        with self.changed:
            self._calls = list(steps)

    def transcribe_as(self, text: str | None) -> None:
        """Sets the transcript of every sound; with None the path is missing,
        as at a server that transcribes nothing."""
        with self.changed:
            self._transcript = text

    def hold(self, question: str) -> None:
        """Answers this question only after `release` or `heal`."""
        with self.changed:
            self._held.add(question)

    def release(self, question: str) -> None:
        with self.changed:
            self._held.discard(question)
            self.changed.notify_all()

    def asked(self, kind: str | None = "chat") -> list[Asked]:
        """Returns requests of a kind: "chat", "models", "key"; None means all."""
        with self.changed:
            return [asked for asked in self._asked if kind in (None, asked.kind)]

    def wait_for_request(self, *, kind: str | None = "chat", after: int = 0, timeout: float = 10) -> Asked:
        """Returns the request with index `after` of `asked(kind)`. Raises TimeoutError if it does not come."""
        until = time.monotonic() + timeout
        with self.changed:
            while len(fits := [a for a in self._asked if kind in (None, a.kind)]) <= after:
                if (left := until - time.monotonic()) <= 0:
                    raise TimeoutError(f"no {kind} request within {timeout} s")
                self.changed.wait(left)
            return fits[after]

    # Failures. `only` limits a failure to "chat", "models" or "key"; `times` to this many requests.

    def reject(self, key: str) -> None:
        with self.changed:
            self._rejected.add(key)

    def accept(self, key: str) -> None:
        with self.changed:
            self._keys.add(key)
            self._rejected.discard(key)
            self._penniless.discard(key)

    def no_credit(self, key: str) -> None:
        """The key is right and its owner has no money. Lists of models still answer, like the vendors'."""
        with self.changed:
            self._penniless.add(key)

    def rate_limit(self, retry_after: int = 1, only: str | None = None, times: int | None = None) -> None:
        self._fault("busy", {"retry_after": retry_after}, Fault(None, only, times))

    def break_down(self, status: int = 500, only: str | None = None, times: int | None = None) -> None:
        """500 and 529 in the vendor's JSON; 502 as a proxy's HTML page."""
        self._fault("down", {"status": status}, Fault(None, only, times))

    def answer_with(self, status: int, document: object, only: str | None = None, times: int | None = None) -> None:
        """Gives any other answer, unchanged."""
        self._fault("fixed", {}, Fault(Answer.json(status, document), only, times))

    def garbage(self, only: str | None = None, times: int | None = None) -> None:
        self._fault("fixed", {}, Fault(GARBAGE, only, times))

    def stall(self, only: str | None = None, times: int | None = None) -> None:
        """Accepts requests and never answers."""
        self._fault("stall", {}, Fault(None, only, times))

    def heal(self) -> None:
        """Ends every failure, held and fixed answers; keys are accepted again and models are back."""
        with self.changed:
            for dialled in (self._faults, self._rejected, self._penniless, self._missing_models, self._held):
                dialled.clear()
            self._reply, self._pieces, self._let_through, self._calls = None, None, ALL, []
            self.changed.notify_all()

    # Inside.

    def _take_fault(self, asked: Asked) -> tuple[str, dict[str, Any], Fault] | None:
        with self.changed:
            found = next((f for f in self._faults if f[2].only in (None, asked.kind)), None)
            if found is not None and found[2].times is not None:
                found[2].times -= 1
                self._faults[:] = [f for f in self._faults if f[2].times is None or f[2].times > 0]
            return found

    def _fault(self, name: str, values: dict[str, Any], fault: Fault) -> None:
        with self.changed:
            self._faults.append((name, values, fault))
