"""Logs one line for every event that concerns access. A line never holds a credential or an email address."""

import logging

logger = logging.getLogger("berth.audit")


def record(event: str, *, level: int = logging.INFO, **facts: object) -> None:
    """Logs an event: `record("key_issued", user=user.pk)` logs `key_issued user=0d1f…`."""
    details = "".join(f" {name}={value}" for name, value in facts.items())
    logger.log(level, "%s%s", event, details, extra={"event": event, "facts": facts})
