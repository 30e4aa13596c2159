"""Takes over into the rows what the gateway itself has seen of agents."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

from accounts import clock
from accounts.moments import is_future, is_recent
from containers.gateway.protocol import GatewayClient, Sighting
from projects.models import Project
from projects.rules.sightings import judge_sighting
from projects.services.budgets import note_refusal
from projects.services.quarantine import as_uuid
from projects.watcher.failures import passing_over

POLL_NOTED_EVERY = timedelta(minutes=1)


def note_sightings(client: GatewayClient) -> int:
    """Returns how many rows have changed. Raises `EngineError`."""
    seen = {found: sighting for key, sighting in client.sightings().items() if (found := as_uuid(key))}
    rows = Project.objects.filter(pk__in=seen, instance=settings.BERTH_INSTANCE, is_behind_gateway=True)
    changed = 0
    for project in rows.select_related("owner", "plan"):
        with passing_over(project, doing="note what the gateway has seen of"):
            changed += _note(project, seen[project.pk])
    return changed


def _note(project: Project, sighting: Sighting) -> int:
    changed, values = 0, dict(_find_changes(project, sighting))
    if values:
        here = Project.objects.filter(pk=project.pk, sees_from=project.sees_from)
        # No status follows from the moment of a poll.
        changed = here.update(**values, **({"updated_at": clock.now()} if values.keys() - {"polled_at"} else {}))
    refused_at = _moment(sighting.budget_reached)
    if refused_at is not None:
        note_refusal(project, refused_at)
    return changed


def _find_changes(project: Project, sighting: Sighting) -> Iterator[tuple[str, Any]]:
    begin = project.sees_from
    since = 0.0 if begin is None or is_future(begin, now=clock.now()) else begin.timestamp()
    judged = judge_sighting(
        telegram=(sighting.telegram_status, sighting.telegram_at),
        provider=(sighting.provider_status, sighting.provider_at),
        since=since,
    )
    if judged.code != project.seen_code:
        yield "seen_code", judged.code
    if judged.well != project.seen_well:
        yield "seen_well", judged.well
    polled_at = _moment(sighting.last_poll)
    if polled_at is not None and polled_at.timestamp() >= since:
        known = project.polled_at
        if known is None or not is_recent(known, within=POLL_NOTED_EVERY, now=polled_at):
            yield "polled_at", polled_at


def _moment(seconds: float | None) -> datetime | None:
    """None also for what no calendar has."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
