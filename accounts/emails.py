"""Normalises email addresses, and refuses those to which no mail can be sent."""

import unicodedata

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

LONGEST_EMAIL = 254
"""Characters, and bytes on the wire (RFC 5321, 4.5.3.1.3, without its brackets)."""


def normalise_email(email: str) -> str:
    """Returns the address without case differences. The database cannot do this: SQLite's lower() knows ASCII only."""
    return unicodedata.normalize("NFKC", email).strip().casefold()


def clean_email(email: str) -> str:
    """Returns the normalised address. Raises ValidationError if no mail can be sent to it.

    The address is checked as it will be stored, because normalising can make it longer or invalid. An international
    domain is checked in the form that mail servers receive. Invisible characters are refused, and so are encoded words,
    because mail libraries decode them and the mail would go to another address.
    """
    address = normalise_email(email)
    if len(address) > LONGEST_EMAIL:
        raise ValidationError("This email address is too long.", code="max_length")
    validate_email(address)
    if not address.isprintable() or "=?" in address:
        raise ValidationError("The email address contains characters that no address may have.", code="invalid")
    name, _, domain = address.rpartition("@")
    try:
        on_the_wire = f"{name}@{domain.encode('idna').decode('ascii')}"
    except UnicodeError:
        raise ValidationError("The part after the @ is not a domain name.", code="invalid") from None
    if not on_the_wire.isascii() or len(on_the_wire) > LONGEST_EMAIL:
        raise ValidationError("No mail can be sent to this address.", code="invalid")
    return address


def clean_own_email(email: str) -> str:
    """Returns the normalised address of someone who has entered it themselves. Raises ValidationError.

    Staff may enter an address of this machine or of a bare IP address. A stranger must not send mail there.
    """
    address = clean_email(email)
    domain = address.rpartition("@")[2]
    if domain.startswith("[") or domain.rpartition(".")[2] == "localhost":
        raise ValidationError("Give an address with a public domain, such as name@example.org.", code="invalid")
    return address
