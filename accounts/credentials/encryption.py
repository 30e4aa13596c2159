"""Encrypts every value that is stored secretly, and binds it to its context.

The plaintext is a JSON object with the value and the context, such as `{"user": "…", "value": "…"}`. The context is
checked on read, so that a ciphertext copied to another row is refused. The first of BERTH_ENCRYPTION_KEYS encrypts, all
of them decrypt.
"""

import json
from collections.abc import Iterable, Mapping

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.views.decorators.debug import sensitive_variables


class DecryptionError(Exception):
    """The ciphertext was changed, is malformed, or was written with a key that is not configured."""


class WrongContextError(DecryptionError):
    """The ciphertext was written for another context of the same shape, such as another row."""


@sensitive_variables()
def encrypt(value: str, *, context: Mapping[str, str]) -> str:
    return _cipher().encrypt(json.dumps({**context, "value": value}).encode()).decode()


@sensitive_variables()
def decrypt(ciphertext: str, *, context: Mapping[str, str]) -> str:
    """Returns the value encrypted in this context. Raises DecryptionError or its subclass WrongContextError."""
    try:
        content = json.loads(_cipher().decrypt(ciphertext.encode()))
    except (InvalidToken, ValueError, RecursionError):
        raise DecryptionError from None
    if not isinstance(content, dict) or content.keys() != {*context, "value"}:
        raise DecryptionError
    value = content.pop("value")
    if not isinstance(value, str):
        raise DecryptionError
    if content != context:
        raise WrongContextError
    return value


def uses_first_key(ciphertext: str) -> bool:
    try:
        Fernet(settings.BERTH_ENCRYPTION_KEYS[0]).decrypt(ciphertext.encode())
    except InvalidToken:
        return False
    return True


@sensitive_variables("keys")
def opens(ciphertext: str, *, keys: Iterable[str]) -> bool:
    """Returns whether one of these keys decrypts the ciphertext. The value and context do not matter."""
    try:
        MultiFernet([Fernet(key) for key in keys]).decrypt(ciphertext.encode())
    except InvalidToken:
        return False
    return True


def _cipher() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.BERTH_ENCRYPTION_KEYS])
