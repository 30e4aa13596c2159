"""A proxy before the real Docker engine that changes what the engine says about containers."""

import http.client
import io
import json
import re
from collections.abc import Callable
from typing import Any, cast

from tests.fakes.faulty_docker import FaultyDocker
from tests.fakes.raw_http import as_answer

_ABOUT_CONTAINERS = re.compile(rb"GET /(?:v[\d.]+/)?containers/(?:([^/?]+)/)?json[? ]")

Change = Callable[[Any], Any]
"""Takes the engine's answer and returns the one that Berth gets."""


class RewritingDocker(FaultyDocker):
    """`listed` changes lists of containers, and `inspected` the answer about one container."""

    listed: Change | None = None
    inspected: Change | None = None

    def _pass_on(self, request: bytes, write: Callable[[bytes], object]) -> None:
        found = _ABOUT_CONTAINERS.match(request)
        change = found and (self.inspected if found[1] else self.listed)
        if not change:
            super()._pass_on(request, write)
            return
        pieces: list[bytes] = []
        super()._pass_on(request, pieces.append)
        status, body = _read_answer(b"".join(pieces))
        if status == http.client.OK:
            body = json.dumps(change(json.loads(body))).encode()
        write(as_answer(str(status), body))


class _Received:
    """Stands for a socket from which everything has been received."""

    def __init__(self, received: bytes) -> None:
        self._received = received

    def makefile(self, *_: object) -> io.BytesIO:
        return io.BytesIO(self._received)


def _read_answer(received: bytes) -> tuple[int, bytes]:
    response = http.client.HTTPResponse(cast("Any", _Received(received)))
    response.begin()
    return response.status, response.read()
