"""Whether an address carries a credential. Pure."""

import re
from urllib.parse import unquote_plus

_IN_FRONT = re.compile(r"\s*[a-z][a-z0-9+.-]*://[^/?#\s]*@", re.IGNORECASE)
"""A user name or a password before the host."""

_ADDRESS = re.compile(r"\s*[a-z][a-z0-9+.-]*://[^\s?&#;]*(\S*)", re.IGNORECASE)
_PARAMETER = re.compile(r"[?&#;]([^?&#;=\s]+)=([^&#;\s]+)")

_NAME = re.compile(
    r"""(?xi) .*(?: token|secret|password|passwd|passphrase|pwd|credentials?|signature
                 | (?:api|app|access|auth|private|secret|subscription|license)[._-]?key )
        | auth|authorization|bearer|jwt|pass|sig"""
)
"""Names of parameters whose value is a credential: `api_key`, `tavilyApiKey`, `refresh_token`."""

_NUMBER = re.compile(r"[0-9]{1,9}")
"""The value of harmless parameters such as `page_token=2` and `max_token=500`."""

_ENDS_IN_KEY = re.compile(r".*key", re.IGNORECASE)
"""Names of parameters whose value may be a credential, like Google's `key`, or not, like `monkey` and `sort_key`."""

_RANDOM = re.compile(r"(?=.*[A-Za-z])(?=(?:[^0-9]*[0-9]+(?=[^0-9])){3}|[0-9a-fA-F-]{32,36}$)[A-Za-z0-9._~+/=%-]{20,}")
"""A value that looks random: at least 20 characters, in which letters and digits alternate."""


def holds_credential(text: str) -> bool:
    """Returns whether the text is an address with a credential in it.

    A parameter counts if its name looks like that of a credential, because such names have no other use.
    """
    found = _ADDRESS.match(text)
    if found is None:
        return False
    given = ((unquote_plus(name), value) for name, value in _PARAMETER.findall(found[1]))
    return _IN_FRONT.match(text) is not None or any(_is_credential(name, value) for name, value in given)


def _is_credential(name: str, value: str) -> bool:
    name = name.removesuffix("[]")
    if _NAME.fullmatch(name):
        return not (name.lower().endswith("token") and _NUMBER.fullmatch(value))
    return _ENDS_IN_KEY.fullmatch(name) is not None and _RANDOM.fullmatch(value) is not None
