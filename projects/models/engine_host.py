"""What is known of the machine that runs the containers: one row for each `BERTH_INSTANCE`."""

from django.db import models
from django.utils import timezone


class EngineHost(models.Model):
    """The row is also the lock under which memory is given away, so that two projects never get the same."""

    instance = models.CharField(primary_key=True, max_length=20)
    memory = models.PositiveBigIntegerField(null=True)  # in bytes; None where the engine has never said
    cpus = models.PositiveIntegerField(null=True)
    engine_version = models.CharField(max_length=64, blank=True, default="", db_default="")
    ask_again_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.instance
