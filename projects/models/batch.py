"""Actions of staff on many projects at once. Each project is one item, which one request claims and carries out."""

import uuid
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

KEPT_FOR = timedelta(days=1)

LOST_AFTER = timedelta(minutes=2)
"""How long one item may take. Commands answer within 30 seconds, so an item that takes longer died with its process."""


class ItemState(models.TextChoices):
    WAITING = "waiting", "Waits"
    BEGUN = "begun", "Under way"
    DONE = "done", "Done"
    NOTED = "noted", "Done, with a remark"
    REFUSED = "refused", "Not done"
    LOST = "lost", "Nobody knows"


OPEN = (ItemState.WAITING, ItemState.BEGUN)
NOT_DONE = (ItemState.REFUSED, ItemState.LOST)


class Batch(models.Model):
    """An action in the admin on many projects, run from the page of one member of staff.

    Other staff can see it, stop it, or take it over; then it is theirs. `ends` counts the ends of items, so that a page
    can ask for the items that have ended since its last request.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="batches", editable=False)
    action = models.CharField(max_length=30, editable=False)
    because = models.CharField(max_length=200, blank=True, default="", editable=False)
    is_stopped = models.BooleanField(default=False, editable=False)
    ends = models.PositiveIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(default=timezone.now, db_index=True, editable=False)

    class Meta:
        verbose_name_plural = "batches"

    def __str__(self) -> str:
        return f"{self.action} by {self.by_id}"

    @property
    def title(self) -> str:
        return self.action.replace("_", " ").capitalize()


class BatchItem(models.Model):
    """One project of a batch, with its name at the time. It has no foreign key, because the project may be gone by now.

    `ended_as` is the value of `Batch.ends` after this item ended.
    """

    batch = models.ForeignKey(Batch, models.CASCADE, related_name="items", editable=False)
    number = models.PositiveIntegerField(editable=False)
    project_id = models.UUIDField(editable=False)
    name = models.CharField(max_length=64, editable=False)
    state = models.CharField(max_length=8, choices=ItemState, default=ItemState.WAITING, editable=False)
    sentence = models.TextField(blank=True, default="", editable=False)
    begun_at = models.DateTimeField(null=True, editable=False)
    ended_as = models.PositiveIntegerField(null=True, editable=False)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["batch", "number"], name="batch_item_number")]

    def __str__(self) -> str:
        return f"{self.name}, {self.state}"
