"""Reads the virtual credential from the headers of a call to a provider. Pure."""

from collections.abc import Iterable

PLACES = ("authorization", "x-api-key", "api-key")
LONGEST = 512


def read_credential(headers: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Returns the credential and the name of its header, or None if there is not exactly one.

    Two equal credentials count as two, because another reader could take a different one of them.
    """
    found = [(name.lower(), value) for name, value in headers if name.lower() in PLACES]
    if len(found) != 1:
        return None
    name, value = found[0]
    if name == "authorization":
        scheme, _, value = value.partition(" ")
        if scheme.lower() != "bearer":
            return None
    value = value.strip()
    return (value, name) if value and len(value) <= LONGEST and value.isascii() and value.isprintable() else None
