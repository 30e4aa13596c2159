"""Credentials at rest: encrypted, and bound to their project and field."""

from uuid import UUID

from django.views.decorators.debug import sensitive_variables

from accounts.credentials.encryption import DecryptionError, WrongContextError, decrypt, encrypt

HINT_LENGTH = 4


class SecretUnreadableError(Exception):
    """The ciphertext was changed, belongs to another row, or was written with a key that is not configured."""


@sensitive_variables()
def encrypt_secret(*, project_id: UUID, field: str, value: str) -> str:
    return encrypt(value, context=_context(project_id, field))


@sensitive_variables()
def decrypt_secret(*, project_id: UUID, field: str, ciphertext: str) -> str:
    """Returns the value that was encrypted for this project and field. Raises SecretUnreadableError."""
    try:
        return decrypt(ciphertext, context=_context(project_id, field))
    except WrongContextError:
        raise SecretUnreadableError(
            f"The {field} of project {project_id} was written for another row. Set it again."
        ) from None
    except DecryptionError:
        raise SecretUnreadableError(
            f"The {field} of project {project_id} cannot be decrypted. Put the key it was written with "
            "into BERTH_ENCRYPTION_KEYS."
        ) from None


def _context(project_id: UUID, field: str) -> dict[str, str]:
    return {"project": str(project_id), "field": field}


def hint_of(value: str) -> str:
    """The last characters of a credential, for its owner to tell two of them apart; none of a short one."""
    return value[-HINT_LENGTH:] if len(value) >= 4 * HINT_LENGTH else ""
