"""Reads the agent's configuration: settings from the environment, secrets from files, as the agent contract says."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from agent_contract import DATA_PATH, SECRETS_PATH, ExitCode, ProblemCode, SecretFile, Variable
from assistant.outcome import FatalError
from assistant.providers import DEFAULT_MODELS, PUBLIC_BASES, Provider, guess_provider

DEFAULT_INSTRUCTIONS = "You are a helpful assistant in a Telegram chat. Answer briefly, in plain text without Markdown."


@dataclass(frozen=True)
class Config:
    token: str = field(repr=False)
    key: str = field(repr=False)
    provider: Provider
    model: str
    api_base: str
    telegram_base: str
    instructions: str
    allowed_users: frozenset[str]  # numeric ids and lower-case user names; empty means everybody
    data_dir: Path
    watch_seconds: float  # between two probes of a provider that is in trouble
    conflict_seconds: float  # how long another poller is tolerated
    unreachable_seconds: float  # how long an unreachable Telegram is tolerated
    answer_seconds: float  # how long the model may think


def read_config(env: Mapping[str, str] = os.environ) -> Config:
    """The configuration. Raises FatalError (exit 40), which names the variable or file that is missing or wrong."""
    secrets = Path(env.get("AGENT_SECRETS_DIR") or SECRETS_PATH)
    token = _secret(secrets / SecretFile.TELEGRAM_BOT_TOKEN)
    key = _secret(secrets / SecretFile.AGENT_API_KEY)
    provider = _provider(env.get(Variable.AGENT_PROVIDER, "").strip().lower(), key)
    return Config(
        token=token,
        key=key,
        provider=provider,
        model=env.get(Variable.AGENT_MODEL, "").strip() or DEFAULT_MODELS[provider],
        api_base=_url(env, Variable.AGENT_API_BASE, PUBLIC_BASES[provider]),
        telegram_base=_url(env, Variable.TELEGRAM_API_BASE, "https://api.telegram.org"),
        instructions=env.get(Variable.AGENT_INSTRUCTIONS, "").strip() or DEFAULT_INSTRUCTIONS,
        allowed_users=parse_allowed_users(env.get(Variable.AGENT_ALLOWED_USERS, "")),
        data_dir=Path(env.get("AGENT_DATA_DIR") or DATA_PATH),
        watch_seconds=_seconds(env, "AGENT_WATCH_SECONDS", 60),
        conflict_seconds=_seconds(env, "AGENT_CONFLICT_SECONDS", 30),
        unreachable_seconds=_seconds(env, "AGENT_UNREACHABLE_SECONDS", 300),
        answer_seconds=_seconds(env, "AGENT_ANSWER_SECONDS", 120),
    )


def parse_allowed_users(listed: str) -> frozenset[str]:
    names = (name.strip().removeprefix("@").lower() for name in listed.split(","))
    return frozenset(name for name in names if name)


def _secret(path: Path) -> str:
    try:
        value = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        value = ""
    if not value:
        detail = f"The secret file {path.name} is missing, empty or unreadable."
        raise FatalError(ExitCode.CONFIGURATION, ProblemCode.MISSING_SECRET, detail)
    return value


def _provider(named: str, key: str) -> Provider:
    if not named:
        return guess_provider(key)
    try:
        return Provider(named)
    except ValueError:
        raise _bad(f"{Variable.AGENT_PROVIDER} must be anthropic, openrouter or openai.") from None


def _url(env: Mapping[str, str], name: str, default: str) -> str:
    value = (env.get(name, "").strip() or default).rstrip("/")
    try:
        parts = urlsplit(value)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise _bad(f"{name} must be an http or https address.")
    return value


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    try:
        value = float(env.get(name) or default)
    except ValueError:
        value = -1
    if not 0 < value < 1_000_000:
        raise _bad(f"{name} must be a number of seconds.")
    return value


def _bad(detail: str) -> FatalError:
    return FatalError(ExitCode.CONFIGURATION, ProblemCode.BAD_CONFIGURATION, detail)
