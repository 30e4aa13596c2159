"""The agent's configuration as the relay reads it, and the values that the child gets instead."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_contract import SecretFile, Variable
from berth_agent.inputs import (
    PUBLIC_TELEGRAM,
    find_places,
    read_provider,
    read_seconds,
    read_secret,
    read_settings,
    read_url,
    refuse,
)
from berth_agent.providers import PUBLIC_BASES, Provider

CHILD_KEY = "sk-berth-relay-puts-the-key-in-its-place"
"""The API key that the child sends."""

CHILD_TOKEN = "B" * 35
"""The part of the child's bot token after the bot's number."""


@dataclass(frozen=True)
class Config:
    token: str = field(repr=False)
    key: str = field(repr=False)
    provider: Provider
    model: str
    api_base: str
    telegram_base: str
    instructions: str
    allowed_users: frozenset[str]  # numeric ids, lower-case user names, or * for everybody
    settings: Mapping[str, Any]
    data: Path
    run: Path
    watch_seconds: float  # between two checks of a provider that has a problem
    conflict_seconds: float  # for which another poller is tolerated
    unreachable_seconds: float  # for which an unreachable Telegram is tolerated
    pause_seconds: float  # the longest pause between two attempts; the child waits for its poll's answer meanwhile

    @property
    def child_token(self) -> str:
        return f"{self.token.partition(':')[0]}:{CHILD_TOKEN}"


def read_config(env: Mapping[str, str] = os.environ) -> Config:
    """Raises `FatalError` (exit 40), which names the missing or wrong variable or file."""
    places = find_places(env)
    key = read_secret(places, SecretFile.AGENT_API_KEY)
    provider = read_provider(env, key)
    return Config(
        token=read_secret(places, SecretFile.TELEGRAM_BOT_TOKEN),
        key=key,
        provider=provider,
        model=_read_model(env),
        api_base=read_url(env, Variable.AGENT_API_BASE, PUBLIC_BASES[provider]),
        telegram_base=read_url(env, Variable.TELEGRAM_API_BASE, PUBLIC_TELEGRAM),
        instructions=env.get(Variable.AGENT_INSTRUCTIONS, "").strip(),
        allowed_users=parse_users(env.get(Variable.AGENT_ALLOWED_USERS, "")),
        settings=read_settings(env),
        data=places.data,
        run=places.run,
        watch_seconds=read_seconds(env, "AGENT_WATCH_SECONDS", 60),
        conflict_seconds=read_seconds(env, "AGENT_CONFLICT_SECONDS", 30),
        unreachable_seconds=read_seconds(env, "AGENT_UNREACHABLE_SECONDS", 300),
        pause_seconds=read_seconds(env, "AGENT_LONGEST_PAUSE", 8),
    )


def _read_model(env: Mapping[str, str]) -> str:
    model = env.get(Variable.AGENT_MODEL, "").strip()
    if not model:
        raise refuse(f"{Variable.AGENT_MODEL} must name a model: neither the project nor its agent type does.")
    return model


def parse_users(listed: str) -> frozenset[str]:
    names = (name.strip().removeprefix("@").lower() for name in listed.split(","))
    return frozenset(name for name in names if name)


def is_on(config: Config, setting: str) -> bool:
    """Whether the setting is exactly true. A missing or any other value means off."""
    return config.settings.get(setting) is True


def child_environment(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns the few variables that the child needs, without those of the contract.

    The relay is called directly, even if a proxy is set for other addresses.
    """
    kept = ("PATH", "HOME", "LANG", "TZ", "HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE")
    return {name: env[name] for name in kept if name in env} | dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
