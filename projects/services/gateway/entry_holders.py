"""Which node of a Swarm may let a project's agent through, according to the rows, and how that changes.

Every change is one conditional statement that needs the row unchanged, so that of several processes that believe they
lead only one succeeds.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from projects.models import Project
from projects.models.columns.at_rest import AT_REST
from projects.models.columns.facts import KEPT_DOWN
from projects.models.columns.gateway import HAS_VIRTUAL, NEXT_VERSION
from projects.rules.status.lifecycle import Desired

AT_ONCE = 500
"""The maximum number of rows in one statement."""


class Holding(NamedTuple):
    """The gateway assignment of a project. `node` is empty if no gateway may have a lease.

    `counts`: some gateway should let its agent through.
    """

    pk: UUID
    version: int
    node: str
    leaves: bool
    counts: bool

    @property
    def key(self) -> str:
        return str(self.pk)


def read_holdings() -> list[Holding]:
    """Returns the holdings of all projects in force, and of all others that some node may still hold."""
    here = Project.objects.filter(instance=settings.BERTH_INSTANCE)
    held = here.filter(~Q(gateway_node=""))
    waiting = here.filter(~AT_REST, HAS_VIRTUAL, gateway_node="").filter(_in_force())
    in_force = set(held.filter(HAS_VIRTUAL).filter(_in_force()).values_list("pk", flat=True))
    rows = [*_read(held), *_read(waiting)]
    return [Holding(*row, counts=not row[2] or row[0] in in_force) for row in rows]


def _read(rows: "QuerySet[Project]") -> "Iterator[tuple[UUID, int, str, bool]]":
    return rows.order_by().values_list("pk", "entry_version", "gateway_node", "leaves_node").iterator()


def _in_force() -> Q:
    """Returns the condition of `is_in_force` for queries."""
    is_held = ~Q(suspended_at=None) | Q(owner__is_active=False) | ~Q(gave_up_at=None) | Q(failure_code__in=KEPT_DOWN)
    return Q(desired=str(Desired.RUNNING)) & ~is_held & (Q() if settings.BERTH_GATEWAY else Q(is_behind_gateway=True))


def leave(holdings: Collection[Holding]) -> None:
    """Marks the projects as leaving, so that no gateway gets leases for them. Skips those that have moved since."""
    for node in {each.node for each in holdings}:
        ids = [each.pk for each in holdings if each.node == node]
        for first in range(0, len(ids), AT_ONCE):
            rows = Project.objects.filter(pk__in=ids[first : first + AT_ONCE], gateway_node=node, leaves_node=False)
            rows.update(leaves_node=True, **NEXT_VERSION)


def take(holding: Holding, node: str) -> bool:
    """Assigns the project to this node, whose gateway may then get leases. Returns False if the row has changed."""
    return bool(_as_read(holding).update(gateway_node=node, leaves_node=False, **NEXT_VERSION))


def let_go(holding: Holding) -> bool:
    """Assigns the project to no node. Returns False if the row has changed."""
    return bool(_as_read(holding).update(gateway_node="", leaves_node=False))


def note_void(project: Project, *, node: str, version: int) -> None:
    """Records that the gateway of this node has confirmed the project as void there as of this version."""
    here = Project.objects.filter(pk=project.pk, entry_version=version, gateway_node=node)
    here.update(gateway_node="", leaves_node=False)


def _as_read(holding: Holding) -> "QuerySet[Project]":
    here = {"entry_version": holding.version, "gateway_node": holding.node, "leaves_node": holding.leaves}
    return Project.objects.filter(pk=holding.pk, **here)
