"""How much memory of the host a project has, as a column."""

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Q

from containers.vocabulary import ContainerState
from projects.rules.sizes import MIB
from projects.rules.status.lifecycle import Desired

HOLDS_MEMORY = (
    Q(desired=str(Desired.RUNNING))
    | Q(container_state=str(ContainerState.RUNNING))
    | Q(container_state=str(ContainerState.PAUSED))
    | Q(container_state=str(ContainerState.RESTARTING))
)
"""Wanted running, or still running. No `IN`: SQLite would not see that the index has these rows."""


class ReservesMemory(models.Model):
    """`memory_mb` was reserved when the project was deployed or started, or more by a larger plan since.

    It stays what it is until the next start where its owner takes a smaller plan, since the container goes on with what
    it has, and where staff change the plan itself. None, as in rows of an earlier version: what the plan says.
    """

    memory_mb = models.PositiveIntegerField(null=True, editable=False)

    if TYPE_CHECKING:  # a foreign key of the model
        plan: Any

    class Meta:
        abstract = True

    @property
    def memory(self) -> int:
        """What a container that is made now gets, in bytes: never more than was reserved, or than the plan says."""
        planned: int = self.plan.memory_mb
        return MIB * (planned if self.memory_mb is None else min(planned, self.memory_mb))
