"""Ciphertexts that the right key decrypts to plaintexts that the service never wrote."""

import json
from collections.abc import Mapping
from typing import Any

from cryptography.fernet import Fernet
from django.conf import settings

_WRONG_VALUES: list[Any] = [None, True, 5, 1.5, [], ["x"], {}, {"value": "x"}]
_NOT_JSON = [b"", b"\xff\xfe\xfd", b"{", b"no json", b'{"value": "x"', b"[" * 50_000]
_NO_OBJECTS: list[Any] = [None, True, 0, "x", [], [{"value": "x"}]]


def encrypt_bytes(plaintext: bytes) -> str:
    return Fernet(settings.BERTH_ENCRYPTION_KEYS[0]).encrypt(plaintext).decode()


def malformed_plaintexts(whole: Mapping[str, str]) -> list[bytes]:
    """Plaintexts that are not the JSON object `whole`:
    not JSON, not an object, a missing key, a value of a wrong type."""
    objects: list[Any] = [{}, {**whole, "more": "x"}]
    for name in whole:
        objects.append({key: value for key, value in whole.items() if key != name})
        objects += [{**whole, name: wrong} for wrong in _WRONG_VALUES]
    return [*_NOT_JSON, *(json.dumps(content).encode() for content in (*_NO_OBJECTS, *objects))]
