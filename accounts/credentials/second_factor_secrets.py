"""The secrets of authenticator apps at rest: encrypted, and bound to their users."""

from uuid import UUID

from django.views.decorators.debug import sensitive_variables

from accounts.credentials.encryption import DecryptionError, decrypt, encrypt
from accounts.credentials.one_time_codes import is_secret
from accounts.errors import SecondFactorUnreadableError


@sensitive_variables("secret")
def encrypt_secret(secret: str, *, user_id: UUID) -> str:
    return encrypt(secret, context=_context(user_id))


@sensitive_variables("secret")
def decrypt_secret(ciphertext: str, *, user_id: UUID) -> str:
    """Returns a secret that codes can be computed from. Raises SecondFactorUnreadableError."""
    try:
        secret = decrypt(ciphertext, context=_context(user_id))
    except DecryptionError:
        raise SecondFactorUnreadableError(user_id) from None
    if not is_secret(secret):
        raise SecondFactorUnreadableError(user_id)
    return secret


def _context(user_id: UUID) -> dict[str, str]:
    return {"user": str(user_id)}
