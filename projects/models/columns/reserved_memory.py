"""A column: how much of the host's memory a project has reserved."""

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
"""Should run, or still runs. This uses no `IN`, because SQLite would not see that the index has these rows."""


class ReservesMemory(models.Model):
    """`memory_mb` was reserved by the last deploy or start, or since then by a change to a larger plan.

    It stays until the next start if the owner chooses a smaller plan, because the container keeps its limit, and if
    staff change the plan itself. None, as in rows of an earlier version, means the plan's memory.
    """

    memory_mb = models.PositiveIntegerField(null=True, editable=False)

    if TYPE_CHECKING:  # a foreign key of the model
        plan: Any

    class Meta:
        abstract = True

    @property
    def memory(self) -> int:
        """The limit of a container created now, in bytes: never more than was reserved or than the plan gives."""
        planned: int = self.plan.memory_mb
        return MIB * (planned if self.memory_mb is None else min(planned, self.memory_mb))
