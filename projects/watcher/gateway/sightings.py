"""Records in the rows what the gateway itself has seen of agents."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from django.conf import settings
from django.db.models import Q

from accounts import clock
from accounts.moments import is_future, is_recent
from containers.agent_text import clean
from containers.gateway.sightings import Sighting
from containers.vocabulary import ContainerState
from projects.models import Project
from projects.models.columns.at_rest import AT_REST
from projects.rules.status.lifecycle import Desired
from projects.rules.status.sightings import (
    FIRST_POLL_WITHIN,
    OK,
    SOURCE_ADDRESS,
    UNRESPONSIVE,
    Facts,
    Judgement,
    does_poll,
    find_facts,
    has_fallen_silent,
    is_astray,
    judge,
)
from projects.services.inventory.quarantine import as_uuid
from projects.services.limits.budgets import note_refusal, note_room
from projects.watcher.failures import passing_over
from projects.watcher.gateway.changed_sightings import Remembered

_NOTHING = Sighting(*[None] * len(Sighting.__slots__))
_LONGEST_ADDRESS = 64

POLL_NOTED_EVERY = timedelta(minutes=1)


def note_sightings(
    sightings: Mapping[str, Sighting], before: Remembered | None = None, *, began: float | None = None
) -> int:
    """Records sightings by project key. Returns how many rows have changed.

    `before` has the sightings recorded earlier, so that only rows with new ones are read. `began` is when the gateway
    was started, in seconds since 1970.
    """
    seen = {found: sighting for key, sighting in sightings.items() if (found := as_uuid(key))}
    behind = Project.objects.filter(instance=settings.BERTH_INSTANCE, is_behind_gateway=True)
    unseen = ~AT_REST & Q(container_state=ContainerState.RUNNING, desired=Desired.RUNNING) & ~Q(bot_id=None)
    news = None if before is None else before.find_news(seen)
    rows = behind.filter(pk__in=seen if news is None else news).select_related("owner", "plan")
    silent = behind.filter(unseen).exclude(pk__in=seen).select_related("owner", "plan") if news is None else ()
    changed = 0
    for project in chain(rows, silent):
        with passing_over(project, doing="note what the gateway has seen of"):
            changed += _note(project, seen.get(project.pk), _past(began))
    return changed


def find_astray(sightings: Mapping[str, Sighting]) -> str:
    """Returns an address from which agents' requests come although it is not theirs; empty if there is none."""
    now = clock.now()
    found = (
        each.astray_from
        for each in sightings.values()
        if each.astray_from and is_astray(now=now, since=0.0, astray_at=each.astray_at, is_up=True)
    )
    return clean(min(found, default=""))[:_LONGEST_ADDRESS]


def note_absence(*, since: datetime | None) -> int:
    """Marks agents behind the gateway as unresponsive if it has been down for so long that none can reach Telegram.

    Returns how many rows have changed.
    """
    if since is None or clock.now() - since < FIRST_POLL_WITHIN:
        return 0
    rows = Project.objects.filter(
        ~AT_REST, instance=settings.BERTH_INSTANCE, is_behind_gateway=True, container_state=ContainerState.RUNNING,
        seen_code="",
    )  # fmt: skip
    return rows.exclude(bot_id=None).update(seen_code=UNRESPONSIVE, updated_at=clock.now())


def _note(project: Project, sighting: Sighting | None, began: datetime | None) -> int:
    """Records a sighting. Returns how many rows have changed.

    Without one, the gateway has seen nothing of the agent since its own start: what the row knows still counts, and the
    agent may have fallen silent.
    """
    changed, values = 0, dict(_find_changes(project, sighting or _NOTHING, began, is_seen=sighting is not None))
    if values:
        here = Project.objects.filter(pk=project.pk, sees_from=project.sees_from)
        # The status depends only on the first poll of a run, not on later ones.
        is_first = project.started_at is None or project.polled_at is None or project.polled_at < project.started_at
        is_shown = is_first or values.keys() - {"polled_at"}
        changed = here.update(**values, **({"updated_at": clock.now()} if is_shown else {}))
    refused_at = _moment(sighting.budget_reached) if sighting else None
    if sighting is not None and refused_at is not None:
        note_refusal(project, refused_at, of=sighting.budget_period)
    elif sighting is not None and (room_at := _moment(sighting.budget_room)):
        note_room(project, room_at)
    return changed


def _find_changes(
    project: Project, sighting: Sighting, began: datetime | None, *, is_seen: bool
) -> Iterator[tuple[str, Any]]:
    begin = project.sees_from
    since = 0.0 if begin is None or is_future(begin, now=clock.now()) else begin.timestamp()
    known = Judgement(code=project.seen_code, well=project.seen_well)
    judged = judge(known, _read_facts(sighting), since=since)
    polled_at, reached_at = _past(sighting.last_poll), _find_reached(sighting)
    is_up = project.container_state == ContainerState.RUNNING
    if is_seen:
        strays = is_astray(now=clock.now(), since=since, astray_at=sighting.astray_at, is_up=is_up)
    else:
        strays = project.seen_code == SOURCE_ADDRESS
    code = judged.code or (SOURCE_ADDRESS if strays else "")
    code = code or (UNRESPONSIVE if _is_silent(project, polled_at, reached_at, began) else "")
    if code != project.seen_code:
        yield "seen_code", code
    if judged.well != project.seen_well:
        yield "seen_well", judged.well
    if reached_at is not None and reached_at.timestamp() >= since and _is_news(project, reached_at):
        yield "polled_at", reached_at
        if _is_first(project, reached_at):
            yield "first_polled_at", reached_at


def _read_facts(sighting: Sighting) -> Facts:
    if sighting.facts is not None:
        return sighting.facts
    return find_facts(
        telegram=(sighting.telegram_status, sighting.telegram_at),
        provider=(sighting.provider_status, sighting.provider_at),
        polled_at=sighting.last_poll,
    )


def _is_news(project: Project, reached_at: datetime) -> bool:
    known = project.polled_at
    return _is_first(project, reached_at) or not is_recent(known, within=POLL_NOTED_EVERY, now=reached_at)


def _is_first(project: Project, reached_at: datetime) -> bool:
    """Returns whether this is the first known answer of Telegram to the present run."""
    known, begin = project.polled_at, project.started_at
    return known is None or (begin is not None and known < begin <= reached_at)


def _find_reached(sighting: Sighting) -> datetime | None:
    """Returns when Telegram last answered successfully, to a poll or anything else."""
    moments = [sighting.last_poll, sighting.telegram_at if sighting.telegram_status == OK else None]
    return max((found for each in moments if (found := _past(each))), default=None)


def _is_silent(
    project: Project, polled_at: datetime | None, reached_at: datetime | None, began: datetime | None
) -> bool:
    """Returns whether the agent has fallen silent. The row has sightings from before the gateway's last start."""
    if project.bot_id is None or project.container_state != ContainerState.RUNNING:
        return False
    known = [each for each in (reached_at, project.polled_at) if each]
    if polled_at is None and began is not None and does_poll(project.seen_well):
        # The gateway does not know of earlier polls. One has been under way when it was started, at the latest.
        is_young = is_recent(project.started_at, within=FIRST_POLL_WITHIN, now=clock.now())
        if project.seen_code == UNRESPONSIVE and reached_at is None and not is_young:
            return True
        polled_at = max(began, project.polled_at or began)
    return has_fallen_silent(
        now=clock.now(), since=project.started_at, reached_at=max(known, default=None), polled_at=polled_at
    )


def _past(seconds: float | None) -> datetime | None:
    """Returns the moment. Instead of one in the future, which another clock has noted, returns the present."""
    found = _moment(seconds)
    return None if found is None else min(found, clock.now())


def _moment(seconds: float | None) -> datetime | None:
    """Returns the moment, or None; also None if no calendar has it."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
