"""An agent from the gateway's point of view: a virtual credential, an address of its own, and its requests."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.process import PATIENCE, Gateway, digest


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Agent:
    def __init__(self, gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider, *, number: int) -> None:
        self.gateway = gateway
        self.telegram = telegram
        self.provider = provider
        self.project = str(UUID(int=number))
        self.address = f"127.0.{number // 200}.{10 + number % 200}"
        self.token = f"{700_000_000 + number}:CANARYtokenCANARYtokenCANARY{number:05}"
        self.key = f"sk-CANARYkeyCANARYkeyCANARYkey{number:05}"
        self.virtual_token = f"VIRTUALtokenVIRTUALtoken{number:05}"
        self.virtual_key = f"bvk_VIRTUALkeyVIRTUALkey{number:05}"
        telegram.add_bot(self.token)

    def entry(self, *, kind: str = "openai", **changes: Any) -> dict[str, Any]:
        return {
            "project": self.project,
            "address": self.address,
            "telegram": {"virtual": digest(self.virtual_token), "token": self.token, "base": self.telegram.url},
            "provider": {
                "virtual": digest(self.virtual_key), "key": self.key, "kind": kind, "base": f"{self.provider.url}/v1",
            },
        } | changes  # fmt: skip

    def settled(self, requests: int = 1) -> dict[str, int]:
        """Returns what this many calls to the provider have cost together."""
        return self.gateway.settled(self.project, requests)

    def budget_reached(self) -> str | None:
        """Returns the period whose budget is reached according to the gateway."""
        seen = self.gateway.ask("truth")["seen"].get(self.project, {})
        return seen.get("budget_period") if seen.get("budget_reached") else None

    def bot(self, method: str, **fields: Any) -> Answer:
        path = f"/tg/bot{self.token.partition(':')[0]}:{self.virtual_token}/{method}"
        return self.ask("POST", path, fields)

    def chat(self, words: str = "hello there", *, path: str = "chat/completions", **fields: Any) -> Answer:
        body = {"model": "model-a", "messages": [{"role": "user", "content": words}]} | fields
        return self.ask("POST", f"/llm/v1/{path}", body, headers=self.login)

    @property
    def login(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.virtual_key}"}

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: dict[str, str] | None = None,
        timeout: float = PATIENCE,
        address: str | None = None,
    ) -> Answer:
        """Sends one request. http.client raises IncompleteRead for an answer that is cut off."""
        with self.connected(timeout, address) as connection:
            data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            kind = {} if data is None else {"Content-Type": "application/json"}
            connection.request(method, path, data, kind | (headers or {}))
            with connection.getresponse() as answer:
                return Answer(
                    answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
                )

    @contextmanager
    def connected(self, timeout: float = PATIENCE, address: str | None = None) -> Iterator[http.client.HTTPConnection]:
        source = (address or self.address, 0)
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout, source_address=source)
        try:
            yield connection
        finally:
            connection.close()

    def send(self, data: bytes, *, hangs_up_after: float | None = None) -> bytes:
        """Sends raw bytes, and returns all that is received until the gateway hangs up. After `hangs_up_after` seconds
        of silence this end hangs up, for cases in which the gateway may rightly wait for more.
        """
        with socket.create_connection(("127.0.0.1", self.gateway.port), 30, (self.address, 0)) as connection:
            connection.settimeout(hangs_up_after or 30)
            came = b""
            with suppress(ConnectionError):
                connection.sendall(data)
                while piece := self._receive(connection, hangs_up_after is not None):
                    came += piece
            return came

    @staticmethod
    def _receive(connection: socket.socket, may_hang_up: bool) -> bytes:
        try:
            return connection.recv(65536)
        except TimeoutError:
            if not may_hang_up:
                raise
            connection.settimeout(30)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(65536)
