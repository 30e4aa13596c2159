"""Removes credentials from a text that an upstream has written. Pure."""

import json
import re
from collections.abc import Collection

from agent_contract import redact_credentials
from gateway.pipes.leak_detector import forms_of

_ESCAPED = re.compile(r"(?<!\\)(\\++)u00([2-7][0-9A-Fa-f])")
"""A character that JSON need not escape, also inside JSON that is itself quoted. Upstreams choose the text, so a row of
backslashes is searched only once, from its beginning."""


def redact(body: bytes, secrets: Collection[str]) -> str:
    """Returns the text without these credentials and without anything that looks like one.

    Characters that JSON need not escape are written plainly before. Bytes of zero, which other encodings than UTF-8 put
    between letters, are left out.
    """
    text = _ESCAPED.sub(_unescape, body.decode(errors="replace").replace("\0", ""))
    for form in sorted(forms_of(secrets), key=len, reverse=True):
        text = text.replace(form, "[redacted]")
    return redact_credentials(text)


def _unescape(found: re.Match[str]) -> str:
    plain = json.dumps(chr(int(found[2], 16)))[1:-1]
    return plain if len(plain) == 1 or found[1] == "\\" else found[0]
