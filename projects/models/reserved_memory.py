"""How much memory of the host a project has, as a column."""

from typing import TYPE_CHECKING, Any

from django.db import models

from projects.models.catalogue import MIB


class ReservesMemory(models.Model):
    """`memory_mb` was reserved when the project was deployed, started or given its plan, and its container gets it.

    Where staff change the plan itself it stays what it is until the next start. None, as in rows of an earlier
    version: what the plan says.
    """

    memory_mb = models.PositiveIntegerField(null=True, editable=False)

    if TYPE_CHECKING:  # a foreign key of the model
        plan: Any

    class Meta:
        abstract = True

    @property
    def memory(self) -> int:
        """In bytes."""
        return MIB * int(self.plan.memory_mb if self.memory_mb is None else self.memory_mb)
