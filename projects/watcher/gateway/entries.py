"""Compares what the gateway knows with the rows, and tells it what differs.

A version says which of two words is the newer one. Where the gateway holds a later one than the row, an older backup
was restored: the row's goes above it.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from django.conf import settings
from django.db.models import F, QuerySet
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from containers.errors import EngineRefusedError
from containers.gateway.leases import Lease
from containers.gateway.protocol import GatewayClient, Standing
from projects.credentials.encryption import SecretUnreadableError
from projects.models import Gateway, Project
from projects.models.columns.behind_gateway import HAS_VIRTUAL
from projects.models.rows.at_rest import AT_REST
from projects.services.gateway.entry import Word, digest_settings, is_in_force, make_word, read_prices
from projects.services.gateway.place import knows_sources
from projects.services.gateway.spent import read_spent
from projects.services.inventory.quarantine import as_uuid

log = logging.getLogger(__name__)

AT_ONCE = 100
"""Projects that one message tells of."""


def reconcile_entries(client: GatewayClient) -> int:
    """Returns of how many projects the gateway was told. Raises `EngineError`."""
    now, sources = clock.now(), knows_sources()
    _raise_if_settings_changed(digest_settings(knows_sources=sources))
    held = client.versions()
    valid = {key for key, standing in held.items() if not standing.is_void}
    behind = [project for project in _find_known(valid) if _differs(project, held.get(project.container_key), now)]
    told = 0
    for first in range(0, len(behind), AT_ONCE):
        told += _tell(client, behind[first : first + AT_ONCE], held, sources=sources)
    return told + _void_strangers(client, held, valid)


def _find_known(valid: set[str]) -> Iterator[Project]:
    """Projects that may be in force, and those that are `valid` for the gateway; without their credentials.

    Of the others, which may be a million, both sides say that they are void.
    """
    known = Project.objects.filter(HAS_VIRTUAL, instance=settings.BERTH_INSTANCE)
    hidden = [field.name for field in Project._meta.concrete_fields if field.name.endswith("_ciphertext")]
    rows = known.select_related("owner", "plan").defer(*hidden, "log_tail", "settings").order_by("pk")
    found = set()
    for project in rows.filter(~AT_REST).iterator(chunk_size=500):
        found.add(project.container_key)
        yield project
    rest = [pk for key in sorted(valid - found) if (pk := as_uuid(key))]
    for first in range(0, len(rest), AT_ONCE):
        yield from rows.filter(pk__in=rest[first : first + AT_ONCE])


def _differs(project: Project, standing: Standing | None, now: datetime) -> bool:
    if project.operation_in_flight(now):
        return False  # it tells the gateway itself, and when is its own business
    in_force = is_in_force(project)
    if project.leaves_node and standing is not None and standing.is_void:
        return False  # it was made so, that it may count on another node
    if standing is None:
        return in_force  # of one that is void it need not hear
    return standing.version != project.entry_version or standing.is_void == in_force


def _tell(client: GatewayClient, projects: Iterable[Project], held: Mapping[str, Standing], *, sources: bool) -> int:
    """Raises each row's version above what the gateway has, where that has to change, and tells what it says then."""
    for project in projects:
        standing = held.get(project.container_key)
        if standing is not None and standing.version >= project.entry_version:
            rows = Project.objects.filter(pk=project.pk, entry_version__lte=standing.version)
            rows.update(entry_version=standing.version + 1)
    fresh = list(_fresh(project.pk for project in projects))
    for version, some in _read_words(fresh, sources=sources).items():
        _apply(client, version, some)
    return len(fresh)


def lease_entries(client: GatewayClient, keys: Iterable[str], *, node: str, lease: Lease) -> None:
    """Tells the gateway of this node what it lacks of these projects, and grants them the lease, which is from before
    their rows are read. Not of those that no longer count there. Raises `EngineError`.
    """
    sources, wanted = knows_sources(), sorted(keys)
    for first in range(0, len(wanted), AT_ONCE):
        here = _fresh(wanted[first : first + AT_ONCE]).filter(gateway_node=node, leaves_node=False)
        for version, some in _read_words(list(here), sources=sources).items():
            _apply(client, version, [word for word in some if word.entry], lease)


def _fresh(keys: Iterable[object]) -> "QuerySet[Project]":
    return Project.objects.filter(pk__in=list(keys)).select_related("owner", "plan", "agent_type")


@sensitive_variables()
def _read_words(fresh: list[Project], *, sources: bool) -> dict[int, list[Word]]:
    """By their versions. Those whose credentials cannot be read are left out."""
    words: dict[int, list[Word]] = defaultdict(list)
    prices, spent = read_prices(), read_spent(fresh)  # after the rows
    for project in fresh:
        try:
            word = make_word(project, prices=prices, knows_sources=sources, spent=spent.get(project.pk, ()))
            words[word.version].append(word)
        except SecretUnreadableError as error:
            log.warning("%s", error)
    return words


@sensitive_variables()
def _apply(client: GatewayClient, version: int, words: list[Word], lease: Lease | None = None) -> None:
    """One that the gateway refuses keeps none of the others from being told."""
    try:
        client.apply(
            version=version,
            entries=[word.entry for word in words if word.entry],
            void=[word.project for word in words if not word.entry],
            lease=lease,
        )
    except EngineRefusedError as error:
        if len(words) == 1:
            log.warning("The gateway refuses what it is told of project %s: %s", words[0].project, error)
            return
        for word in words:
            _apply(client, version, [word], lease)


def _void_strangers(client: GatewayClient, held: Mapping[str, Standing], valid: set[str]) -> int:
    """What the gateway knows of projects that are gone: a deletion whose word did not come through."""
    ids = {found for key in valid if (found := as_uuid(key))}
    here = {str(pk) for pk in Project.objects.filter(pk__in=ids).values_list("pk", flat=True)}
    for key in sorted(valid - here):
        client.apply(version=held[key].version + 1, void=[key])
    return len(valid - here)


def _raise_if_settings_changed(digest: str) -> None:
    """Where the service was started with other addresses, every entry is another one."""
    rows = Gateway.objects.filter(pk=settings.BERTH_INSTANCE).exclude(told_digest=digest)
    if rows.update(told_digest=digest):
        # What is at rest is told of at its next start, which raises its version.
        changed = Project.objects.filter(HAS_VIRTUAL, ~AT_REST, instance=settings.BERTH_INSTANCE)
        changed.update(entry_version=F("entry_version") + 1)
