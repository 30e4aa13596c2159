"""The records of requests that came with an Idempotency-Key."""

from datetime import timedelta

from django.utils import timezone

from projects.models import IdempotencyRecord

KEY = "3f1c9f6e-retry"


def age(seconds: timedelta) -> None:
    IdempotencyRecord.objects.update(created_at=timezone.now() - seconds)
