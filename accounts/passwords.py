"""How passwords are hashed, and the rules for them that Django has no validator for."""

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.exceptions import ValidationError

from accounts.models import User
from accounts.text import has_control_characters

LONGEST_PASSWORD = 128


class BoundedArgon2PasswordHasher(Argon2PasswordHasher):
    """OWASP's parameters: 19 MiB, two passes, one lane.

    Django's default takes 100 MiB for each check, so that thirty strangers at the login would take 3 GB.
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1


class PasswordShapeValidator:
    """At most 128 characters, and none that a keyboard or a JSON body would not carry."""

    def validate(self, password: str, user: User | None = None) -> None:  # noqa: ARG002 - Django's signature
        if len(password) > LONGEST_PASSWORD:
            raise ValidationError(
                f"This password is too long. It may have at most {LONGEST_PASSWORD} characters.", code="too_long"
            )
        if has_control_characters(password):
            raise ValidationError("This password holds control characters.", code="control")

    def get_help_text(self) -> str:
        return f"It may have at most {LONGEST_PASSWORD} characters; spaces count."
