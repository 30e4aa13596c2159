"""The second factor of signing in: set up, asked for, turned off. Whoever has one signs in with it everywhere.

Setting it up ends every session that was opened without it, so that having a session means having passed it.
"""

import logging
from collections.abc import Iterator

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from accounts import audit
from accounts.credentials.encryption import seal, unseal
from accounts.credentials.one_time_codes import digest_recovery_code, make_recovery_code, matching_step
from accounts.errors import SecondFactorExistsError, WrongCodeError
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
        sealed = seal(user_id=locked.pk, value=secret)
        SecondFactor.objects.create(user=locked, sealed_secret=sealed, last_step=step)
        codes = _replace_recovery_codes(locked)
        locked.end_sessions()
        locked.save(update_fields=["session_version"])
    user.session_version = locked.session_version
    audit.record("second_factor_enrolled", user=user.pk)
    return codes


@sensitive_variables("code")
def check_second_factor(*, user: User, code: str, address: str | None) -> None:
    """Take the code of the app, or a recovery code: each one once, even where two come at the same moment.

    Raises WrongCodeError, and TooManyAttemptsError before anything is checked.
    """
    check_code_limit(user=user)
    if not _take_app_code(user, code) and not _take_recovery_code(user, code):
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


def reseal_second_factors() -> Iterator[SecondFactor]:
    """Write every secret anew with the first of BERTH_ENCRYPTION_KEYS, one at a time; may be repeated."""
    for factor in SecondFactor.objects.order_by("pk").iterator(chunk_size=200):
        before = factor.sealed_secret
        after = seal(user_id=factor.pk, value=unseal(user_id=factor.pk, sealed=before))
        SecondFactor.objects.filter(pk=factor.pk, sealed_secret=before).update(sealed_secret=after)
        yield factor


@sensitive_variables("code", "secret")
def _take_app_code(user: User, code: str) -> bool:
    factor = SecondFactor.objects.filter(user=user).first()
    if factor is None:
        return False
    secret = unseal(user_id=factor.pk, sealed=factor.sealed_secret)
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
