"""Sends the mails in the outbox, as the watcher's thread does."""

from accounts.services.outbox import send_due
from projects.watcher.notifications.outbox import RENDERERS


def deliver() -> bool:
    """Makes one pass. Returns False if the mail server does not work."""
    return send_due(renderers=RENDERERS)
