"""Which alerts users can get about their agents, through which channels, and when sending is retried. Pure."""

from datetime import timedelta

from django.db.models import TextChoices


class AlertKind(TextChoices):
    CRASH = "crash", "Crash"
    RECOVERY = "recovery", "Recovery"
    DEGRADED = "degraded", "Degraded"
    BUDGET = "budget", "Budget"
    SERVICE = "service", "Berth itself: engine, watcher, firewall, gateway, disk, backup, mails"


STAFF_KINDS = frozenset({AlertKind.SERVICE})
"""Kinds of alerts that only staff get."""


class Way(TextChoices):
    MAIL = "mail", "Mail"
    WEBHOOK = "webhook", "Webhook"
    TELEGRAM = "telegram", "Telegram"


DEGRADED, RECOVER = "degraded", "recover"
"""The actions of the events for an agent that reports trouble, and for one that is well again."""

MEMORY, GONE = "memory", "gone"
"""Action and outcome of the event for an agent whose memory was missing on the engine, so that it started empty."""

DEFAULT_MAIL_KINDS = frozenset({AlertKind.CRASH, AlertKind.BUDGET})
"""The kinds that a user gets by mail unless they choose otherwise."""

MAILED_ALREADY = frozenset({AlertKind.CRASH, AlertKind.BUDGET})
"""Kinds that have a mail of their own, with the end of the log or the budget's figures."""

PAUSES = (
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
)
"""The pause after each failed attempt. Sending is given up after the last one, about 21 hours after the first."""

FLAPS_WITHIN = timedelta(minutes=15)
MOST_AT_ONCE = 3
"""How many messages about one agent are sent at once within `FLAPS_WITHIN`. The next message waits until that time is
over, then reports the newest event and how many others there were."""

SAME_AGAIN_AFTER = timedelta(hours=1)
"""How long after an alert the same one is sent again if the same keeps happening."""


SAME_TOOLS_AFTER = timedelta(days=1)
"""The same for a tool server that accepts and refuses the agent by turns, because the agent also answers without it."""


def find_kind(action: str, outcome: str, *, needs_owner: bool) -> AlertKind | None:
    """Returns the kind of alert for an event, or None if it causes no alert.

    `needs_owner` is true for events after which a crash mail also goes to the owner.
    """
    if action == "crash" or needs_owner:
        return AlertKind.CRASH
    if action == DEGRADED or (action, outcome) == (MEMORY, GONE):
        return AlertKind.DEGRADED
    if action == RECOVER:
        return AlertKind.RECOVERY
    return AlertKind.BUDGET if action == "budget" and outcome in {"warning", "reached"} else None


def pause_after(attempts: int) -> timedelta | None:
    """Returns the pause after this number of failed attempts, or None if that was the last attempt."""
    return PAUSES[attempts - 1] if 0 < attempts <= len(PAUSES) else None
