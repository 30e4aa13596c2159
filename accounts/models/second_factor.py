"""What somebody has, beside the password they know."""

from django.db import models
from django.db.models.functions import Length
from django.db.models.lookups import Exact
from django.utils import timezone

from accounts.models.user import User


class SecondFactor(models.Model):
    """An authenticator app that has proved to hold the secret. Whoever has this row signs in with its codes."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="second_factor")
    # The column has its first name: a server of an older version may still use it.
    secret_ciphertext = models.TextField(db_column="sealed_secret", editable=False)
    # Of the last code that was taken: neither that one nor an older one is taken again.
    last_step = models.PositiveBigIntegerField(editable=False)
    enrolled_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"second factor of {self.user_id}"


class RecoveryCode(models.Model):
    """For whoever has lost the app. It is deleted by its use; kept is only its digest."""

    user = models.ForeignKey(User, models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64, unique=True, editable=False)

    class Meta:
        constraints = [models.CheckConstraint(condition=Exact(Length("digest"), 64), name="recovery_code_digest_whole")]

    def __str__(self) -> str:
        return f"recovery code of {self.user_id}"
