"""Writes Hermes' own configuration. It contains no credential, so the agent may read the file."""

import json
import sys
from typing import Any

from berth_agent.relay.addresses import Addresses
from berth_agent.relay.child import Program
from berth_agent.relay.config import Config, child_environment, is_on

ALWAYS = ("memory", "session_search", "todo")
"""Toolsets that stay within the agent's own notes."""

ON_REQUEST = ("terminal", "file", "code_execution", "skills")

CONTEXT = 128_000
"""Tokens. Without it, Hermes would look the number up at other addresses of the provider. It refuses models with fewer
than 64,000."""

QUIET = {
    "TIRITH_ENABLED": "0",  # it would download a program
    "HERMES_DISABLE_LAZY_INSTALLS": "1",
    "HERMES_TELEGRAM_DISABLE_FALLBACK_IPS": "1",
    "TELEGRAM_FALLBACK_IPS": "149.154.167.220",  # without one, Hermes looks for them despite the line above
    "GATEWAY_ALLOW_ALL_USERS": "true",  # the relay passes on only the messages of allowed users
    "HERMES_TELEGRAM_HTTP_POOL_SIZE": "8",
    "HERMES_TELEGRAM_HTTP_READ_TIMEOUT": "60",  # seconds; the relay retries a message that Telegram refuses for now
    # Otherwise it sends any file that the model names, such as `MEDIA:/run/secrets/…`, even without tools.
    "HERMES_MEDIA_DELIVERY_STRICT": "1",
    "HERMES_MEDIA_TRUST_RECENT_FILES": "0",
}


def prepare(config: Config, addresses: Addresses) -> Program:
    home = config.data / "hermes"
    workspace = home / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    # JSON is YAML, and needs no library.
    (home / "config.yaml").write_text(json.dumps(configure(config, addresses, str(workspace)), indent=1))
    own = {
        "HERMES_HOME": str(home),
        "HOME": str(home),
        "TELEGRAM_BOT_TOKEN": addresses.token,
        **home_channel(config),
        "HERMES_EPHEMERAL_SYSTEM_PROMPT": config.instructions,
        "PYTHONPATH": ":".join(sys.path),
    }
    if is_on(config, "tools"):
        own["HERMES_MEDIA_ALLOW_DIRS"] = str(workspace)
    return Program(
        name="hermes",
        command=[sys.executable, "-m", "hermes_cli.main", "gateway", "run", "--external-supervisor"],
        environment=child_environment() | QUIET | own,
        directory=workspace,
    )


def configure(config: Config, addresses: Addresses, workspace: str) -> dict[str, Any]:
    """Turns off everything that runs unasked, and every tool that the owner's settings do not turn on."""
    toolsets = [*ALWAYS, *(ON_REQUEST if is_on(config, "tools") else ())]
    base = addresses.provider_root if addresses.speaks_anthropic else addresses.provider
    return {
        "model": {
            "provider": "custom",
            "default": config.model,
            "base_url": base,
            "api_key": addresses.key,
            "api_mode": "anthropic_messages" if addresses.speaks_anthropic else "chat_completions",
            "context_length": CONTEXT,
        },
        "platforms": {
            "telegram": {
                "enabled": True,
                "extra": {"base_url": addresses.bot_base, "base_file_url": addresses.file_base},
            }
        },
        "platform_toolsets": {"telegram": toolsets, "cron": toolsets},
        "toolsets": toolsets,
        "terminal": {"backend": "local", "cwd": workspace},
        "stt": {"enabled": False},
        "kanban": {"enabled": False, "dispatch_in_gateway": False},
        "security": {"tirith_enabled": False},
        "approvals": {"mode": "off"},
        "memory": {"memory_enabled": True, "user_profile_enabled": True},
    }


def home_channel(config: Config) -> dict[str, str]:
    """Returns the chat for messages that answer nothing. Without one, Hermes asks in each chat whether to use it."""
    people = sorted((user for user in config.allowed_users if user.isdecimal()), key=int)
    return {"TELEGRAM_HOME_CHANNEL": people[0]} if people else {}
