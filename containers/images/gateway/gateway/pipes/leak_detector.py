"""Finds the real credential in an upstream's answer."""

import json
from collections.abc import Iterable
from urllib.parse import quote

SECONDS_PER_FORM = 5e-9
"""Processor time to look for one more form in a byte, at worst: in a text that nearly contains it everywhere."""


class LeakDetector:
    """Looks for credentials in the pieces of an answer, even if a credential is split between pieces."""

    def __init__(self, *secrets: str) -> None:
        self._first, *self._others = (form.encode() for form in forms_of(secrets))
        self.seconds_per_byte = SECONDS_PER_FORM * len(self._others)
        """Processor time to look for all forms but one, which passing on a byte includes."""
        self._overlap = max(map(len, (self._first, *self._others))) - 1
        self._tail = b""
        self._spans_lines = any(b"\n" in form for form in (self._first, *self._others))

    def is_completed_by(self, piece: bytes) -> bool:
        """Whether a credential ends within this piece. Must be called with every piece, in order."""
        joined = self._tail + piece if self._tail else piece
        if joined.endswith(b"\n") and not self._spans_lines:
            self._tail = b""
        else:
            self._tail = joined[-self._overlap :] if self._overlap else b""
        if self._first in joined:
            return True
        return bool(self._others) and any(other in joined for other in self._others)


def forms_of(secrets: Iterable[str]) -> list[str]:
    """Returns the distinct ways to write these credentials: as they are, in JSON and in a URL. Most have one.

    Leaves out those that contain another one. Where one of these is, so is what it contains.
    """
    forms = []
    for secret in secrets:
        in_json = json.dumps(secret)[1:-1]
        forms += [secret, in_json, in_json.replace("/", "\\/"), quote(secret, safe="")]
    distinct = list(dict.fromkeys(forms))
    return [form for form in distinct if not any(other in form for other in distinct if other != form)]
