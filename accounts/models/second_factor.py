"""The second factor of a user, and its recovery codes."""

from django.db import models
from django.db.models.functions import Length
from django.db.models.lookups import Exact
from django.utils import timezone

from accounts.models.user import User


class SecondFactor(models.Model):
    """An authenticator app that has proved to hold the secret. A user with this row needs its codes to sign in."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="second_factor")
    # The column keeps its first name, because a server of an older version may still use it.
    secret_ciphertext = models.TextField(db_column="sealed_secret", editable=False)
    # The period of the last accepted code: neither that code nor an older one is accepted again.
    last_step = models.PositiveBigIntegerField(editable=False)
    enrolled_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"second factor of {self.user_id}"


class RecoveryCode(models.Model):
    """Replaces one code of the app when a user has lost it. Only its digest is stored, and using it deletes it."""

    user = models.ForeignKey(User, models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64, unique=True, editable=False)

    class Meta:
        constraints = [models.CheckConstraint(condition=Exact(Length("digest"), 64), name="recovery_code_digest_whole")]

    def __str__(self) -> str:
        return f"recovery code of {self.user_id}"


class KnownNetwork(models.Model):
    """A network from which its user has passed the second factor lately. See `throttling.known_networks`."""

    user = models.ForeignKey(User, models.CASCADE, related_name="known_networks")
    network = models.CharField(max_length=64)
    used_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "network"], name="known_network_unique")]

    def __str__(self) -> str:
        return f"{self.network} of {self.user_id}"
