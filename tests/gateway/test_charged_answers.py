"""What an answer takes of the processor besides its pieces is charged to the project whose server wrote it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gateway.pipes import forwarding
from gateway.rules.rates import READING_SHARE

from tests.fakes.web import FakeWeb
from tests.gateway.test_servers import ask, at, tell
from tests.gateway.tunnelling import FAR, Running, run_gateway

pytestmark = pytest.mark.one_database

MORE_THAN_AT_ONCE = 2 * 5 * READING_SHARE
"""Seconds of processor time: twice what a project may use at once."""


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    yield from run_gateway(tmp_path, monkeypatch)


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    with FakeWeb(FAR) as fake:
        yield fake


def slow(do: Callable[..., Any]) -> Callable[..., Any]:
    def take_time(*given: Any, **options: Any) -> Any:
        until = time.thread_time() + MORE_THAN_AT_ONCE
        while time.thread_time() < until:
            pass
        return do(*given, **options)

    return take_time


@pytest.mark.parametrize("part", ["redact", "answer_headers"])
def test_a_project_whose_server_s_errors_take_long_to_redact_is_asked_to_come_later(
    running: Running, web: FakeWeb, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    (way,) = tell(running, at("tools.example.org", web, "/quoting"))
    assert [ask(running, f"{way}?status=403")[0] for _ in range(3)] == [403] * 3
    monkeypatch.setattr(forwarding, part, slow(getattr(forwarding, part)))
    assert [ask(running, f"{way}?status=403")[0] for _ in range(2)] == [403, 429]
