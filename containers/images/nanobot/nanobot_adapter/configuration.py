"""Writes nanobot's own configuration. It contains no credential, so the agent may read the file."""

import json
import sys
from pathlib import Path
from typing import Any

from berth_agent.relay.addresses import Addresses
from berth_agent.relay.child import Program
from berth_agent.relay.config import Config, child_environment, is_on

BOT_BASE, FILE_BASE = "BERTH_BOT_BASE", "BERTH_FILE_BASE"
"""Variables that `program` reads: nanobot has no setting for Telegram's address."""

INSTRUCTIONS = "AGENTS.md"
"""The file in nanobot's workspace with which it begins each conversation."""


def prepare(config: Config, addresses: Addresses) -> Program:
    home = config.data / "nanobot"
    workspace = home / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    configuration = home / "config.json"
    configuration.write_text(json.dumps(configure(config, addresses, workspace), indent=1))
    (workspace / INSTRUCTIONS).write_text(config.instructions + "\n")
    more = {BOT_BASE: addresses.bot_base, FILE_BASE: addresses.file_base, "PYTHONPATH": ":".join(sys.path)}
    return Program(
        name="nanobot",
        command=[sys.executable, "-m", "nanobot_adapter.program", "gateway", "--config", str(configuration)],
        environment=child_environment() | more | {"HOME": str(home)},
        directory=home,
    )


def configure(config: Config, addresses: Addresses, workspace: Path) -> dict[str, Any]:
    """Turns off everything that runs unasked or spends the owner's credit by itself, unless a setting turns it on."""
    by_itself = {"enabled": is_on(config, "by_itself")}
    provider = "anthropic" if addresses.speaks_anthropic else "custom"
    base = addresses.provider_root if addresses.speaks_anthropic else addresses.provider
    return {
        "agents": {
            "defaults": {
                "workspace": str(workspace),
                "provider": provider,
                "model": config.model,
                "dream": by_itself,
                "timezone": "UTC",
            }
        },
        "providers": {provider: {"apiKey": addresses.key, "apiBase": base}},
        "channels": {
            "sendToolHints": False,
            "sendProgress": False,
            "telegram": {
                "enabled": True,
                "token": addresses.token,
                "allowFrom": ["*"],  # the relay passes on only the messages of allowed users
                "connectionPoolSize": 8,
            },
            "websocket": {"enabled": False},
        },
        "transcription": {"enabled": False},
        "gateway": {"restartMode": "exit", "heartbeat": by_itself},
        "tools": tools(config),
    }


def tools(config: Config) -> dict[str, Any]:
    may_run = is_on(config, "tools")
    return {
        "exec": {"enable": may_run},
        "file": {"enable": may_run},
        "web": {"enable": is_on(config, "web"), "fetch": {"useJinaReader": False}},
        "cliApps": {"enable": False},
        "my": {"enable": False},
        "restrictToWorkspace": True,
    }
