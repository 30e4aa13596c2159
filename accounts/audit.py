"""One line in the log for everything that concerns who gets in. Never a credential, never an email."""

import logging

logger = logging.getLogger("berth.audit")


def record(event: str, *, level: int = logging.INFO, **facts: object) -> None:
    """`record("key_issued", user=user.pk)` logs `key_issued user=0d1f…`."""
    said = "".join(f" {name}={value}" for name, value in facts.items())
    logger.log(level, "%s%s", event, said, extra={"event": event, "facts": facts})
