"""An entry: everything that the gateway must know about a project. Pure."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address

from gateway.entries.fields import (
    DIGEST,
    HEADER_SAFE,
    EntryError,
    read_base,
    read_matching,
    read_numbers,
    read_object,
    read_strings,
)
from gateway.entries.servers import Servers, read_servers
from gateway.entries.spent import Spent, read_spent
from gateway.tunnels.target import Target, read_host

_PROJECT = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")
_BOT_TOKEN = re.compile(r"\d{1,20}:[\w-]{1,256}", re.ASCII)


class Kind(StrEnum):
    """The provider whose request and answer formats are used."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OPENROUTER = "openrouter"
    COMPATIBLE = "compatible"


@dataclass(frozen=True, slots=True)
class Bot:
    virtual: str
    """The digest of the virtual token's part behind the colon."""
    token: str = field(repr=False)
    base: str


@dataclass(frozen=True, slots=True)
class Provider:
    virtual: str
    key: str = field(repr=False)
    kind: Kind
    base: str


@dataclass(frozen=True, slots=True)
class Price:
    """Millionths of the currency for a million tokens."""

    input: int
    output: int
    cached: int


@dataclass(frozen=True, slots=True)
class Limits:
    requests: int = 600
    """Calls to the provider a minute."""
    parallel: int = 32
    """Calls to the provider at a time."""
    answer_tokens: int = 4096
    """The longest answer to a call that sets no limit itself."""
    media_tokens: int = 2000
    """Tokens reserved for a sound, and the least for an image, a transcription or a text to read aloud."""
    unseen_tokens: int = 200_000
    """Tokens reserved for input that the provider itself adds: stored conversations, its own tools, its files.
    Also the most that is reserved for all PDFs in a request together."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a day and a month may cost: tokens in and out, and millionths of the currency. None: no limit."""

    day_tokens: int | None = None
    month_tokens: int | None = None
    day_money: int | None = None
    month_money: int | None = None

    @property
    def is_of_money(self) -> bool:
        return self.day_money is not None or self.month_money is not None

    @property
    def is_set(self) -> bool:
        return self.is_of_money or self.day_tokens is not None or self.month_tokens is not None


@dataclass(frozen=True, slots=True)
class Entry:
    project: str
    address: str | None = None
    """The source address of the agent's container. None: any address is accepted, unless the entry is `assigned`."""
    bot: Bot | None = None
    provider: Provider | None = None
    servers: Servers | None = None
    models: frozenset[str] | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    limits: Limits = Limits()
    budget: Budget = Budget()
    hosts: frozenset[Target] = frozenset()
    """Other hosts that the agent may reach by CONNECT."""
    spent: tuple[Spent, ...] = ()
    """What the service has read from this and earlier usage stores, so that the loss of a store loses no counts."""
    leased: bool = False
    """Whether the entry is valid only during a lease."""
    assigned: bool = False
    """Whether the engine chooses the agent's address, a different one at each start. If `address` is None, the first
    address that uses the credential is accepted. From any other address the agent is asked to retry."""


def digest(credential: str) -> str:
    return hashlib.sha256(credential.encode()).hexdigest()


def read_entry(document: object) -> Entry:
    """Reads an entry from a JSON document. Raises EntryError."""
    given = read_object(document, "An entry")
    models = given.get("models")
    return Entry(
        project=read_project(given.get("project")),
        address=_address(given.get("address")),
        bot=_bot(given["telegram"]) if given.get("telegram") else None,
        provider=_provider(given["provider"]) if given.get("provider") else None,
        servers=read_servers(given["servers"]) if given.get("servers") else None,
        models=None if models is None else frozenset(read_strings(models, "models")),
        prices={name: _price(price) for name, price in read_object(given.get("prices") or {}, "prices").items()},
        limits=Limits(**read_numbers(given.get("limits") or {}, "limits", Limits.__slots__)),
        budget=Budget(**read_numbers(given.get("budget") or {}, "budget", Budget.__slots__)),
        hosts=frozenset(map(_host, read_strings(given.get("hosts") or [], "hosts"))),
        spent=read_spent(given.get("spent") or []),
        leased=given.get("leased") is True,
        assigned=given.get("assigned") is True,
    )


def read_project(value: object) -> str:
    return read_matching(value, _PROJECT, "project")


def _bot(document: object) -> Bot:
    given = read_object(document, "telegram")
    token = read_matching(given.get("token"), _BOT_TOKEN, "telegram.token")
    return Bot(read_matching(given.get("virtual"), DIGEST, "telegram.virtual"), token, read_base(given.get("base")))


def _provider(document: object) -> Provider:
    given = read_object(document, "provider")
    try:
        kind = Kind(str(given.get("kind")))
    except ValueError:
        raise EntryError("provider.kind is not a kind that the gateway knows.") from None
    key = read_matching(given.get("key"), HEADER_SAFE, "provider.key")
    return Provider(
        read_matching(given.get("virtual"), DIGEST, "provider.virtual"), key, kind, read_base(given.get("base"))
    )


def _price(document: object) -> Price:
    given = read_numbers(document, "prices", Price.__slots__)
    return Price(given.get("input", 0), given.get("output", 0), given.get("cached", given.get("input", 0)))


def _address(value: object) -> str | None:
    if value is None:
        return None
    try:
        return str(ip_address(str(value)))
    except ValueError:
        raise EntryError("address is not an IP address.") from None


def _host(value: str) -> Target:
    found = read_host(value)
    if found is None:
        raise EntryError("hosts contains a value that is not a host name with or without a port.")
    return found
