"""The format of API keys: `berth_`, 40 random base62 characters, 6 base62 characters of the CRC32 of all before.

The checksum tells a typing error from a key without a query; it proves nothing. What proves is the digest.
"""

import hashlib
import re
import secrets
import string
import zlib

PREFIX = "berth_"
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_LENGTH = 40  # 238 bits
CHECKSUM_LENGTH = 6  # 62**6 > 2**32
_SHAPE = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{RANDOM_LENGTH + CHECKSUM_LENGTH}}}")


def make_key() -> str:
    body = PREFIX + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))
    return body + _checksum(body)


def claims_to_be_key(token: str) -> bool:
    return token.startswith(PREFIX)


def is_well_formed(key: str) -> bool:
    """True when shape and checksum fit, so that it is worth a query."""
    return bool(_SHAPE.fullmatch(key)) and _checksum(key[:-CHECKSUM_LENGTH]) == key[-CHECKSUM_LENGTH:]


def digest_key(key: str) -> str:
    """What is stored. A plain SHA-256 is enough for 238 random bits, and costs a request nothing."""
    return hashlib.sha256(key.encode()).hexdigest()


def hint_key(key: str) -> str:
    """Enough for its owner to recognise it, too little to matter: `berth_Ab…wxyz`."""
    return f"{key[: len(PREFIX) + 2]}…{key[-4:]}"


def _checksum(body: str) -> str:
    rest = zlib.crc32(body.encode())
    digits = []
    for _ in range(CHECKSUM_LENGTH):
        rest, digit = divmod(rest, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))
