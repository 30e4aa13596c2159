"""Gives each email address one spelling."""

import unicodedata


def normalise_email(email: str) -> str:
    """Returns the address without case differences. The database cannot do it: SQLite's lower() knows ASCII only."""
    return unicodedata.normalize("NFKC", email).strip().casefold()
