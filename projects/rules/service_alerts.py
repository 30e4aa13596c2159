"""When operators are notified of trouble with Berth itself: once when it begins and once when it ends. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import TextChoices

from accounts.moments import is_recent

LASTS = timedelta(minutes=1)
"""How long trouble must last before operators are notified."""

WELL_FOR = timedelta(minutes=5)
"""How long a part must be well again before operators are notified."""

AGAIN_WITHIN = timedelta(hours=1)
"""A part flaps if trouble begins again within this time of the last notification. Then its recovery is reported only
after the part has been well for this time."""


class Part(TextChoices):
    """The parts of Berth that may be in trouble. The label is the sentence for their recovery."""

    HELD = "held", "Berth repairs agents again"
    ENGINE = "engine", "The engine answers again"
    WATCHER = "watcher", "The watcher is at work again"
    FIREWALL = "firewall", "The agents' firewall holds again"
    GATEWAY = "gateway", "The gateway works again"
    DISK = "disk", "The disk has room again"
    BACKUP = "backup", "There is a new backup"
    MAIL = "mail", "Mails arrive again"


class Moment(TextChoices):
    BEGUN = "begun"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of one part.

    `since` is when its present state, wrong or well, began. `is_told`: operators were notified of the trouble and not
    yet of its end. `told_at` is when they were last notified of trouble.
    """

    is_wrong: bool
    since: datetime
    is_told: bool = False
    flaps: bool = False
    told_at: datetime | None = None


def look(known: Known, *, is_wrong: bool, now: datetime) -> tuple[Known, Moment | None]:
    """Returns what is known after a check, and which notification to send, if any.

    A moment in the future counts as long ago.
    """
    if is_wrong != known.is_wrong:
        return replace(known, is_wrong=is_wrong, since=now), None
    if is_wrong == known.is_told:
        return known, None
    if is_wrong:
        if is_recent(known.since, within=LASTS, now=now):
            return known, None
        flaps = is_recent(known.told_at, within=AGAIN_WITHIN, now=now)
        return replace(known, is_told=True, flaps=flaps, told_at=now), Moment.BEGUN
    if is_recent(known.since, within=AGAIN_WITHIN if known.flaps else WELL_FOR, now=now):
        return known, None
    return replace(known, is_told=False), Moment.ENDED
