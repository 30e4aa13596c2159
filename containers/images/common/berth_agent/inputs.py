"""Reads what Berth gives to an agent: credentials from files, settings from the environment.

Each fault is a `FatalError` that ends the agent with exit code 40 and names the variable or the file.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent_contract import DATA_PATH, RUN_PATH, SECRETS_PATH, ExitCode, ProblemCode, SecretFile, Variable
from berth_agent.outcome import FatalError
from berth_agent.providers import Provider, guess_provider

PUBLIC_TELEGRAM = "https://api.telegram.org"


@dataclass(frozen=True)
class Places:
    """The directories of an agent. Tests move them by AGENT_SECRETS_DIR, AGENT_DATA_DIR and AGENT_RUN_DIR."""

    secrets: Path
    data: Path
    run: Path


def find_places(env: Mapping[str, str] = os.environ) -> Places:
    return Places(
        secrets=Path(env.get("AGENT_SECRETS_DIR") or SECRETS_PATH),
        data=Path(env.get("AGENT_DATA_DIR") or DATA_PATH),
        run=Path(env.get("AGENT_RUN_DIR") or RUN_PATH),
    )


def read_secret(places: Places, file: SecretFile) -> str:
    """Returns a credential without surrounding whitespace."""
    try:
        value = (places.secrets / file).read_text().strip()
    except (OSError, UnicodeDecodeError):
        value = ""
    if not value:
        detail = f"The secret file {file} is missing, empty or unreadable."
        raise FatalError(ExitCode.CONFIGURATION, ProblemCode.MISSING_SECRET, detail)
    return value


def read_optional_secret(places: Places, file: SecretFile) -> str:
    """Returns an empty string only if the file does not exist. An unreadable file is a fault, as with any secret."""
    try:
        (places.secrets / file).lstat()
    except FileNotFoundError:
        return ""
    except OSError:
        pass  # reading it reports why
    return read_secret(places, file)


def read_provider(env: Mapping[str, str], key: str) -> Provider:
    """Returns the configured provider, or the one whose keys have this form."""
    named = env.get(Variable.AGENT_PROVIDER, "").strip().lower()
    if not named:
        return guess_provider(key)
    try:
        return Provider(named)
    except ValueError:
        raise refuse(f"{Variable.AGENT_PROVIDER} must be anthropic, openrouter or openai.") from None


def read_url(env: Mapping[str, str], name: str, default: str) -> str:
    """Returns an address without a trailing slash."""
    value = (env.get(name, "").strip() or default).rstrip("/")
    try:
        parts = urlsplit(value)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise refuse(f"{name} must be an http or https address.")
    return value


def read_seconds(env: Mapping[str, str], name: str, default: float) -> float:
    try:
        value = float(env.get(name) or default)
    except ValueError:
        value = -1
    if not 0 < value < 1_000_000:
        raise refuse(f"{name} must be a number of seconds.")
    return value


def read_settings(env: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Returns all settings of the project as its owner has set them, by their names in the agent type's schema."""
    try:
        found = json.loads(env.get(Variable.AGENT_SETTINGS) or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise refuse(f"{Variable.AGENT_SETTINGS} must be a JSON object.")
    return found


def read_text(settings: Mapping[str, Any], name: str, default: str = "") -> str:
    """Returns the setting without surrounding whitespace, or the default if it is not set."""
    value = settings.get(name)
    if value is not None and not isinstance(value, str):
        raise refuse(f"{name} must be a text.")
    return (value or "").strip() or default


def refuse(detail: str) -> FatalError:
    """Returns the error for an unusable setting; the sentence names the setting and says what it must be."""
    return FatalError(ExitCode.CONFIGURATION, ProblemCode.BAD_CONFIGURATION, detail)
