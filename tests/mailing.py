"""Sends what the outbox holds, as the watcher's thread does."""

from accounts.services.outbox import send_due
from projects.watcher.notifications.outbox import RENDERERS


def deliver() -> bool:
    """One pass. Returns False where the mail server does not work."""
    return send_due(renderers=RENDERERS)
