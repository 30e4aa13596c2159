"""Sets up, checks and removes the second factor of a user, which is then required for every sign-in.

Setting it up ends every session that was opened without it, so every session of such a user has passed it.
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
from accounts.services.code_alarm import send_code_alarm
from accounts.services.still_signed_in import SignedInBy, lock_if_still_signed_in
from accounts.throttling.known_networks import forget_networks, remember_network
from accounts.throttling.login_attempts import are_codes_used_up, check_code_limit, reset_code_attempts

RECOVERY_CODES = 10


def has_second_factor(user: User) -> bool:
    return SecondFactor.objects.filter(user=user).exists()


@sensitive_variables("secret", "code", "codes")
def enrol_second_factor(
    *, user: User, session: SignedInBy, secret: str, code: str, address: str | None = None
) -> list[str]:
    """Returns the recovery codes, which are not stored. Ends all sessions; the caller keeps its own by renewing it.

    Raises WrongCodeError if the code does not prove that the app knows the secret, SecondFactorExistsError, and
    InvalidTokenError if `session`, or all sessions of the user, have ended since `user` was read.
    """
    step = matching_step(secret=secret, code=code)
    if step is None:
        raise WrongCodeError
    with transaction.atomic():
        locked = lock_if_still_signed_in(user, session)
        if has_second_factor(locked):
            raise SecondFactorExistsError
        ciphertext = encrypt_secret(secret, user_id=locked.pk)
        SecondFactor.objects.create(user=locked, secret_ciphertext=ciphertext, last_step=step)
        codes = _replace_recovery_codes(locked)
        remember_network(user=locked, address=address)
        locked.end_sessions()
        locked.save(update_fields=["session_version"])
    user.session_version = locked.session_version
    audit.record("second_factor_enrolled", user=user.pk)
    return codes


@sensitive_variables("code")
def check_second_factor(*, user: User, code: str, address: str | None) -> None:
    """Accepts a code of the app, or a recovery code. Each works once, even if two requests send it at the same moment.

    Raises TooManyAttemptsError before anything is checked, WrongCodeError, and SecondFactorUnreadableError if the
    secret cannot be read; only recovery codes are accepted then.
    """
    check_code_limit(user=user, address=address)
    try:
        correct = _consume_recovery_code(user, code) or _consume_app_code(user, code)
    except SecondFactorUnreadableError:
        audit.record("second_factor_unreadable", level=logging.ERROR, user=user.pk, address=address or "unknown")
        raise
    if not correct:
        audit.record("second_factor_failed", level=logging.WARNING, user=user.pk, address=address or "unknown")
        if are_codes_used_up(user=user, address=address):
            send_code_alarm(user=user, address=address)
        raise WrongCodeError
    reset_code_attempts(user=user, address=address)
    remember_network(user=user, address=address)


@sensitive_variables("codes")
def renew_recovery_codes(*, user: User, session: SignedInBy) -> list[str]:
    """Replaces all recovery codes, and returns the new ones. Raises InvalidTokenError as `enrol_second_factor` does."""
    with transaction.atomic():
        codes = _replace_recovery_codes(lock_if_still_signed_in(user, session))
    audit.record("recovery_codes_made", user=user.pk)
    return codes


def disable_second_factor(*, user: User, session: SignedInBy) -> None:
    """Removes the second factor for its user, whose password and code the caller has checked.

    Raises InvalidTokenError as `enrol_second_factor` does.
    """
    with transaction.atomic():
        _remove(lock_if_still_signed_in(user, session))
    audit.record("second_factor_turned_off", user=user.pk)


def reset_second_factor(*, user: User, by: User) -> None:
    """Removes the second factor of a user who lost the app and the recovery codes. Staff have verified the person."""
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
def _consume_app_code(user: User, code: str) -> bool:
    factor = SecondFactor.objects.filter(user=user).first()
    if factor is None:
        return False
    secret = decrypt_secret(factor.secret_ciphertext, user_id=factor.pk)
    step = matching_step(secret=secret, code=code, after=factor.last_step)
    if step is None:
        return False
    return SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step).update(last_step=step) > 0


@sensitive_variables("code")
def _consume_recovery_code(user: User, code: str) -> bool:
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
        forget_networks(user=user)
