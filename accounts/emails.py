"""Gives each email address one spelling, and refuses those to which no mail can be sent."""

import unicodedata

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

LONGEST_EMAIL = 254
"""Characters, and bytes on the wire (RFC 5321, 4.5.3.1.3, without its brackets)."""


def normalise_email(email: str) -> str:
    """Returns the address without case differences. The database cannot do it: SQLite's lower() knows ASCII only."""
    return unicodedata.normalize("NFKC", email).strip().casefold()


def clean_email(email: str) -> str:
    """Returns the address in its one spelling. Raises ValidationError for one to which no mail can be sent.

    It is checked as it will be stored: the one spelling may be longer, or be no address any more. A domain of other
    scripts is checked in the form that mail servers get. Refused are characters that nobody sees, and encoded words:
    mail libraries decode those, so that the mail would go to another address.
    """
    address = normalise_email(email)
    if len(address) > LONGEST_EMAIL:
        raise ValidationError("This email address is too long.", code="max_length")
    validate_email(address)
    if not address.isprintable() or "=?" in address:
        raise ValidationError("The email address holds characters that no address has.", code="invalid")
    name, _, domain = address.rpartition("@")
    try:
        on_the_wire = f"{name}@{domain.encode('idna').decode('ascii')}"
    except UnicodeError:
        raise ValidationError("The part after the @ is no domain name.", code="invalid") from None
    if not on_the_wire.isascii() or len(on_the_wire) > LONGEST_EMAIL:
        raise ValidationError("No mail can be sent to this address.", code="invalid")
    return address
