"""The constants of the trial servers, and the events that they print, each as a line of JSON."""

import json
import sys
import threading
from typing import Any

PORT = 41_000
TELEGRAM, PROVIDER = "/tg", "/llm/v1"
"""The paths of the bot and the provider, the same as those of the gateway."""

LISTENING, POLLED, ANSWERED, ASKED = "listening", "polled", "answered", "asked"
"""The events."""

QUESTION = "Good morning! Please answer with one short sentence."
REPLY = "Good morning to you, too."
"""What the person writes to the bot, and what the provider answers."""

_printing = threading.Lock()


def log_event(event: str, **facts: Any) -> None:
    with _printing:
        sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
        sys.stdout.flush()


def as_number(value: Any) -> int:
    try:
        return int(float(value or 0))
    except (TypeError, ValueError):
        return 0
