"""What the servers are told and tell: addresses, and the lines of JSON that they print, each an `event`."""

import json
import sys
import threading
from typing import Any

PORT = 41_000
TELEGRAM, PROVIDER = "/tg", "/llm/v1"
"""The paths of both, which are those of the gateway."""

LISTENING, POLLED, ANSWERED, ASKED = "listening", "polled", "answered", "asked"
"""What happened."""

QUESTION = "Good morning! Please answer with one short sentence."
REPLY = "Good morning to you, too."
"""What the person writes to the bot, and what the provider answers."""

_printing = threading.Lock()


def tell(event: str, **facts: Any) -> None:
    with _printing:
        sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
        sys.stdout.flush()


def as_number(value: Any) -> int:
    try:
        return int(float(value or 0))
    except (TypeError, ValueError):
        return 0
