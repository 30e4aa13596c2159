"""Hashes passwords, and validates them by rules for which Django has no validator."""

from django.contrib.auth import password_validation
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.exceptions import ValidationError

from accounts.models import User
from accounts.text import has_control_characters

LONGEST_PASSWORD = 128


class BoundedArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2 with OWASP's parameters: 19 MiB, two passes, one lane.

    Django's default takes 100 MiB for each check, so thirty strangers who sign in at once would take 3 GB.
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1


class CommonPasswordValidator(password_validation.CommonPasswordValidator):
    """Refuses Django's 20,000 common passwords, and those that repeat one of them or join two.

    Only 187 of the 20,000 have the required twelve characters, and people lengthen the others like this.
    """

    def validate(self, password: str, user: User | None = None) -> None:
        super().validate(password, user)
        plain = password.lower().strip()
        repeated = any(
            plain == plain[:end] * (len(plain) // end) for end in range(1, len(plain)) if self._is_common(plain[:end])
        )
        if repeated or any(
            self._is_common(plain[:end]) and self._is_common(plain[end:]) for end in range(1, len(plain))
        ):
            raise ValidationError(
                "This password is too common: it consists of common ones.", code="password_too_common"
            )

    def _is_common(self, part: str) -> bool:
        return part in self.passwords


class PasswordShapeValidator:
    """Refuses more than 128 characters, and control characters, which keyboards and JSON bodies cannot send."""

    def validate(self, password: str, user: User | None = None) -> None:  # noqa: ARG002 - Django's signature
        if len(password) > LONGEST_PASSWORD:
            raise ValidationError(
                f"This password is too long. It may have at most {LONGEST_PASSWORD} characters.", code="too_long"
            )
        if has_control_characters(password):
            raise ValidationError("This password contains control characters.", code="control")

    def get_help_text(self) -> str:
        return f"It may have at most {LONGEST_PASSWORD} characters; spaces count."
