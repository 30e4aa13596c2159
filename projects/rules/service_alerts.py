"""What operators are told of the service itself, and when: once as it begins, and once as it ends. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import TextChoices

from accounts.moments import is_recent

LASTS = timedelta(minutes=1)
"""How long something is to be wrong before it is told."""

WELL_FOR = timedelta(minutes=5)
"""How long it is to be well again before that is told."""

AGAIN_WITHIN = timedelta(hours=1)
"""What begins anew so soon after it was told flaps: its end is told once it has been well for as long as this."""


class Part(TextChoices):
    """What may be wrong. The label is what is told once it is well again."""

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
    """Of one part. `since`: from when on it has been wrong, or well, without a break. `is_told`: that it is wrong, and
    not yet that it is well. `told_at` is when it was last told to be wrong."""

    is_wrong: bool
    since: datetime
    is_told: bool = False
    flaps: bool = False
    told_at: datetime | None = None


def look(known: Known, *, is_wrong: bool, now: datetime) -> tuple[Known, Moment | None]:
    """What is known after a look, and what is to be told, if anything. A moment in the future counts as long ago."""
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
