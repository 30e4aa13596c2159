"""Credentials at rest: encrypted, and bound to their project and field."""

from uuid import UUID

from django.views.decorators.debug import sensitive_variables

from accounts.credentials.encryption import DecryptionError, WrongContextError, decrypt, encrypt
from containers.agent_contract import REDACTED, redact_credentials

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


def redact(text: str, secrets: list[str]) -> str:
    """The text without the secrets, and without the secret half of a bot token where that stands alone.

    What looks like a credential goes too: after a change that waits for the next start, the agent still has, and may
    print, one that nobody else knows any more.
    """
    parts = {part for secret in secrets for part in (secret, secret.partition(":")[2])}
    for part in sorted((part for part in parts if len(part) >= 2 * HINT_LENGTH), key=len, reverse=True):
        text = text.replace(part, REDACTED)
    return redact_credentials(text)
