"""Checks that all machines of an installation have the same keys, so that each accepts what another one has signed."""

import hashlib
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from accounts.moments import lasts
from projects.credentials.encryption import SecretUnreadableError, decrypt_secret, encrypt_secret
from projects.models import KeyCheck, Watch
from projects.models.processes.holder import is_elsewhere
from projects.rules.status.lifecycle import LEASE

_NOBODY = UUID(int=0)


class UnsharedKeyError(Exception):
    """This machine has another key than a machine that is at work. The message says what to do."""


class _Shared(NamedTuple):
    """A setting that all machines must share. `row` is the key of its row in `KeyCheck`."""

    row: int
    name: str
    why: str


_SHARED = (
    _Shared(2, "BERTH_SECRET_KEY", "sessions of the pages, links in mails and retries count on one of them only"),
    _Shared(3, "BERTH_TOKEN_KEY", "each refuses the session tokens of the other"),
    _Shared(4, "BERTH_CACHE_URL", "each counts limits for itself where only one has a Redis"),
)


def check_shared_keys() -> None:
    """Raises `UnsharedKeyError` if another machine is at work and has other keys than this one.

    If no other machine is at work, an operator has changed the keys, and this machine's keys are recorded. Does nothing
    if the database does not answer or is not migrated.
    """
    try:
        for each in _SHARED:
            _check(each)
    except DatabaseError:
        return


def find_unshared_key() -> str:
    """Returns the name of a key that differs from that of the machine started last, or an empty text.

    It is for a machine that is already serving. Raises `DatabaseError`.
    """
    stored = dict(KeyCheck.objects.filter(pk__in=[each.row for each in _SHARED]).values_list("pk", "ciphertext"))
    return next((each.name for each in _SHARED if each.row in stored and _differs(each.name, stored[each.row])), "")


@sensitive_variables()
def _differs(name: str, ciphertext: str) -> bool:
    return _decrypt(name, ciphertext) not in ("", _digest(name))


@sensitive_variables("ours", "theirs")
def _check(shared: _Shared) -> None:
    ours = _digest(shared.name)
    check, is_new = KeyCheck.objects.get_or_create(pk=shared.row, defaults={"ciphertext": _encrypt(shared.name, ours)})
    if is_new:
        return
    theirs = _decrypt(shared.name, check.ciphertext)
    if theirs == ours:
        return
    if theirs and _another_machine_works():
        raise UnsharedKeyError(
            f"{shared.name} differs from that of another machine which serves this database: {shared.why}. Give all of "
            "them the same. To change it, stop Berth on all machines first."
        )
    KeyCheck.objects.filter(pk=shared.row).update(ciphertext=_encrypt(shared.name, ours))


def _digest(name: str) -> str:
    """Returns a key's digest; for Redis only whether there is one, because machines may name it differently."""
    if name == "BERTH_CACHE_URL":
        return "redis" if settings.BERTH_COUNT_IN_CACHE else "database"
    value: str = settings.SECRET_KEY if name == "BERTH_SECRET_KEY" else settings.BERTH_TOKEN_KEY
    return hashlib.sha256(value.encode()).hexdigest()


def _encrypt(name: str, digest: str) -> str:
    return encrypt_secret(project_id=_NOBODY, field=name, value=digest)


def _decrypt(name: str, ciphertext: str) -> str:
    """Returns the digest, or an empty text if the encryption key has been replaced since."""
    try:
        return decrypt_secret(project_id=_NOBODY, field=name, ciphertext=ciphertext)
    except SecretUnreadableError:
        return ""


def _another_machine_works() -> bool:
    """Returns whether the leading watcher is on another machine."""
    watch = Watch.objects.filter(instance=settings.BERTH_INSTANCE).only("holder", "lease_until").first()
    return watch is not None and lasts(watch.lease_until, at_most=LEASE, now=clock.now()) and is_elsewhere(watch.holder)
