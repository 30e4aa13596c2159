"""Reads the gateway's counts into hourly rows, and adds up what each project has spent."""

import hashlib
import logging
import threading
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts import clock
from containers.agent_text import mark_hidden
from containers.gateway.protocol import GatewayClient
from containers.gateway.usage_pages import UsagePage, UsageRow
from projects.models import Gateway, HourlyUsage, Project, Spending
from projects.models.columns.at_rest import AT_REST
from projects.models.columns.gateway import HAS_VIRTUAL, NEXT_VERSION
from projects.models.figures.usage import COUNTS, LARGEST, LONGEST_MODEL, MOST_MODELS, add_up
from projects.models.processes.gateway import row_of
from projects.rules.periods import Period, begin_of, hour_at
from projects.services.inventory.quarantine import as_uuid
from projects.services.limits.budgets import note_spending
from projects.watcher.failures import passing_over
from projects.watcher.gateway.usage_tallies import tally_usage

log = logging.getLogger(__name__)

MOST_PAGES = 100
"""The maximum number of pages that one call reads. The next call continues there."""

_late: set[UUID] = set()
"""Projects whose use was read but could not be added up, for example because of a lock. The next call does it."""

_is_complete = threading.Event()
"""Set if `_late` has all such projects: also those that an earlier process read before it was killed."""

AT_ONCE = 500
"""How many projects are compared at a time."""


def read_usage(client: GatewayClient, *, node: str = "") -> int:
    """Reads the counts of this node's gateway since the last call. Returns how many rows were written.

    Raises `EngineError`.
    """
    written = 0
    _add_up()
    for _ in range(MOST_PAGES):
        cursor, _ = Gateway.objects.get_or_create(pk=row_of(node))
        page = client.usage_since(cursor.seq, cursor.store)
        if page.store != cursor.store:
            # The position in another store means nothing in this one, so read it from the beginning.
            page = client.usage_since(0, page.store)
        written += _take_over(cursor, page)
        if not page.has_more:
            break
    return written


def doubt_sums() -> None:
    """Has the next call compare all sums with the rows, because another watcher may have read them."""
    _is_complete.clear()


def forget_nodes(known: Collection[str]) -> None:
    """Deletes the read positions of nodes that no longer exist. Does nothing on a single host, which has no nodes."""
    if known:
        of_nodes = Gateway.objects.filter(pk__startswith=f"{settings.BERTH_INSTANCE} ")
        of_nodes.exclude(pk__in=[row_of(node) for node in known]).delete()


def _take_over(cursor: Gateway, page: UsagePage) -> int:
    """Writes the page and moves the cursor in one transaction, unless another process has read further meanwhile."""
    if not page.rows and (page.store, page.seq) == (cursor.store, cursor.seq):
        return 0
    rows = _find_owners(page.rows)
    with transaction.atomic():
        here = Gateway.objects.filter(pk=cursor.pk, store=cursor.store, seq=cursor.seq)
        if not here.update(store=page.store[:64], seq=page.seq):
            return 0
        if cursor.store and page.store != cursor.store:
            # The new store lacks the earlier counts, so send them with the entries.
            known = Project.objects.filter(HAS_VIRTUAL, ~AT_REST, instance=settings.BERTH_INSTANCE)
            known.update(**NEXT_VERSION)
        kept = _keep(rows, page.store[:64])
        tally_usage(kept, store=page.store[:64])
        HourlyUsage.objects.bulk_create(
            kept,
            update_conflicts=True,
            unique_fields=["project_id", "hour", "model", "store"],
            update_fields=list(COUNTS),
        )
    _add_up({row.project_id for row in kept})
    return len(kept)


def _add_up(ids: Collection[UUID] = ()) -> None:
    """Adds up what these projects have used, and those for which that failed before."""
    _late.update(ids)
    if not _is_complete.is_set():
        _late.update(_find_behind())
        _is_complete.set()
    sums = add_up(_late, clock.now()) if _late else {}
    projects = list(Project.objects.filter(pk__in=_late).select_related("owner", "plan")) if _late else []
    _late.intersection_update(project.pk for project in projects)
    for project in projects:
        with passing_over(project, doing="add up what was used by"):
            note_spending(project, sums.get(project.pk, {}))
            _late.discard(project.pk)


def _find_behind() -> set[UUID]:
    """Returns the projects of which more was read than added up. Both are compared for the present day and month."""
    now = clock.now()
    used = HourlyUsage.objects.filter(hour__gte=begin_of(Period.MONTH, now)).order_by().values("project_id")
    ids = list(Project.objects.filter(pk__in=used, instance=settings.BERTH_INSTANCE).values_list("pk", flat=True))
    behind = set()
    for first in range(0, len(ids), AT_ONCE):
        some = ids[first : first + AT_ONCE]
        known = Spending.objects.in_bulk(some)
        for pk, sums in add_up(some, now).items():
            stored = known.get(pk)
            if stored is None or any(stored.spent(period, now) != sums[period] for period in Period):
                behind.add(pk)
    return behind


def _find_owners(rows: Iterable[UsageRow]) -> list[tuple[UsageRow, UUID, UUID]]:
    """Returns each row with its project and owner. The owner of a deleted project comes from earlier rows."""
    ids = {found for row in rows if (found := as_uuid(row.project))}
    owners: dict[UUID, UUID] = dict(
        HourlyUsage.objects.filter(project_id__in=ids).order_by().values_list("project_id", "owner_id").distinct()
    )
    owners |= dict(Project.objects.filter(pk__in=ids).values_list("pk", "owner_id"))
    return [(row, pk, owners[pk]) for row in rows if (pk := as_uuid(row.project)) in owners]


def _keep(rows: Iterable[tuple[UsageRow, UUID, UUID]], store: str) -> list[HourlyUsage]:
    """Returns the rows to write. Agents may name any model, so the models without cost per hour are limited."""
    made = {}
    for row, project_id, owner_id in rows:
        at = _hour_of(row)
        if at is not None:
            counts: dict[str, Any] = {name: min(getattr(row, name), LARGEST) for name in COUNTS}
            made[project_id, at, name_model(row.model)] = HourlyUsage(
                project_id=project_id, owner_id=owner_id, hour=at, model=name_model(row.model), store=store, **counts
            )
    known = _count_known(made.values(), store)
    kept = []
    for each in made.values():
        place = each.project_id, each.hour
        if known[place] < MOST_MODELS or each.messages or each.input or each.output or each.money:
            known[place] += 1
            kept.append(each)
    return kept


def _count_known(rows: Iterable[HourlyUsage], store: str) -> "Counter[tuple[UUID, datetime]]":
    """Counts the models of each project and hour that these rows do not name."""
    named = {(row.project_id, row.hour, row.model) for row in rows}
    found = HourlyUsage.objects.filter(
        store=store, project_id__in={row[0] for row in named}, hour__in={row[1] for row in named}
    )
    cells = found.order_by().values_list("project_id", "hour", "model")
    return Counter(cell[:2] for cell in cells if cell not in named)


def _hour_of(row: UsageRow) -> datetime | None:
    try:
        return hour_at(row.hour)
    except OverflowError:
        log.warning("The gateway has counted in an hour outside of the calendar.")
        return None


def name_model(name: str) -> str:
    """Returns the name in a form that can be stored and shown. A changed name gets a digest to stay distinct."""
    plain = mark_hidden(name)
    if len(name) <= LONGEST_MODEL and plain == name:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{plain[: LONGEST_MODEL - 13]} {digest}"
