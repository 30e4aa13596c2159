"""A secret of no value, by which a wrong key is noticed at the start and not in the middle of a deploy."""

from django.db import models


class Canary(models.Model):
    """At most one row."""

    ciphertext = models.TextField()

    def __str__(self) -> str:
        return "canary"
