"""Credentials at rest: encrypted with MultiFernet, bound to their project and field.

The plaintext holds the project and the field, and both are checked on read, so that a ciphertext copied to another
row is refused. The first of `BERTH_ENCRYPTION_KEYS` encrypts, all of them decrypt.
"""

import json
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.agent_contract import REDACTED, redact_credentials

HINT_LENGTH = 4


class SecretUnreadableError(Exception):
    """The ciphertext was changed, belongs to another row, or was written with a key that is not configured."""


def _cipher() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.BERTH_ENCRYPTION_KEYS])


@sensitive_variables()
def encrypt_secret(*, project_id: UUID, field: str, value: str) -> str:
    plaintext = json.dumps({"project": str(project_id), "field": field, "value": value})
    return _cipher().encrypt(plaintext.encode()).decode()


@sensitive_variables()
def decrypt_secret(*, project_id: UUID, field: str, ciphertext: str) -> str:
    try:
        content = json.loads(_cipher().decrypt(ciphertext.encode()))
        place, value = (content["project"], content["field"]), str(content["value"])
    except (InvalidToken, ValueError, KeyError, TypeError):
        raise SecretUnreadableError(
            f"The {field} of project {project_id} cannot be decrypted. Put the key it was written with "
            "into BERTH_ENCRYPTION_KEYS."
        ) from None
    if place != (str(project_id), field):
        raise SecretUnreadableError(f"The {field} of project {project_id} was written for another row. Set it again.")
    return value


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
