"""Columns: how much an agent stores on the disk."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

from django.db import models

from projects.rules.disk import DiskShare
from projects.rules.sizes import MIB


class DiskFacts(TypedDict):
    """`disk` in the API. Sizes are in bytes; everything but the limits is null until it was measured."""

    used: int | None
    limit: int
    files: int | None
    max_files: int
    measured_at: datetime | None
    warning: str | None


class Measured(models.Model):
    """The last measurement of `/data`: bytes on the disk, and the number of files, directories and links.

    `disk_warned_at` is when the owner was warned that it is nearly full, and None again once there is room.
    `has_state`: the agent has run, so its memory must exist. It is also false if that is unknown.
    """

    disk_used = models.PositiveBigIntegerField(null=True, editable=False)
    disk_files = models.PositiveBigIntegerField(null=True, editable=False)
    disk_measured_at = models.DateTimeField(null=True, editable=False)
    disk_warned_at = models.DateTimeField(null=True, editable=False)
    has_state = models.BooleanField(default=False, db_default=False, editable=False)

    _plan_disk_mb: int | None = None

    if TYPE_CHECKING:  # a foreign key of the model
        plan: Any

    class Meta:
        abstract = True

    def cache_disk_limit(self, megabytes: int) -> None:
        """Stores the plan's disk limit if a query has read it, so that the plan itself need not be read."""
        self._plan_disk_mb = megabytes

    @property
    def disk_share(self) -> DiskShare:
        limit: int = self.plan.disk if self._plan_disk_mb is None else self._plan_disk_mb * MIB
        return DiskShare(used=self.disk_used, files=self.disk_files, limit=limit)

    @property
    def disk(self) -> DiskFacts:
        share = self.disk_share
        return DiskFacts(
            used=share.used,
            limit=share.limit,
            files=share.files,
            max_files=share.max_files,
            measured_at=self.disk_measured_at,
            warning=share.warning,
        )


def emptied(at: datetime) -> dict[str, Any]:
    """Returns the fields of a project whose memory was cleared at this moment."""
    return {"disk_used": 0, "disk_files": 0, "disk_measured_at": at, "disk_warned_at": None, "has_state": False}
