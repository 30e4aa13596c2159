"""The codes of a second factor: those of an authenticator app (RFC 6238), and recovery codes for users who lost it.

django-otp computes the codes. Its devices are not used: they store secrets and recovery codes in plain text, and they
compare a code with the last accepted one before they write, so that two simultaneous requests can use one code.
"""

import base64
import hashlib
import re
import secrets
from urllib.parse import quote, urlencode

from django.views.decorators.debug import sensitive_variables
from django_otp.oath import TOTP  # type: ignore[import-untyped]  # has no stubs

from accounts.qr_code import draw_qr_code

ISSUER = "Berth"
DIGITS = 6
PERIOD = 30
"""In seconds. Every app supports this period, SHA-1 and six digits; some ignore other values."""
TOLERANCE = 1
"""How many codes before and after the current one are also accepted, because clocks differ and people type slowly."""

_RECOVERY_LENGTH = 24  # of 5 bits each: a plain digest is safe to store from 112 bits on (ASVS 6.5.2)
_RECOVERY_GROUP = 6
_APP_CODE = re.compile(rf"[0-9]{{{DIGITS}}}")


def make_secret() -> str:
    """Returns 160 random bits, as RFC 4226 recommends, in the base32 that people type into an app."""
    return base64.b32encode(secrets.token_bytes(20)).decode()


@sensitive_variables("text", "key")
def is_secret(text: str) -> bool:
    """Returns whether codes can be computed from the text, as from the secrets that `make_secret` returns."""
    try:
        key = base64.b32decode(text)
    except ValueError:
        return False
    return bool(key)


@sensitive_variables("secret")
def enrolment_url(*, email: str, secret: str) -> str:
    """Returns the URL that the QR code contains for the app."""
    query = urlencode({"secret": secret, "issuer": ISSUER, "algorithm": "SHA1", "digits": DIGITS, "period": PERIOD})
    return f"otpauth://totp/{ISSUER}:{quote(email, safe='@')}?{query}"


@sensitive_variables("secret")
def draw_enrolment(*, email: str, secret: str) -> bytes:
    """Returns the QR code as an SVG."""
    return draw_qr_code(enrolment_url(email=email, secret=secret))


@sensitive_variables("secret", "code")
def matching_step(*, secret: str, code: str, after: int = 0) -> int | None:
    """Returns the number of the code's period. Returns None if the code is not current or its period is not after
    `after`.
    """
    digits = _normalise(code)
    if not _APP_CODE.fullmatch(digits):
        return None
    clock = TOTP(base64.b32decode(secret), step=PERIOD, digits=DIGITS)
    matches: bool = clock.verify(int(digits), tolerance=TOLERANCE, min_t=after + 1)
    return int(clock.t()) if matches else None


def make_recovery_code() -> str:
    """Returns 120 random bits in a form that people can read out: `k3jx7q-…`."""
    letters = base64.b32encode(secrets.token_bytes(_RECOVERY_LENGTH * 5 // 8)).decode().lower()
    return "-".join(re.findall(f".{{{_RECOVERY_GROUP}}}", letters))


@sensitive_variables("code")
def digest_recovery_code(code: str) -> str:
    """Returns the digest that is stored. Letter case, spaces and hyphens make no difference."""
    return hashlib.sha256(_normalise(code).encode()).hexdigest()


def _normalise(code: str) -> str:
    return re.sub(r"[\s-]", "", code).casefold()
