"""Whether an address carries a credential. Pure."""

import re

_IN_FRONT = re.compile(r"\s*[a-z][a-z0-9+.-]*://[^/?#\s]*@", re.IGNORECASE)
"""A name or a password in front of the host."""

_NAMES = r"(?:api|access|auth|private|secret)?[._-]?(?:key|token|secret|password|passwd|pwd)|auth|authorization"
_IN_QUERY = re.compile(rf"\s*[a-z][a-z0-9+.-]*://[^\s]*[?&#;](?:{_NAMES})=[^&#;\s]", re.IGNORECASE)


def holds_credential(text: str) -> bool:
    """Of a text that is an address. What looks like a credential counts: nobody needs such a name for anything else."""
    return _IN_FRONT.match(text) is not None or _IN_QUERY.match(text) is not None
