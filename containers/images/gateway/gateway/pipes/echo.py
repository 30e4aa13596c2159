"""Finds the real credential in what an upstream answers."""

import json
from urllib.parse import quote


class Echo:
    """Looks for the real credential in an answer, wherever its pieces begin and end."""

    def __init__(self, *secrets: str) -> None:
        self._first, *self._others = (form.encode() for secret in secrets for form in forms_of(secret))
        self._kept = max(map(len, (self._first, *self._others))) - 1
        self._end = b""

    def is_in(self, piece: bytes) -> bool:
        joined = self._end + piece
        self._end = joined[-self._kept :] if self._kept else b""
        if self._first in joined:
            return True
        return bool(self._others) and any(other in joined for other in self._others)


def forms_of(secret: str) -> list[str]:
    """How a credential may be written: as it is, in JSON, and in an address. Of most of them all are the same."""
    in_json = json.dumps(secret)[1:-1]
    return list(dict.fromkeys((secret, in_json, in_json.replace("/", "\\/"), quote(secret, safe=""))))
