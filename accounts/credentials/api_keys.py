"""The format of API keys: `berth_`, 40 random base62 characters, and the CRC32 of both in 6 base62 characters.

The checksum finds typing errors without a query. It proves nothing; only the stored digest does.
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


def has_key_prefix(token: str) -> bool:
    return token.startswith(PREFIX)


def is_well_formed(key: str) -> bool:
    """Returns whether shape and checksum are right, so that the key is worth a query."""
    return bool(_SHAPE.fullmatch(key)) and _checksum(key[:-CHECKSUM_LENGTH]) == key[-CHECKSUM_LENGTH:]


def digest_key(key: str) -> str:
    """Returns the digest that is stored. A plain SHA-256 is enough for 238 random bits, and it is fast."""
    return hashlib.sha256(key.encode()).hexdigest()


def hint_key(key: str) -> str:
    """Returns the part of the key by which its owner recognises it: `berth_Ab…wxyz`."""
    return f"{key[: len(PREFIX) + 2]}…{key[-4:]}"


def _checksum(body: str) -> str:
    rest = zlib.crc32(body.encode())
    digits = []
    for _ in range(CHECKSUM_LENGTH):
        rest, digit = divmod(rest, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))
