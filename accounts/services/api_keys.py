"""Issues, rotates and revokes API keys."""

import uuid
from datetime import datetime, timedelta

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from accounts import audit, clock
from accounts.credentials.api_keys import digest_key, hint_key, make_key
from accounts.errors import KeyExistsError, KeyLimitReachedError, UnknownKeyError
from accounts.models import ApiKey, Scope, User
from accounts.services.still_signed_in import SignedInBy, lock_if_still_signed_in

LIMIT = 25
LIFETIMES = (30, 90, 365, None)
DEFAULT_LIFETIME = 90
ROTATION_GRACE = timedelta(hours=24)


@sensitive_variables("key")
def issue_api_key(
    *,
    user: User,
    session: SignedInBy,
    name: str,
    scope: Scope,
    lifetime_days: int | None,
    form_id: uuid.UUID | None = None,
) -> tuple[ApiKey, str]:
    """Returns the row and the key, which is not stored. Raises KeyLimitReachedError. Raises InvalidTokenError if
    `session`, or all sessions of the user, have ended since `user` was read, because keys outlive sessions.

    With a `form_id`, the same user cannot create two keys by repeating the call: the second call raises KeyExistsError.
    """
    key, key_id = make_key(), _make_id(user, form_id)
    now = clock.now()
    with transaction.atomic():
        _check_key_limit(user, session)
        if form_id is not None and ApiKey.objects.filter(pk=key_id).exists():
            raise KeyExistsError
        row = ApiKey.objects.create(
            id=key_id,
            user=user,
            name=name,
            scope=scope,
            digest=digest_key(key),
            hint=hint_key(key),
            created_at=now,
            lifetime_days=lifetime_days,
            expires_at=None if lifetime_days is None else now + timedelta(days=lifetime_days),
        )
    audit.record("key_issued", user=user.pk, key=row.pk, scope=row.scope, days=lifetime_days or "unlimited")
    return row, key


@sensitive_variables("key")
def rotate_api_key(
    *, user: User, session: SignedInBy, key_id: uuid.UUID, form_id: uuid.UUID | None = None
) -> tuple[ApiKey, str]:
    """Returns a new key of the same name, scope and lifetime, and its row. The old key works for at most another day.

    With a `form_id`, repeating the call does not create two keys, as with `issue_api_key`.

    Raises UnknownKeyError and the errors of `issue_api_key`. KeyLimitReachedError is possible because during that day
    both keys are live and count.
    """
    with transaction.atomic():
        old = ApiKey.objects.lasting().select_for_update().filter(user=user, pk=key_id, revoked_at=None).first()
        if old is None:
            raise UnknownKeyError
        row, key = issue_api_key(
            user=user,
            session=session,
            form_id=form_id,
            name=old.name,
            scope=Scope(old.scope),
            lifetime_days=old.lifetime_days,
        )
        old.expires_at = _earliest(old.expires_at, clock.now() + ROTATION_GRACE)
        old.replaced = True
        old.save(update_fields=["expires_at", "replaced"])
    audit.record("key_rotated", user=user.pk, key=old.pk, by_key=row.pk)
    return row, key


def revoke_api_key(*, key_id: uuid.UUID, owner: User | None = None, by: User) -> None:
    """Revokes the key: the next request is refused. Raises UnknownKeyError if there is no such key (of `owner`)."""
    keys = ApiKey.objects.filter(pk=key_id, revoked_at=None)
    if owner is not None:
        keys = keys.filter(user=owner)
    if not keys.update(revoked_at=clock.now()):
        raise UnknownKeyError
    audit.record("key_revoked", key=key_id, by=by.pk)


def _check_key_limit(user: User, session: SignedInBy) -> None:
    """Raises KeyLimitReachedError or InvalidTokenError. Locks the user's row, so that two requests cannot both create
    the last key.

    SQLite has no row locks and needs none: its transactions here are IMMEDIATE, so there is one writer at a time.
    """
    lock_if_still_signed_in(user, session)
    if user.api_keys.live().lasting().count() >= LIMIT:
        raise KeyLimitReachedError(LIMIT)


def _make_id(user: User, form_id: uuid.UUID | None) -> uuid.UUID:
    """Returns the id of the key that this form of the user makes, or a random one.

    The visitor chooses the form's id. If it were the key's, an answer would tell whether another user has such a key.
    """
    return uuid.uuid4() if form_id is None else uuid.uuid5(user.pk, str(form_id))


def _earliest(expires_at: datetime | None, latest: datetime) -> datetime:
    return latest if expires_at is None else min(expires_at, latest)
