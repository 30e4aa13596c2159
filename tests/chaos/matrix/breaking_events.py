"""An engine that reports what has not happened, as a faulty proxy or a wrong clock makes it do."""

import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.chaos.matrix.installation import Installation

_EVENT = re.compile(rb'\{"status":[^\n]*\}(?=\n)')
_END = b"}\n\r\n"
"""Of a piece of a chunked stream that ends with a whole event."""

ACTIONS = ("start", "die", "stop", "kill", "oom", "destroy", "pause", "rename", "health_status: unhealthy")
SHIFTS = (0, -3600, 3600)
"""Seconds by which its time is wrong."""
EXITS = ("0", "1", "20", "137")


class FalseEvents:
    """After each true event of a container, the stream has a false one about it."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def request(self, text: bytes) -> bytes:
        return text

    def answer(self, text: bytes) -> bytes:
        if not text.endswith(_END):
            return text
        false = [self._falsify(json.loads(each)) for each in _EVENT.findall(text)]
        return b"".join([text, *(b"%x\r\n%b\r\n" % (len(each), each) for each in false)])

    def _falsify(self, event: dict[str, Any]) -> bytes:
        action, by = self._chance.choice(ACTIONS), self._chance.choice(SHIFTS)
        event |= {"status": action, "Action": action, "time": event["time"] + by}
        event["timeNano"] += by * 10**9
        if action == "die":
            event["Actor"]["Attributes"]["exitCode"] = self._chance.choice(EXITS)
        return json.dumps(event, separators=(",", ":")).encode() + b"\n"


@contextmanager
def events_false(installation: Installation) -> Iterator[None]:
    installation.proxy.clock = FalseEvents(random.Random())
    try:
        yield
    finally:
        installation.proxy.clock = None
