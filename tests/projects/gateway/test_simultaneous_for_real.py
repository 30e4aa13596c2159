"""The histories of `test_simultaneous.py` with the gateway's own process, which is killed between its commands and
before its answers.

Its view of each project then equals that of the gateway in memory, which gets the same messages.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from containers.errors import EngineUnavailableError
from containers.gateway.transport import NOT_THERE
from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.gateway.process import PATIENCE, Gateway
from tests.gateway.socket_transport import SocketTransport
from tests.gateway.unpacked import unpack_image
from tests.projects.gateway.acts import live
from tests.projects.gateway.test_kills import assert_true, begin, converge
from tests.projects.telling import FIRST, LAST, tell_in_the_same_thread

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

TURNS, KILLS = 4, 3
"""Turns of a history, and how often the process is killed in it."""


class RealGateway(MemoryGateway):
    """Sends each message to the process and to the gateway in memory."""

    def __init__(self, process: Gateway, chance: random.Random) -> None:
        super().__init__()
        self._process = process
        self._chance = chance
        self._transport = SocketTransport(Path(process.env["GATEWAY_SOCKET"]))
        self.kills = 0

    def restart(self) -> None:
        super().restart()
        self._process.kill()
        self._process.start()

    def answer(self, line: bytes) -> bytes:
        self._may_be_killed()
        said, own = self._transport.exchange(line, within=PATIENCE), super().answer(line)
        told, expected = json.loads(said), json.loads(own)
        assert told["ok"] == expected["ok"], (told, expected)
        if self._may_be_killed():
            raise EngineUnavailableError(NOT_THERE)  # its answer is lost
        return said

    def both_versions(self) -> Any:
        return [json.loads(each)["versions"] for each in self._ask_both({"do": "versions"})]

    def _ask_both(self, message: dict[str, Any]) -> tuple[bytes, bytes]:
        line = json.dumps(message).encode() + b"\n"
        return self._transport.exchange(line, within=PATIENCE), super().answer(line)

    def _may_be_killed(self) -> bool:
        is_killed = self.kills < KILLS and self._chance.random() < 0.15
        if is_killed:
            self.kills += 1
            self.restart()
        return is_killed


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Gateway]:
    process = Gateway(unpack_image(tmp_path / "image"), tmp_path).start()
    yield process
    process.kill()


@pytest.mark.rare(2)
@pytest.mark.sampled(10)
@pytest.mark.parametrize("number", range(20))
def test_the_gateway_process_holds_the_last_entry_of_each_project(
    number: int, process: Gateway, engine: MemoryEngine, deploy: Callable[..., Project], api: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    chance = random.Random(number)
    tell_in_the_same_thread(monkeypatch, chance.choice([FIRST, LAST]))
    real = RealGateway(process, chance)
    monkeypatch.setattr("tests.fakes.memory_gateway.MemoryGateway", lambda: real)
    key = str(begin(engine, deploy).pk)
    story = live(chance, engine, key, api, turns=TURNS)
    real.kills = KILLS
    converge()
    assert_true(engine, key)
    told, expected = real.both_versions()
    assert told == expected, "\n".join(story)
    real.restart()
    assert real.both_versions() == [expected, expected]
