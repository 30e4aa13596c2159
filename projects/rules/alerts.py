"""What users may be told of their agents, by which ways, and when a message is tried again. Pure."""

from datetime import timedelta

from django.db.models import TextChoices


class AlertKind(TextChoices):
    CRASH = "crash", "Crash"
    RECOVERY = "recovery", "Recovery"
    DEGRADED = "degraded", "Degraded"
    BUDGET = "budget", "Budget"
    SERVICE = "service", "Berth itself: engine, watcher, firewall, gateway, disk, backup, mails"


OF_STAFF = frozenset({AlertKind.SERVICE})
"""What staff alone may be told of."""


class Way(TextChoices):
    MAIL = "mail", "Mail"
    WEBHOOK = "webhook", "Webhook"
    TELEGRAM = "telegram", "Telegram"


DEGRADED, RECOVER = "degraded", "recover"
"""The actions of the events that tell of an agent that reports trouble, and of one that is well again."""

MEMORY, GONE = "memory", "gone"
"""The event of an agent whose memory is not on the engine any more, so that its start made an empty one."""

BY_DEFAULT = frozenset({AlertKind.CRASH, AlertKind.BUDGET})
"""What a mail tells of where its user has not said otherwise."""

MAILED_ALREADY = frozenset({AlertKind.CRASH, AlertKind.BUDGET})
"""What has a mail of its own, with the end of the log or the budget's figures in it."""

PAUSES = (
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
)
"""After each try that failed. After the last one, some 21 hours after the first, it is given up."""

FLAPS_WITHIN = timedelta(minutes=15)
MOST_AT_ONCE = 3
"""So many messages about one agent go out at once within that time. The next one waits for its end, and tells the
newest and how much else has happened."""

SAME_AGAIN_AFTER = timedelta(hours=1)
"""When what was told is told again, where the same goes on happening."""


SAME_TOOLS_AFTER = timedelta(days=1)
"""The same for a server of tools that lets the agent in, and does not, by turns: the agent answers without it."""


def find_kind(action: str, outcome: str, *, needs_owner: bool) -> AlertKind | None:
    """Of which kind an event is. None: nobody is told. `needs_owner`: it also makes the mail that says so."""
    if action == "crash" or needs_owner:
        return AlertKind.CRASH
    if action == DEGRADED or (action, outcome) == (MEMORY, GONE):
        return AlertKind.DEGRADED
    if action == RECOVER:
        return AlertKind.RECOVERY
    return AlertKind.BUDGET if action == "budget" and outcome in {"warning", "reached"} else None


def pause_after(attempts: int) -> timedelta | None:
    """None where it was the last try."""
    return PAUSES[attempts - 1] if 0 < attempts <= len(PAUSES) else None
