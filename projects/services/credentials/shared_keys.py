"""Whether all machines of an installation have the same keys: what one of them has signed, another one must take."""

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
    """This machine has something else than another one that is at work. The message says what to do."""


class _Shared(NamedTuple):
    """`row` is the key of its check's row."""

    row: int
    name: str
    why: str


_SHARED = (
    _Shared(2, "BERTH_SECRET_KEY", "sessions of the pages, links in mails and retries count on one of them only"),
    _Shared(3, "BERTH_TOKEN_KEY", "each refuses the session tokens of the other"),
    _Shared(4, "BERTH_CACHE_URL", "each counts limits for itself where only one has a Redis"),
)


def check_shared_keys() -> None:
    """Raises `UnsharedKeyError` where another machine is at work, and this one has other keys than that.

    Where none is, what this one has counts from now on: somebody has changed it. Does nothing where the database does
    not answer or is not migrated.
    """
    try:
        for each in _SHARED:
            _check(each)
    except DatabaseError:
        return


def find_unshared_key() -> str:
    """The name of one that the machine which was started last has in another form than this one, or nothing.

    For a machine that serves already. Raises `DatabaseError`.
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
    """Of a Redis only whether there is one: machines may know it by different names."""
    if name == "BERTH_CACHE_URL":
        return "redis" if settings.BERTH_COUNT_IN_CACHE else "database"
    value: str = settings.SECRET_KEY if name == "BERTH_SECRET_KEY" else settings.BERTH_TOKEN_KEY
    return hashlib.sha256(value.encode()).hexdigest()


def _encrypt(name: str, digest: str) -> str:
    return encrypt_secret(project_id=_NOBODY, field=name, value=digest)


def _decrypt(name: str, ciphertext: str) -> str:
    """Empty where the encryption key has been replaced since."""
    try:
        return decrypt_secret(project_id=_NOBODY, field=name, ciphertext=ciphertext)
    except SecretUnreadableError:
        return ""


def _another_machine_works() -> bool:
    """Whether a watcher leads that is not on this machine."""
    watch = Watch.objects.filter(instance=settings.BERTH_INSTANCE).only("holder", "lease_until").first()
    return watch is not None and lasts(watch.lease_until, at_most=LEASE, now=clock.now()) and is_elsewhere(watch.holder)
