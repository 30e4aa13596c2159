"""Only one of two gateways with the same state serves at a time, and a killed one is replaced
before an agent notices.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gateway.serving.supervisor import MOST

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.conftest import new_agent
from tests.gateway.long.handover import hand_over, is_ready
from tests.gateway.process import PATIENCE, Gateway
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


@pytest.fixture
def successor(gateway_image: Path, own_gateway: Gateway, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway with the same state, key and address, not started."""
    (tmp_path / "successor").mkdir()
    successor = Gateway(gateway_image, tmp_path / "successor")
    for name in ("GATEWAY_STATE", "GATEWAY_KEY_FILE", "GATEWAY_PORT"):
        successor.env[name] = own_gateway.env[name]
    successor.port = own_gateway.port
    yield successor
    successor.kill()


def test_a_successor_waits_for_its_predecessor_and_knows_its_last_entries(
    own_gateway: Gateway, successor: Gateway, telegram: FakeTelegram, provider: StreamingProvider,
    threads: ThreadPoolExecutor,
) -> None:  # fmt: skip
    own_gateway.start()
    assert is_ready(own_gateway)
    successor.begin()
    wait_until(lambda: is_ready(successor) is False, within=PATIENCE)
    assert successor.stop() == 0, "It may end before its turn."
    successor.begin()
    wait_until(lambda: is_ready(successor) is False, within=PATIENCE)
    asked = threads.submit(successor.ask, "versions")
    agent = new_agent(own_gateway, telegram, provider)  # sent after the successor had started
    assert agent.bot("getMe").status == 200
    assert own_gateway.stop() == 0
    assert asked.result(PATIENCE)["versions"] == {agent.project: {"version": 1, "void": False}}
    assert is_ready(successor)
    assert agent.bot("getMe").status == 200


def test_polls_continue_while_the_last_provider_answers_are_awaited(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider, threads: ThreadPoolExecutor
) -> None:
    own_gateway.env["GATEWAY_LAST_ANSWERS"] = str(PATIENCE)
    agent = new_agent(own_gateway.start(), telegram, provider)
    poll = threads.submit(agent.bot, "getUpdates", timeout=50)
    telegram.wait_for_poll(agent.token, timeout=PATIENCE)
    provider.gate.clear()
    last = threads.submit(agent.chat, stream=True)
    wait_until(lambda: provider.sales, within=PATIENCE)
    ending = threads.submit(own_gateway.stop)
    wait_until(lambda: agent.chat().status == 503, within=PATIENCE)
    assert not poll.done()
    provider.gate.set()
    assert last.result(PATIENCE).body.endswith(b"data: [DONE]\n\n")
    assert poll.result(PATIENCE).json() == {"ok": True, "result": []}
    assert ending.result(PATIENCE) == 0


@pytest.mark.rare(2)
def test_a_handover_survives_kills_between_its_steps(
    own_gateway: Gateway, gateway_image: Path, tmp_path: Path, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    """A sample of `python -m tests.gateway.long`."""
    own_gateway.env["GATEWAY_SUPERVISED"] = "1"
    own_gateway.start()
    agents = [new_agent(own_gateway, telegram, provider) for _ in range(2)]
    figures = hand_over(own_gateway, gateway_image, tmp_path, telegram, *agents, rounds=2, seed=3)
    assert figures["killed"] >= 2, "Take another seed."


def child_of(gateway: Gateway) -> int:
    """Returns 0 if there is none at the moment."""
    found = Path(f"/proc/{gateway.pid}/task/{gateway.pid}/children").read_text().split()
    return int(found[0]) if found else 0


def test_a_killed_child_is_restarted_in_the_same_container(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    own_gateway.env["GATEWAY_SUPERVISED"] = "1"
    agent = new_agent(own_gateway.start(), telegram, provider)
    first, parent = child_of(own_gateway), own_gateway.pid
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: child_of(own_gateway) != first, within=PATIENCE)
    assert agent.bot("getMe").status == 200, "Who comes meanwhile waits, and is not refused."
    wait_until(lambda: is_ready(own_gateway), within=PATIENCE)
    assert own_gateway.pid == parent
    last = child_of(own_gateway)
    assert own_gateway.stop() == 0
    assert not Path(f"/proc/{last}").exists()


ENDS = {
    "sys.exit(40)": (40, 1),
    "None": (0, 1),
    "1 / 0": (1, 1),
    "os.kill(os.getpid(), 9)": (137, MOST + 1),
    "os.kill(os.getppid(), 15) or time.sleep(100)": (143, 1),
}
"""Returns what a child does, the parent's exit code, and the number of children."""


@pytest.mark.parametrize("deed", ENDS)
def test_the_container_ends_with_its_child_only_after_repeated_kills(
    deed: str, gateway_image: Path, tmp_path: Path
) -> None:
    script = (
        "import os, sys, time\n"
        "from gateway.serving.supervisor import supervise\n"
        "def run():\n"
        f"    open({str(tmp_path / 'children')!r}, 'a').write('x')\n"
        f"    {deed}\n"
        "sys.exit(supervise(run))\n"
    )
    env = {"PYTHONPATH": str(gateway_image)}
    ended = subprocess.run([sys.executable, "-c", script], check=False, env=env, capture_output=True, timeout=PATIENCE)
    assert (ended.returncode, len((tmp_path / "children").read_text())) == ENDS[deed], ended.stderr
