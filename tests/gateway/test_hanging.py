"""A gateway that stands still, or whose event loop is blocked, is replaced, and no budget is overspent meanwhile."""

import http.client
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.conftest import new_agent
from tests.gateway.long.beside import going_on
from tests.gateway.process import PATIENCE, Gateway
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

BUDGET = 1500

BEFORE_ALL = """
import signal, time
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(3600))
from gateway.serving import supervisor
supervisor.UNBEATEN_LOOKS = 4
"""
"""Python runs this in the gateway's process first. A handler of a signal runs in the thread of the event loop."""


@pytest.fixture
def supervised(own_gateway: Gateway, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway as in its container, which gives up a child sooner. Its child would outlive a kill."""
    first = tmp_path / "first"
    first.mkdir()
    (first / "sitecustomize.py").write_text(BEFORE_ALL)
    path = f"{first}:{own_gateway.env['PYTHONPATH']}"
    own_gateway.env |= {"GATEWAY_SUPERVISED": "1", "PYTHONPATH": path}
    yield own_gateway.start()
    if not own_gateway.is_gone and (child := child_of(own_gateway)):
        os.kill(child, signal.SIGKILL)
        own_gateway.end()


def child_of(gateway: Gateway) -> int:
    return int(Path(f"/proc/{gateway.pid}/task/{gateway.pid}/children").read_text() or 0)


def keep_asking(agent: Agent, is_over: threading.Event) -> None:
    while not is_over.is_set():
        with suppress(OSError, http.client.HTTPException):
            agent.chat("Go on.", stream=True, max_tokens=40)


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGUSR1])
def test_a_hanging_gateway_is_replaced_and_overspends_no_budget(
    supervised: Gateway, telegram: FakeTelegram, provider: StreamingProvider, number: signal.Signals
) -> None:
    agent = new_agent(supervised, telegram, provider)
    supervised.apply(agent.entry(budget={"day_tokens": BUDGET}))
    provider.words = 20
    with going_on(*[partial(keep_asking, agent)] * 3):
        wait_until(lambda: provider.sold() > 0, within=PATIENCE)
        hung = child_of(supervised)
        os.kill(hung, number)
        wait_until(lambda: child_of(supervised) not in {0, hung}, within=PATIENCE, what=str(supervised.lines))
        wait_until(lambda: agent.bot("getMe").status == 200, within=PATIENCE)
        wait_until(agent.budget_reached, within=PATIENCE)
    assert 0 < provider.sold() <= BUDGET
    assert any("does not go on" in line for line in supervised.lines)
    spent = sum(row["input"] + row["output"] for row in supervised.usage(agent.project))
    assert provider.sold() <= spent <= BUDGET
    assert supervised.stop() in {0, 128 + signal.SIGTERM}
