"""Checks that the encryption keys are the right ones, and encrypts all secrets again with the newest key."""

from collections.abc import Iterator
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from django.db.models import QuerySet
from django.views.decorators.debug import sensitive_variables

from accounts.credentials.encryption import uses_first_key
from projects.credentials.encryption import SecretUnreadableError, decrypt_secret, encrypt_secret
from projects.models import KeyCheck, Project
from projects.models.columns.credentials import API_KEY, TELEGRAM_TOKEN
from projects.models.columns.gateway import SERVER_CREDENTIALS, VIRTUAL_KEY, VIRTUAL_TOKEN
from projects.models.columns.pairing import PAIRING_SECRET

_NOBODY = UUID(int=0)
_FIELD = "canary"  # as the rows of every installation have it
BATCH = 200


def check_keys() -> None:
    """Raises `ImproperlyConfigured` if the stored credentials were encrypted with other keys.

    Does nothing if the database does not answer or is not migrated, which /readyz reports.
    """
    try:
        check, is_new = KeyCheck.objects.get_or_create(pk=1, defaults={"ciphertext": _encrypt_check()})
    except DatabaseError:
        return
    if is_new:
        return
    try:
        decrypt_secret(project_id=_NOBODY, field=_FIELD, ciphertext=check.ciphertext)
    except SecretUnreadableError:
        raise ImproperlyConfigured(
            "BERTH_ENCRYPTION_KEYS does not hold the key that the stored credentials were written with. "
            "Put that key back, after the new one if there is one."
        ) from None


def _encrypt_check() -> str:
    return encrypt_secret(project_id=_NOBODY, field=_FIELD, value="ok")


def rotate_secrets() -> Iterator[tuple[int, int]]:
    """Encrypts every secret again with the first key. Yields how many of how many projects are done.

    It may be interrupted and run again at any time: it skips secrets that already use the first key, and secrets that
    owners change meanwhile use it anyway. Raises `SecretUnreadableError`.
    """
    rows: QuerySet[Project] = Project.objects.order_by("pk")
    total = rows.count()
    for done, project in enumerate(rows.iterator(chunk_size=BATCH), start=1):
        for field in (TELEGRAM_TOKEN, API_KEY, VIRTUAL_TOKEN, VIRTUAL_KEY, PAIRING_SECRET, SERVER_CREDENTIALS):
            _rotate(project, field)
        yield done, total
    KeyCheck.objects.update_or_create(pk=1, defaults={"ciphertext": _encrypt_check()})


@sensitive_variables("value")
def _rotate(project: Project, field: str) -> None:
    column = f"{field}_ciphertext"
    before: str = getattr(project, column)
    if not before or uses_first_key(before):
        return
    value = decrypt_secret(project_id=project.pk, field=field, ciphertext=before)
    after = encrypt_secret(project_id=project.pk, field=field, value=value)
    Project.objects.filter(pk=project.pk, **{column: before}).update(**{column: after})
