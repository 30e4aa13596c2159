"""Upstreams of which a test knows the whole truth: who refuses what, and how each server says so."""

import json
from dataclasses import dataclass, replace
from enum import StrEnum

from gateway.entries.entry import Bot, Entry, Kind, Provider
from gateway.proofs import Fact, Proof
from gateway.providers.proof import read_proof as read_provider_proof
from gateway.rules.paths import Call
from gateway.telegram.proof import read_proof as read_telegram_proof


class Network(StrEnum):
    UP = "up"
    BUSY = "busy"
    DOWN = "down"
    ASTRAY = "astray"
    """A proxy answers 404 instead of the server."""


@dataclass(frozen=True)
class World:
    refused: frozenset[Fact] = frozenset()
    network: Network = Network.UP

    def with_(self, fact: Fact, *, refused: bool) -> "World":
        return replace(self, refused=self.refused | {fact} if refused else self.refused - {fact})


@dataclass(frozen=True)
class Request:
    """A call. `needs` has the facts that its server checks, in this order."""

    name: str
    needs: tuple[Fact, ...]
    kind: Kind = Kind.OPENAI
    call: Call | None = None
    """None for a method of the Bot API."""
    method: str = ""
    always: int = 0
    """The status that it gets if nothing is refused, unless that is 200."""
    describes_key: bool = False

    def answer(self, world: World) -> tuple[int, bytes, Fact | None]:
        """Returns status and body, and the fact that was refused."""
        elsewhere = {Network.BUSY: 429, Network.DOWN: 502, Network.ASTRAY: 404}
        if world.network in elsewhere:
            return elsewhere[world.network], b"<html>Not Found</html>", None
        refused = next((fact for fact in self.needs if fact in world.refused), None)
        if refused is not None:
            return *(self._refuse_provider(refused) if self.call else self._refuse_telegram(refused)), refused
        if self.call is None and self.always:
            return self.always, _of_telegram(self.always), None
        return self.always or 200, b"{}", None

    def _refuse_telegram(self, fact: Fact) -> tuple[int, bytes]:
        status = 409 if fact is Fact.POLLING else 401 if self.method.isupper() else 404
        return status, _of_telegram(status)

    def _refuse_provider(self, fact: Fact) -> tuple[int, bytes]:
        if fact is Fact.KEY:
            return 401, _of_provider("Incorrect API key provided")
        if fact is Fact.PERMISSION:
            return 401, _of_provider(
                "You have insufficient permissions for this operation. Missing scopes: model.request"
            )
        return {
            Kind.OPENAI: (429, _of_provider("You exceeded your current quota", code="insufficient_quota")),
            Kind.ANTHROPIC: (400, _of_provider("Your credit balance is too low to access the Anthropic API.")),
            Kind.OPENROUTER: (403, _of_provider("Key limit exceeded (total limit).", code=403)),
            Kind.COMPATIBLE: (402, b"Payment Required"),
        }[self.kind]

    def proof(self, world: World) -> Proof:
        status, body, _ = self.answer(world)
        if self.call is None:
            return read_telegram_proof(self.method, status, body)
        return read_provider_proof(self.call, self.kind, describes_key=self.describes_key, status=status, body=body)

    @property
    def has_costs(self) -> bool:
        return self.call not in (None, Call.LOOK, Call.COUNT)

    @property
    def is_poll(self) -> bool:
        return self.method.lower() == "getupdates"


def _of_telegram(status: int) -> bytes:
    words = {401: "Unauthorized", 404: "Not Found", 409: "Conflict: terminated by other getUpdates request"}
    return json.dumps({"ok": False, "error_code": status, "description": words.get(status, "Bad Request")}).encode()


def _of_provider(message: str, *, code: object = None) -> bytes:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", "code": code}}).encode()


OF_TELEGRAM = (
    Request("a poll", (Fact.TOKEN, Fact.POLLING), method="getUpdates"),
    Request("a poll elsewhere", (Fact.TOKEN, Fact.POLLING), method="GETUPDATES"),
    Request("a message", (Fact.TOKEN,), method="sendMessage"),
    Request("a bad message", (Fact.TOKEN,), method="sendMessage", always=400),
    Request("an unknown method", (), method="sendHologram", always=404),
)
FILES = (Request("a file", (), always=404), Request("a file that is there", ()))


def of_provider(kind: Kind) -> tuple[Request, ...]:
    """The list of models needs a key only at OpenAI and Anthropic."""
    of_models = (Fact.KEY, Fact.CREDIT) if kind is Kind.ANTHROPIC else (Fact.KEY, Fact.PERMISSION, Fact.CREDIT)
    lists = (Fact.KEY,) if kind in (Kind.OPENAI, Kind.ANTHROPIC) else ()
    chat = Call.MESSAGES if kind is Kind.ANTHROPIC else Call.CHAT
    requests = [
        Request("a chat", of_models, kind, chat),
        Request("a bad chat", of_models, kind, chat, always=400),
        Request("an unknown model", of_models, kind, chat, always=404),
        Request("the list of models", lists, kind, Call.LOOK),
    ]
    if kind is Kind.OPENROUTER:
        requests.append(Request("about the key", (Fact.KEY,), kind, Call.LOOK, describes_key=True))
    if kind is Kind.ANTHROPIC:
        requests.append(Request("a count", (Fact.KEY,), kind, Call.COUNT))
    else:
        requests.append(Request("embeddings", (Fact.KEY, Fact.CREDIT), kind, Call.EMBEDDINGS))
    return tuple(requests)


def entry(kind: Kind = Kind.OPENAI, *, token: str = "1:a", key: str = "k") -> Entry:
    return Entry("p", bot=Bot("v", token, "https://t"), provider=Provider("w", key, kind, "https://p"))
