"""What a trial reads and removes on an engine. The engine is in memory here."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from containers.docker.trials import logs as trial_logs
from containers.docker.trials import runs as trials
from containers.docker.trials.payloads import agent_payload
from containers.errors import EngineRefusedError
from containers.outbound.call_limits import seconds_left
from containers.trial_servers.bot_api import Bot
from tests.containers.docker.scripted_engine import SPEC

pytestmark = pytest.mark.one_database


class Engine:
    """The part of a connection and its client that is used. `log` is what each container has printed."""

    def __init__(self, log: bytes = b"", *, ahead: float = 0, ages: tuple[float, ...] = ()) -> None:
        self.log = log
        self.limits: list[float | None] = []
        self.removed: list[str] = []
        self._now = time.time() + ahead
        self._rows = [{"Id": f"c{age:.0f}", "Created": self._now - age, "Labels": {}} for age in ages]

    @contextmanager
    def call(self, *_: Any, **__: Any) -> Iterator["Engine"]:
        self.limits.append(seconds_left())
        yield self

    def logs(self, *_: Any, stream: bool = False, tail: int = 0, **__: Any) -> Any:
        if stream:
            return (self.log[at : at + 1000] for at in range(0, len(self.log), 1000))
        return b"\n".join(self.log.splitlines()[-tail:])

    def containers(self, **_: Any) -> list[dict[str, Any]]:
        return self._rows

    def info(self) -> dict[str, str]:
        return {"SystemTime": datetime.fromtimestamp(self._now, UTC).isoformat()}

    def remove_container(self, container_id: str, **_: Any) -> None:
        self.removed.append(container_id)


def test_a_credential_in_the_first_line_of_a_long_log_is_read() -> None:
    engine: Any = Engine(b"the first\n" + b"line\n" * 5000)
    assert trial_logs.read_all(engine, "c")[0] == "the first"
    assert trial_logs.read_end(engine, "c") == ["line"] * 200


def test_both_ends_of_an_endless_log_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_logs, "LOG_BYTES", 5000)
    engine: Any = Engine(b"the first\n" + b"line\n" * 100_000 + b"the last\n")
    lines = trial_logs.read_all(engine, "c")
    assert (lines[0], lines[-1]) == ("the first", "the last")
    assert len(lines) < 2000


@pytest.mark.parametrize("ahead", [-7200, 0, 7200])
def test_remains_are_recognised_by_the_engine_s_clock(ahead: float) -> None:
    engine: Any = Engine(ahead=ahead, ages=(1, 590, 700))
    trials.Trial(engine, SPEC)._remove_left_behind()
    assert engine.removed == ["c700"]


def test_the_calls_of_a_run_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Any = Engine()
    monkeypatch.setattr(trials.Trial, "_find_image", refuse)
    with pytest.raises(EngineRefusedError):
        trials.Trial(engine, SPEC).run(token="t", key="k", within=14, grace=5)
    assert [limit and 30 < limit <= 40 for limit in engine.limits] == [True]


def refuse(_: object) -> str:
    raise EngineRefusedError("No image.")


def test_programs_can_be_run_in_the_data_of_a_trial() -> None:
    assert "exec" in agent_payload(SPEC, servers="c")["HostConfig"]["Tmpfs"]["/data"].split(",")


def test_a_polling_bot_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    bot = Bot("7:token")
    for _ in range(3):
        bot.call("7:token", "getupdates", {})
    assert capsys.readouterr().out.count("polled") == 1
