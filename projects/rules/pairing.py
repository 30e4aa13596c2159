"""The modes of a pairing code that is created on demand."""

from django.db.models import TextChoices


class PairingMode(TextChoices):
    ADD = "add", "one more person"
    REPLACE = "replace", "one person in the place of all"
