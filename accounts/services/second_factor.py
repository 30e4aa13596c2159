"""The second factor of signing in: set up, asked for, turned off. Whoever has one signs in with it everywhere.

Setting it up ends every session that was opened without it, so that having a session means having passed it.
"""

import logging
from collections.abc import Iterator

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from accounts import audit
from accounts.credentials.one_time_codes import digest_recovery_code, make_recovery_code, matching_step
from accounts.credentials.second_factor_secrets import decrypt_secret, encrypt_secret
from accounts.errors import SecondFactorExistsError, SecondFactorUnreadableError, WrongCodeError
from accounts.models import RecoveryCode, SecondFactor, User
from accounts.throttling.login_attempts import check_code_limit, reset_code_attempts

RECOVERY_CODES = 10


def has_second_factor(user: User) -> bool:
    return SecondFactor.objects.filter(user=user).exists()


@sensitive_variables("secret", "code", "codes")
def enrol(*, user: User, secret: str, code: str) -> list[str]:
    """The recovery codes, never to be had again. All sessions end; the caller keeps its own by renewing it.

    Raises WrongCodeError until the app has proved to know the secret, and SecondFactorExistsError.
    """
    step = matching_step(secret=secret, code=code)
    if step is None:
        raise WrongCodeError
    with transaction.atomic():
        locked = User.objects.select_for_update().get(pk=user.pk)
        if has_second_factor(locked):
            raise SecondFactorExistsError
        ciphertext = encrypt_secret(secret, user_id=locked.pk)
        SecondFactor.objects.create(user=locked, secret_ciphertext=ciphertext, last_step=step)
        codes = _replace_recovery_codes(locked)
        locked.end_sessions()
        locked.save(update_fields=["session_version"])
    user.session_version = locked.session_version
    audit.record("second_factor_enrolled", user=user.pk)
    return codes


@sensitive_variables("code")
def check_second_factor(*, user: User, code: str, address: str | None) -> None:
    """Accepts a code of the app, or a recovery code: each one once, even if two requests bring it at the same moment.

    Raises TooManyAttemptsError before anything is checked, WrongCodeError, and SecondFactorUnreadableError: then only
    recovery codes are accepted.
    """
    check_code_limit(user=user)
    try:
        correct = _take_recovery_code(user, code) or _take_app_code(user, code)
    except SecondFactorUnreadableError:
        audit.record("second_factor_unreadable", level=logging.ERROR, user=user.pk, address=address or "unknown")
        raise
    if not correct:
        audit.record("second_factor_failed", level=logging.WARNING, user=user.pk, address=address or "unknown")
        raise WrongCodeError
    reset_code_attempts(user=user)


@sensitive_variables("codes")
def renew_recovery_codes(*, user: User) -> list[str]:
    """New ones, in place of all that are left."""
    with transaction.atomic():
        codes = _replace_recovery_codes(User.objects.select_for_update().get(pk=user.pk))
    audit.record("recovery_codes_made", user=user.pk)
    return codes


def turn_off(*, user: User) -> None:
    """The caller has checked the password and a code."""
    _remove(user)
    audit.record("second_factor_turned_off", user=user.pk)


def reset(*, user: User, by: User) -> None:
    """For somebody who has lost the app and the recovery codes, by staff who know whom they talk to."""
    _remove(user)
    audit.record("second_factor_reset", level=logging.WARNING, user=user.pk, by=by.pk)


def rotate_second_factors() -> Iterator[SecondFactor]:
    """Encrypts every secret again with the first of BERTH_ENCRYPTION_KEYS, one at a time. May be repeated.

    Raises SecondFactorUnreadableError.
    """
    for factor in SecondFactor.objects.order_by("pk").iterator(chunk_size=200):
        before = factor.secret_ciphertext
        after = encrypt_secret(decrypt_secret(before, user_id=factor.pk), user_id=factor.pk)
        SecondFactor.objects.filter(pk=factor.pk, secret_ciphertext=before).update(secret_ciphertext=after)
        yield factor


@sensitive_variables("code", "secret")
def _take_app_code(user: User, code: str) -> bool:
    factor = SecondFactor.objects.filter(user=user).first()
    if factor is None:
        return False
    secret = decrypt_secret(factor.secret_ciphertext, user_id=factor.pk)
    step = matching_step(secret=secret, code=code, after=factor.last_step)
    if step is None:
        return False
    return SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step).update(last_step=step) > 0


@sensitive_variables("code")
def _take_recovery_code(user: User, code: str) -> bool:
    deleted, _ = RecoveryCode.objects.filter(user=user, digest=digest_recovery_code(code)).delete()
    if deleted:
        left = RecoveryCode.objects.filter(user=user).count()
        audit.record("recovery_code_used", level=logging.WARNING, user=user.pk, left=left)
    return deleted > 0


@sensitive_variables("codes")
def _replace_recovery_codes(user: User) -> list[str]:
    codes = [make_recovery_code() for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.filter(user=user).delete()
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=digest_recovery_code(code)) for code in codes)
    return codes


def _remove(user: User) -> None:
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user).delete()
        SecondFactor.objects.filter(user=user).delete()
