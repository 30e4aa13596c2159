"""The answers of a server to a client of the tests."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reply:
    """`status` is 0 if the connection broke."""

    status: int
    json: Any = None


def send(request: urllib.request.Request, *, within: float) -> Reply:
    try:
        with urllib.request.urlopen(request, timeout=within) as answer:
            return Reply(answer.status, _read(answer.read()))
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, _read(error.read()))


def _read(text: bytes) -> Any:
    return json.loads(text) if text else None
