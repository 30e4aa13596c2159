"""Users' secrets at rest: encrypted with BERTH_ENCRYPTION_KEYS, and bound to the user they belong to.

The plaintext holds the user, and that is checked on read: a ciphertext copied to another row is refused. The first of
the keys encrypts, all of them decrypt.
"""

import json
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.views.decorators.debug import sensitive_variables


class SealBrokenError(Exception):
    """The ciphertext was changed, belongs to another user, or was written with a key that is not configured."""

    def __init__(self, user_id: UUID) -> None:
        super().__init__(
            f"The second factor of user {user_id} cannot be decrypted. Put the key it was written with into "
            "BERTH_ENCRYPTION_KEYS, or reset the second factor in the admin."
        )


@sensitive_variables()
def seal(*, user_id: UUID, value: str) -> str:
    plaintext = json.dumps({"user": str(user_id), "value": value})
    return _cipher().encrypt(plaintext.encode()).decode()


@sensitive_variables()
def unseal(*, user_id: UUID, sealed: str) -> str:
    try:
        content = json.loads(_cipher().decrypt(sealed.encode()))
    except InvalidToken:
        raise SealBrokenError(user_id) from None
    if content["user"] != str(user_id):
        raise SealBrokenError(user_id)
    return str(content["value"])


def _cipher() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.BERTH_ENCRYPTION_KEYS])
