from typing import ClassVar

from django.contrib.auth.hashers import MD5PasswordHasher


class CountingHasher(MD5PasswordHasher):
    """Counts how often a password is hashed."""

    hashed: ClassVar[list[int]] = []

    def encode(self, password: str, salt: str) -> str:
        self.hashed.append(len(password))
        return super().encode(password, salt)
