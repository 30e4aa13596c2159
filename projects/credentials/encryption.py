"""Encrypts credentials at rest, and binds them to their project and field."""

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
            f"The {_words(field)} of project {project_id} was written for another row. Set it again."
        ) from None
    except DecryptionError:
        raise SecretUnreadableError(
            f"The {_words(field)} of project {project_id} cannot be decrypted. Put the key it was written with "
            "into BERTH_ENCRYPTION_KEYS."
        ) from None


def _words(field: str) -> str:
    return field.replace("_", " ")


def _context(project_id: UUID, field: str) -> dict[str, str]:
    return {"project": str(project_id), "field": field}


def hint_of(value: str) -> str:
    """Returns the last characters of a credential, so that its owner can tell two apart; empty if it is short."""
    return value[-HINT_LENGTH:] if len(value) >= 4 * HINT_LENGTH else ""
