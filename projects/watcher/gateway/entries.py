"""Compares the gateway's entries with the rows, and tells it what differs.

The version says which of two entries is newer. If the gateway has a later version than the row, an older backup was
restored, and the row's version is raised above it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import F, QuerySet

from accounts import clock
from containers.gateway.leases import Lease
from containers.gateway.protocol import GatewayClient, Standing
from projects.models import Gateway, Project
from projects.models.columns.at_rest import AT_REST
from projects.models.columns.gateway import HAS_VIRTUAL
from projects.models.processes.gateway import row_of
from projects.rules.status.lifecycle import Desired
from projects.services.gateway.entry import digest_settings, is_in_force
from projects.services.gateway.provisioning import knows_sources
from projects.services.inventory.quarantine import as_uuid
from projects.watcher.gateway.entry_messages import apply_messages, read_messages

AT_ONCE = 100
"""The maximum number of projects in one message."""


class _Known(NamedTuple):
    """The facts of a project's row that are compared with the gateway's entry."""

    pk: UUID
    key: str
    version: int
    may_finish: bool
    """Whether an operation in flight stops the agent, which may use its credentials until it ends, and then tells the
    gateway itself."""
    is_in_force: bool
    leaves: str
    """The node where it must become void, so that it can move to another one. The thread that grants leases does that,
    and an entry sent meanwhile would undo it."""


class Reconciled(NamedTuple):
    """About how many projects the gateway was told, and those whose entry it refuses."""

    sent: int
    refused: tuple[str, ...]


def reconcile_entries(
    client: GatewayClient, held: Mapping[str, Standing], rows: Mapping[str, _Known], *, node: str = ""
) -> Reconciled:
    """Tells a gateway what it has missed. `rows` were read after what it has (`held`). Raises `EngineError`."""
    valid = {key for key, standing in held.items() if not standing.is_void}
    known = [*rows.values(), *_find_resting(valid - rows.keys())]
    behind = [each for each in known if _differs(each, held.get(each.key), node)]
    sent, refused, sources = 0, list[str](), knows_sources()
    for first in range(0, len(behind), AT_ONCE):
        done = _send_current(client, behind[first : first + AT_ONCE], held, node=node, sources=sources)
        sent, refused = sent + done.sent, [*refused, *done.refused]
    return Reconciled(sent + _void_strangers(client, held, valid), tuple(refused))


def find_in_force() -> list[str]:
    """Returns the keys of the projects whose standing matters even if the gateway holds them void.

    The versions of all others, possibly a million deleted ones, would not fit into one answer. A project that starts
    after this is compared at the next look.
    """
    rows = Project.objects.filter(HAS_VIRTUAL, ~AT_REST, instance=settings.BERTH_INSTANCE)
    return [str(pk) for pk in rows.values_list("pk", flat=True)]


def read_in_force() -> dict[str, _Known]:
    """Returns the projects that may be in force, by key."""
    now = clock.now()
    _raise_if_settings_changed(digest_settings(knows_sources=knows_sources()))
    return {each.key: each for each in _read_known(_known_rows().filter(~AT_REST), now)}


def _find_resting(keys: set[str]) -> Iterator[_Known]:
    """Yields projects at rest that the gateway holds valid. The others, possibly a million, are void on both sides."""
    now, rest = clock.now(), [pk for key in sorted(keys) if (pk := as_uuid(key))]
    for first in range(0, len(rest), AT_ONCE):
        yield from _read_known(_known_rows().filter(pk__in=rest[first : first + AT_ONCE]), now)


def _known_rows() -> "QuerySet[Project]":
    """Returns a query for the projects without their credentials."""
    known = Project.objects.filter(HAS_VIRTUAL, instance=settings.BERTH_INSTANCE)
    hidden = [field.name for field in Project._meta.concrete_fields if field.name.endswith("_ciphertext")]
    return known.select_related("owner", "plan").defer(*hidden, "log_tail", "settings").order_by("pk")


def _read_known(rows: "QuerySet[Project]", now: datetime) -> Iterator[_Known]:
    for project in rows.iterator(chunk_size=500):
        yield _Known(
            pk=project.pk,
            key=project.container_key,
            version=project.entry_version,
            may_finish=_may_finish(project, now),
            is_in_force=is_in_force(project),
            leaves=_left_by(project),
        )


def _may_finish(project: Project, now: datetime) -> bool:
    """Returns False for suspended and deleted projects: they may not, even if the operation began before that."""
    is_barred = project.is_suspended or project.desired == Desired.DELETED
    return bool(project.operation_in_flight(now)) and not (is_in_force(project) or is_barred)


def _left_by(project: Project) -> str:
    """Returns the node that the project is leaving; empty if it is not in force, because then any node may be told."""
    return project.gateway_node if project.leaves_node and is_in_force(project) else ""


def _differs(known: _Known, standing: Standing | None, node: str) -> bool:
    if known.may_finish:
        return False
    if known.leaves and known.leaves == node:
        return False
    if standing is None:
        return known.is_in_force  # it need not know void projects
    is_wrong = standing.version != known.version or standing.is_void == known.is_in_force
    return is_wrong or (standing.is_untold and known.is_in_force)


def _send_current(
    client: GatewayClient, known: Iterable[_Known], held: Mapping[str, Standing], *, node: str, sources: bool
) -> Reconciled:
    """Raises rows' versions above the gateway's if needed, and sends what the rows say then."""
    for each in known:
        standing = held.get(each.key)
        if standing is not None and standing.version >= each.version:
            rows = Project.objects.filter(pk=each.pk, entry_version__lte=standing.version)
            rows.update(entry_version=standing.version + 1)
    fresh = [each for each in _fresh(each.pk for each in known) if not node or _left_by(each) != node]
    store = _find_store(node) if any(held[each.key].is_untold for each in known if each.key in held) else ""
    messages = read_messages(fresh, sources=sources, read_from=store)
    refused = [project for version, some in messages.items() for project in apply_messages(client, version, some)]
    return Reconciled(len(fresh), tuple(refused))


def _find_store(node: str) -> str:
    """Returns the store of this node's gateway that is read now."""
    return Gateway.objects.filter(pk=row_of(node)).values_list("store", flat=True).first() or ""


def lease_entries(
    client: GatewayClient, keys: Iterable[str], *, node: str, lease: Lease, goes_on: Callable[[], bool]
) -> None:
    """Sends the gateway of this node the entries that it lacks, with a lease that began before their rows are read.

    Skips projects that are no longer assigned to the node. Checks `goes_on` before each message. Raises `EngineError`.
    """
    sources, wanted = knows_sources(), sorted(keys)
    for first in range(0, len(wanted), AT_ONCE):
        here = _fresh(wanted[first : first + AT_ONCE]).filter(gateway_node=node, leaves_node=False)
        if not goes_on():
            return
        for version, some in read_messages(list(here), sources=sources).items():
            if goes_on():
                apply_messages(client, version, [message for message in some if message.entry], lease)


def _fresh(keys: Iterable[object]) -> "QuerySet[Project]":
    return Project.objects.filter(pk__in=list(keys)).select_related("owner", "plan", "agent_type")


def _void_strangers(client: GatewayClient, held: Mapping[str, Standing], valid: set[str]) -> int:
    """Makes entries of deleted projects void, if the gateway missed the deletion. Returns how many."""
    ids = {found for key in valid if (found := as_uuid(key))}
    here = {str(pk) for pk in Project.objects.filter(pk__in=ids).values_list("pk", flat=True)}
    for key in sorted(valid - here):
        client.apply(version=held[key].version + 1, void=[key])
    return len(valid - here)


def _raise_if_settings_changed(digest: str) -> None:
    """Marks all entries as changed if the service was started with other addresses."""
    rows = Gateway.objects.filter(pk=settings.BERTH_INSTANCE).exclude(told_digest=digest)
    if rows.update(told_digest=digest):
        # Projects at rest are sent at their next start, which raises the version.
        changed = Project.objects.filter(HAS_VIRTUAL, ~AT_REST, instance=settings.BERTH_INSTANCE)
        changed.update(entry_version=F("entry_version") + 1)
