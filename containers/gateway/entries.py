"""What the gateway is told of a project. The other side is `containers/images/gateway/gateway/entries/entry.py`."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

MARK = "bvk_"
"""Is in every virtual credential, so that people and programs tell it from a real one."""

_RANDOM_BYTES = 32


class ProviderKind(StrEnum):
    """Whose shapes a provider speaks."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OPENROUTER = "openrouter"
    COMPATIBLE = "compatible"


# Agents guess the provider from how a key begins.
_BEGINNINGS = {ProviderKind.ANTHROPIC: "sk-ant-", ProviderKind.OPENROUTER: "sk-or-"}


def new_virtual_key(kind: ProviderKind) -> str:
    """A key that no provider knows, in the shape of this provider's keys."""
    return f"{_BEGINNINGS.get(kind, 'sk-')}{MARK}{secrets.token_urlsafe(_RANDOM_BYTES)}"


def new_virtual_token(bot_id: int) -> str:
    """A bot token that Telegram does not know, in the shape of its tokens."""
    return f"{bot_id}:{MARK}{secrets.token_urlsafe(_RANDOM_BYTES)}"


def new_virtual_pass() -> str:
    """What stands in the path by which an agent asks its servers."""
    return f"{MARK}{secrets.token_urlsafe(_RANDOM_BYTES)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BotEntry:
    virtual_token: str = field(repr=False)
    token: str = field(repr=False)
    base: str = "https://api.telegram.org"

    def as_document(self) -> dict[str, Any]:
        """The part before the colon is the bot's id, which changes with the real token and does not count."""
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
    """A server of the internet with a credential: `value` is put into the header of this name."""

    base: str
    header: str
    value: str = field(repr=False)

    @property
    def id(self) -> str:
        """Stands for it in the path, as long as an agent knows that path."""
        return digest(self.base)[:16]

    def as_document(self) -> dict[str, str]:
        return {"base": self.base, "header": self.header, "value": self.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServersEntry:
    """`only_hosts`: only those that the entry's `hosts` allow."""

    virtual: str = field(repr=False)
    servers: tuple[ServerEntry, ...]
    only_hosts: bool = False

    def as_document(self) -> dict[str, Any]:
        by_id = {server.id: server.as_document() for server in self.servers}
        return {"virtual": digest(self.virtual), "only_hosts": self.only_hosts, "by_id": by_id}

    def ways(self, gateway: str) -> dict[str, str]:
        """By the address of each server, the address by which its agent asks it."""
        return {server.base: f"{gateway}/out/{self.virtual}/{server.id}" for server in self.servers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Millionths of the currency for a million tokens."""

    input: int
    output: int
    cached: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """None: the gateway's own default, which stands in its `Limits`."""

    requests: int | None = None
    parallel: int | None = None
    answer_tokens: int | None = None
    media_tokens: int | None = None
    unseen_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that a UTC day and month may cost: tokens in and out, and millionths of the currency."""

    day_tokens: int | None = None
    month_tokens: int | None = None
    day_money: int | None = None
    month_money: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one store of the gateway has told of a day (2026-11-22) or a month (2026-11)."""

    store: str
    period: str
    tokens: int
    money: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    project: str
    address: str | None
    """The source address of the agent's container. None: the credential alone counts, unless it is `assigned`."""
    bot: BotEntry | None = None
    provider: ProviderEntry | None = None
    servers: ServersEntry | None = None
    models: frozenset[str] | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    limits: Limits = Limits()
    budget: Budget = Budget()
    hosts: frozenset[str] = frozenset()
    """Other hosts that the agent may reach by CONNECT: `name`, `*.name`, either with `:port` where that is not 443."""
    spent: tuple[Spent, ...] = ()
    """Of the present day and month. The gateway knows what its own store has; one that was lost is known here alone."""

    leased: bool = False
    """It counts only while it has a lease."""
    assigned: bool = False
    """The engine gives the address. Where it is not told, the one counts that uses the credential."""

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
    """All that the gateway keeps of a virtual credential. It is random, so that nobody finds it by trying."""
    return hashlib.sha256(virtual.encode()).hexdigest()
