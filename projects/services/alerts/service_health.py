"""Describes trouble of the service itself in sentences for its operators, mostly from the database."""

import shutil
from datetime import datetime, timedelta

from django.conf import settings

from accounts import clock
from accounts.moments import is_recent
from accounts.services.outbox_health import describe_outage
from containers.errors import EngineError
from containers.get_engine import get_engine
from projects.models import Installation, Watch
from projects.models.installation import read_hold
from projects.models.processes.watcher import is_beating, read_heartbeat
from projects.rules.service_alerts import Part
from projects.services.gateway import provisioning as gateway_place

MB = 1024 * 1024
LEAST_FREE = 512 * MB
"""The bytes that must be free on the disk of the data directory: this or a twentieth of it, at most `MOST_FREE`."""

MOST_FREE = 5120 * MB


def find_troubles() -> dict[Part, str]:
    """Returns a sentence for each part in trouble. Asks the engine only if no watcher is at work.

    Raises `DatabaseError`.
    """
    heartbeat = read_heartbeat()
    found = {
        Part.HELD: read_hold(),
        Part.FIREWALL: _describe_firewall(),
        Part.GATEWAY: gateway_place.describe_trouble() if gateway_place.is_in_trouble() else "",
        Part.DISK: describe_disk(),
        Part.BACKUP: describe_backup(),
        Part.MAIL: describe_outage(),
    }
    if heartbeat is None or not is_beating(heartbeat):
        if not _engine_answers():
            found[Part.ENGINE] = "The engine does not answer. Agents cannot be started, stopped or looked after."
        elif heartbeat is not None:
            found[Part.WATCHER] = describe_watcher()
    return {part: sentence for part, sentence in found.items() if sentence}


def describe_watcher() -> str:
    """Returns why no watcher is at work; empty if one is, or if there has never been one."""
    heartbeat = read_heartbeat()
    if heartbeat is None or is_beating(heartbeat):
        return ""
    return (
        f"The watcher has done nothing since {heartbeat:%Y-%m-%d %H:%M:%S} UTC: no agent is repaired, and every read "
        "asks the engine. `serve` starts it again within a minute; if this lasts, the log says why."
    )


def describe_disk() -> str:
    """Returns a warning about the data directory's disk; empty if it has room, or if that is unknown."""
    try:
        usage = shutil.disk_usage(settings.BERTH_DATA_DIR)
    except OSError:
        return ""
    if usage.free >= max(LEAST_FREE, min(usage.total // 20, MOST_FREE)):
        return ""
    return f"The disk of Berth's data directory is nearly full: {usage.free // MB} MB are free. Make room."


def describe_backup() -> str:
    """Returns a warning if `manage.py backup` has not run for too long. Other kinds of backups are unknown here."""
    days = settings.BERTH_BACKUP_DAYS
    row = Installation.objects.filter(pk=1).values_list("backed_up_at", "created_at").first()
    if not days or row is None:
        return ""
    made, created = row
    if is_recent(made or created, within=timedelta(days=days), now=clock.now()):
        return ""
    last_backup = f"The last backup is of {made:%Y-%m-%d}" if made else "No backup is known yet"
    return f"{last_backup}, and there should be one every {days} days (BERTH_BACKUP_DAYS): run `manage.py backup`."


def note_backup(made_at: datetime) -> None:
    """Records that a backup was made at this moment."""
    Installation.objects.filter(pk=1).update(backed_up_at=made_at)


def _describe_firewall() -> str:
    watches = Watch.objects.filter(instance=settings.BERTH_INSTANCE)
    return watches.values_list("firewall_warning", flat=True).first() or ""


def _engine_answers() -> bool:
    try:
        with get_engine().read_deadline():
            get_engine().ping()
    except EngineError:
        return False
    return True
