"""Reads the agent's configuration: settings from the environment, secrets from files, as the agent contract says."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from agent_contract import SecretFile, Variable
from assistant.chatting.limits import Limits, read_limits
from assistant.providers import DEFAULT_MODELS, VOICE_MODELS
from berth_agent.inputs import (
    PUBLIC_TELEGRAM,
    find_places,
    read_optional_secret,
    read_provider,
    read_seconds,
    read_secret,
    read_settings,
    read_text,
    read_url,
    refuse,
)
from berth_agent.providers import PUBLIC_BASES, Provider

DEFAULT_INSTRUCTIONS = (
    "You are a helpful assistant in a Telegram chat. Answer briefly. Markdown is shown well: bold, italic, lists, "
    "links, quotes, code blocks and small tables. HTML and LaTeX are not."
)


MOST_SERVERS = 5  # MCP servers


@dataclass(frozen=True)
class Config:
    token: str = field(repr=False)
    key: str = field(repr=False)
    pairing_secret: str = field(repr=False)  # empty if the agent cannot pair people
    provider: Provider
    model: str
    api_base: str
    telegram_base: str
    instructions: str
    allowed_users: frozenset[str]  # numeric ids, lower-case user names, or * for everybody
    data_dir: Path
    watch_seconds: float  # between two probes of a provider that has a problem
    conflict_seconds: float  # how long another poller is tolerated
    unreachable_seconds: float  # how long an unreachable Telegram is tolerated
    answer_seconds: float  # how long the model may be silent
    limits: Limits
    reminders: bool
    web: bool
    search_url: str  # empty if the agent has no web search
    mcp: tuple[str, ...]  # URLs of MCP servers
    internal_hosts: frozenset[str]  # hosts in private networks that tools may reach nevertheless
    proxy: str  # the gateway's proxy, if the agent's network has no other way out; else empty
    zone: ZoneInfo
    voice_model: str  # empty if the provider cannot transcribe

    @property
    def gateway_addresses(self) -> tuple[str, ...]:
        """The tools' URLs that lead to the gateway, which adds their credentials."""
        beginning = f"{self.telegram_base.removesuffix('/tg')}/out/"
        return tuple(address for address in (*self.mcp, self.search_url) if address.startswith(beginning))


def read_config(env: Mapping[str, str] = os.environ) -> Config:
    """Reads the configuration. Raises FatalError (exit 40), which names the missing or invalid variable or file."""
    places = find_places(env)
    key = read_secret(places, SecretFile.AGENT_API_KEY)
    provider = read_provider(env, key)
    settings = read_settings(env)
    return Config(
        token=read_secret(places, SecretFile.TELEGRAM_BOT_TOKEN),
        key=key,
        pairing_secret=read_optional_secret(places, SecretFile.PAIRING_SECRET),
        provider=provider,
        model=env.get(Variable.AGENT_MODEL, "").strip() or DEFAULT_MODELS[provider],
        api_base=read_url(env, Variable.AGENT_API_BASE, PUBLIC_BASES[provider]),
        telegram_base=read_url(env, Variable.TELEGRAM_API_BASE, PUBLIC_TELEGRAM),
        instructions=env.get(Variable.AGENT_INSTRUCTIONS, "").strip() or DEFAULT_INSTRUCTIONS,
        allowed_users=parse_allowed_users(env.get(Variable.AGENT_ALLOWED_USERS, "")),
        data_dir=places.data,
        watch_seconds=read_seconds(env, "AGENT_WATCH_SECONDS", 60),
        conflict_seconds=read_seconds(env, "AGENT_CONFLICT_SECONDS", 30),
        unreachable_seconds=read_seconds(env, "AGENT_UNREACHABLE_SECONDS", 300),
        answer_seconds=read_seconds(env, "AGENT_ANSWER_SECONDS", 120),
        limits=read_limits(settings),
        reminders=settings.get("reminders") is not False,
        web=settings.get("web") is True,
        search_url=read_text(settings, "search_url"),
        mcp=_read_addresses(settings, "mcp"),
        internal_hosts=frozenset(env.get("AGENT_INSIDE_HOSTS", "").replace(",", " ").lower().split()),
        proxy=env.get("HTTPS_PROXY", "").strip(),
        zone=_read_zone(settings),
        voice_model=read_text(settings, "voice_model", VOICE_MODELS.get(provider, "")),
    )


def _read_addresses(settings: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = settings.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise refuse(f"{name} must be a list of addresses.")
    return tuple(each.strip() for each in found if each.strip())[:MOST_SERVERS]


def _read_zone(settings: Mapping[str, Any]) -> ZoneInfo:
    name = read_text(settings, "time_zone", "UTC")
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise refuse("time_zone must be a name such as Europe/Berlin.") from None


def parse_allowed_users(listed: str) -> frozenset[str]:
    names = (name.strip().removeprefix("@").lower() for name in listed.split(","))
    return frozenset(name for name in names if name)
