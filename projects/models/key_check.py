"""A worthless encrypted value. It shows a wrong encryption key at the start, not in the middle of a deploy."""

from django.db import models


class KeyCheck(models.Model):
    """At most one row."""

    ciphertext = models.TextField()

    class Meta:
        db_table = "projects_canary"  # its first name; a server of an older version may still use it

    def __str__(self) -> str:
        return "key check"
