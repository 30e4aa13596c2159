"""A worthless encrypted value, which reveals a wrong encryption key at the start instead of during a deploy."""

from django.db import models


class KeyCheck(models.Model):
    """Row 1 is encrypted with the first key. The others are of other machines (`services.credentials.shared_keys`)."""

    ciphertext = models.TextField()

    class Meta:
        db_table = "projects_canary"  # its first name; a server of an older version may still use it

    def __str__(self) -> str:
        return "key check"
