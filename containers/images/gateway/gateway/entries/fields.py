"""Reads typed values from a JSON document. Each function raises EntryError for any other value. Pure."""

import re
from typing import Any
from urllib.parse import urlsplit

DIGEST = re.compile(r"[0-9a-f]{64}")
HEADER_SAFE = re.compile(r"[\x21-\x7e]{1,4096}")


class EntryError(ValueError):
    """The control side has sent an invalid entry. The message says what is wrong, and quotes no value."""


def read_object(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise EntryError(f"{name} must be a JSON object.")
    return value


def read_strings(value: object, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise EntryError(f"{name} must be a list of strings.")
    return value


def read_numbers(value: object, name: str, known: tuple[str, ...]) -> dict[str, int]:
    given = {key: number for key, number in read_object(value, name).items() if number is not None}
    for key, number in given.items():
        if key not in known or isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**53:
            raise EntryError(f"{name} has an unknown name, or a value that is not a whole number from 0.")
    return given


def read_matching(value: object, pattern: re.Pattern[str], name: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise EntryError(f"{name} is missing or malformed.")
    return value


def read_base(value: object) -> str:
    text = str(value).rstrip("/")
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or "?" in text or "#" in text or "@" in text or not HEADER_SAFE.fullmatch(text):
        raise EntryError("base is not an http or https URL without query, fragment and login.")
    return text
