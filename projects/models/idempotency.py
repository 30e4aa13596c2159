"""Responses of POST /api/projects, which a retry with the same Idempotency-Key gets again."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

KEPT_FOR = timedelta(hours=24)
PENDING_FOR = timedelta(seconds=40)
"""How long a request holds its key before it has created its project. Its calls to the engine, Telegram and the
provider until then have shorter time limits. After that, the project itself shows how far the request has come."""


GONE = "null"
"""The response once the project is deleted. The key stays taken, so that a late retry does not create it again."""


class IdempotencyRecord(models.Model):
    """`project_id` is the id of the project that the first request creates.

    `answer` is the JSON text as it was sent, because a JSON column would reorder it. It is empty while the first
    request is under way.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    project_id = models.UUIDField()
    answer = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="one_answer_per_idempotency_key")]

    def __str__(self) -> str:
        return f"{self.key} -> {self.project_id if self.answer else 'pending'}"
