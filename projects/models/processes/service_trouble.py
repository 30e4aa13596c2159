"""Trouble of the service itself, and whether operators were notified."""

from django.db import models
from django.utils import timezone

from projects.rules.service_alerts import Part


class ServiceTrouble(models.Model):
    """A part that has been in trouble. The columns are those of `projects.rules.service_alerts.Known`."""

    instance = models.CharField(max_length=20, editable=False)
    part = models.CharField(max_length=10, choices=Part, editable=False)
    is_wrong = models.BooleanField(default=True, editable=False)
    since = models.DateTimeField(default=timezone.now, editable=False)
    is_told = models.BooleanField(default=False, editable=False)
    flaps = models.BooleanField(default=False, editable=False)
    told_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["instance", "part"], name="service_trouble_of_each_part")]

    def __str__(self) -> str:
        return f"{self.part} of {self.instance}"
