"""One spelling for each email address."""

import unicodedata


def normalise_email(email: str) -> str:
    """In Python, not in the database: SQLite's lower() knows ASCII only."""
    return unicodedata.normalize("NFKC", email).strip().casefold()
