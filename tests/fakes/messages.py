"""Requests to a fake server and its answers, including faults."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: bytes = field(repr=False)
    gone: Callable[[], bool] = field(repr=False)  # has the client hung up?

    def fields(self) -> dict[str, Any]:
        """The parameters, no matter where the client put them: query, JSON, form or multipart.
        Raises ValueError for bad JSON."""
        kind = self.headers.get("content-type", "").lower()
        found: dict[str, Any] = dict(self.query)
        if "json" in kind and self.body:
            sent = json.loads(self.body)
            found.update(sent if isinstance(sent, dict) else {})
        elif "x-www-form-urlencoded" in kind:
            found.update(parse_qsl(self.body.decode(), keep_blank_values=True))
        elif "multipart/form-data" in kind:
            found.update(_multipart(self.headers["content-type"], self.body))
        return found


def _multipart(content_type: str, body: bytes) -> dict[str, str]:
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    parts = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        value = part.get_payload(decode=True)
        parts[str(name)] = value.decode(errors="replace") if isinstance(value, bytes) else ""
    return parts


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})

    @classmethod
    def json(cls, status: int, document: object, **headers: str) -> "Answer":
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls(status, json.dumps(document).encode(), {"Content-Type": "application/json", **named})


@dataclass(frozen=True)
class Streamed(Answer):
    """An answer that comes in pieces. They end early if the client hangs up."""

    pieces: Iterable[bytes] = ()


BAD_GATEWAY = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.18.0</center>\r\n</body>\r\n</html>\r\n"  # noqa: E501 - as it came


GARBAGE = Answer(200, b'\x00\xff{"ok": tru')


@dataclass
class Fault:
    """Replaces an answer. `answer=None` hangs until healed or until the client gives up."""

    answer: Answer | None
    only: str | None = None  # the method or kind of request it is for; None: all
    times: int | None = None  # None: until healed
