"""The entry of a project in the gateway. The other side is `containers/images/gateway/gateway/entries/entry.py`."""

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

MARK = "bvk_"
"""Part of every virtual credential, so that people and programs can distinguish it from a real one."""

_RANDOM_BYTES = 32

BOT_TOKEN = re.compile(r"([0-9]{1,18}):[A-Za-z0-9_-]{1,256}")
"""A bot's token that the gateway takes. The group is the bot's id."""

API_KEY = re.compile(r"[!-~]{1,4096}")
"""A provider's key that the gateway takes: what a header of HTTP can carry as one word."""


class ProviderKind(StrEnum):
    """The API that a provider speaks."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OPENROUTER = "openrouter"
    COMPATIBLE = "compatible"


# Agents guess the provider from the prefix of a key.
_BEGINNINGS = {ProviderKind.ANTHROPIC: "sk-ant-", ProviderKind.OPENROUTER: "sk-or-"}


def new_virtual_key(kind: ProviderKind) -> str:
    """Returns a random key that no provider knows, in the form of this provider's keys."""
    return f"{_BEGINNINGS.get(kind, 'sk-')}{MARK}{secrets.token_urlsafe(_RANDOM_BYTES)}"


def new_virtual_token(bot_id: int) -> str:
    """Returns a random bot token that Telegram does not know, in the form of its tokens."""
    return f"{bot_id}:{MARK}{secrets.token_urlsafe(_RANDOM_BYTES)}"


def new_virtual_pass() -> str:
    """Returns a random credential for the path by which an agent calls its servers."""
    return f"{MARK}{secrets.token_urlsafe(_RANDOM_BYTES)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BotEntry:
    virtual_token: str = field(repr=False)
    token: str = field(repr=False)
    base: str = "https://api.telegram.org"

    def as_document(self) -> dict[str, Any]:
        """Returns the entry. The digest omits the bot's id before the colon, which changes with the real token."""
        return {"virtual": digest(self.virtual_token.partition(":")[2]), "token": self.token, "base": self.base}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEntry:
    virtual_key: str = field(repr=False)
    key: str = field(repr=False)
    kind: ProviderKind
    base: str

    def as_document(self) -> dict[str, Any]:
        return {"virtual": digest(self.virtual_key), "key": self.key, "kind": self.kind.value, "base": self.base}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """A server on the internet with a credential: the gateway puts `value` into the header of this name."""

    base: str
    header: str
    value: str = field(repr=False)

    @property
    def id(self) -> str:
        """Identifies the server in the path. It must not change while an agent knows that path."""
        return digest(self.base)[:16]

    def as_document(self) -> dict[str, str]:
        return {"base": self.base, "header": self.header, "value": self.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServersEntry:
    """The servers of an agent. With `only_hosts`, only servers that the entry's `hosts` allow."""

    virtual: str = field(repr=False)
    servers: tuple[ServerEntry, ...]
    only_hosts: bool = False

    def as_document(self) -> dict[str, Any]:
        by_id = {server.id: server.as_document() for server in self.servers}
        return {"virtual": digest(self.virtual), "only_hosts": self.only_hosts, "by_id": by_id}

    def ways(self, gateway: str) -> dict[str, str]:
        """Returns the URL by which the agent calls each server, by the server's own URL."""
        return {server.base: f"{gateway}/out/{self.virtual}/{server.id}" for server in self.servers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Prices in millionths of the currency for a million tokens."""

    input: int
    output: int
    cached: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of an agent. None means the gateway's own default, which its `Limits` defines."""

    requests: int | None = None
    parallel: int | None = None
    answer_tokens: int | None = None
    media_tokens: int | None = None
    unseen_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits for a UTC day and month: input and output tokens, and millionths of the currency."""

    day_tokens: int | None = None
    month_tokens: int | None = None
    day_money: int | None = None
    month_money: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The usage that one store of the gateway has reported for a day (2026-11-22) or a month (2026-11)."""

    store: str
    period: str
    tokens: int
    money: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    project: str
    address: str | None
    """The source address of the agent's container. None: only the credential counts, unless it is `assigned`."""
    bot: BotEntry | None = None
    provider: ProviderEntry | None = None
    servers: ServersEntry | None = None
    models: frozenset[str] | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    limits: Limits = Limits()
    budget: Budget = Budget()
    hosts: frozenset[str] = frozenset()
    """Other hosts that the agent may reach by CONNECT: `name` or `*.name`, with `:port` if that is not 443."""
    spent: tuple[Spent, ...] = ()
    """Usage of the present day and month. The gateway knows its own store's; only the service knows that of a lost one.
    """

    leased: bool = False
    """The entry is valid only while it has a lease."""
    assigned: bool = False
    """The engine assigns the address. Until it is known, the address that uses the credential is accepted."""

    def as_document(self) -> dict[str, Any]:
        return {
            "project": self.project,
            "address": self.address,
            "telegram": self.bot.as_document() if self.bot else None,
            "provider": self.provider.as_document() if self.provider else None,
            "servers": self.servers.as_document() if self.servers else None,
            "models": sorted(self.models) if self.models is not None else None,
            "prices": {model: asdict(price) for model, price in self.prices.items()},
            "limits": asdict(self.limits),
            "budget": asdict(self.budget),
            "hosts": sorted(self.hosts),
            "spent": [asdict(each) for each in self.spent],
            "leased": self.leased,
            "assigned": self.assigned,
        }


def digest(virtual: str) -> str:
    """Returns the digest that the gateway stores of a virtual credential, which is random and cannot be guessed."""
    return hashlib.sha256(virtual.encode()).hexdigest()
