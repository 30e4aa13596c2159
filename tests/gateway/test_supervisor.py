"""The gateway's supervisor: a signal at any moment ends the child, and nothing else."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from containers.docker_api.building.image_build import GATEWAY
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

START = "import sys; from gateway.serving.supervisor import supervise; "
CALM = START + "import signal; sys.exit(supervise(lambda: (print('up', flush=True), signal.pause())))"
RESTLESS = START + "import os; sys.exit(supervise(lambda: os.kill(os.getpid(), 9)))"
SIGNALLED_BEFORE = (
    START + "import os, signal; from gateway.serving import supervisor\n"
    "supervisor.gc.freeze = lambda: os.kill(os.getpid(), signal.SIGTERM)\n"
    "sys.exit(supervise(lambda: signal.pause()))"
)


def start(program: str) -> subprocess.Popen[str]:
    """In a process group of its own, so that a signal to a whole group would not end the tests."""
    environment = os.environ | {"PYTHONPATH": str(GATEWAY.folder)}
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def result(process: subprocess.Popen[str]) -> int:
    try:
        return process.wait(20)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_end_it_ends_the_child_and_then_the_parent(number: signal.Signals) -> None:
    process = start(CALM)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.send_signal(number)
    assert result(process) == 128 + number


def test_a_signal_before_the_first_child_is_kept_and_reaches_no_other_process() -> None:
    assert result(start(SIGNALLED_BEFORE)) == 128 + signal.SIGTERM


def test_the_agents_socket_is_closed_once_before_the_last_child_is_asked_to_end() -> None:
    """While it is open, agents wait for the next child."""
    process = start(CALM.replace("signal.pause())", "signal.pause()), end=lambda: print('closed', flush=True)"))
    assert process.stdout is not None
    process.stdout.readline()
    os.kill(int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()), signal.SIGKILL)
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "closed\n"
    assert process.stdout.read() == ""
    assert result(process) == 128 + signal.SIGTERM


def test_a_paused_child_has_not_ended() -> None:
    process = start(CALM)
    assert process.stdout is not None
    process.stdout.readline()
    child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
    os.kill(child, signal.SIGSTOP)
    os.kill(child, signal.SIGCONT)
    time.sleep(0.1)
    assert process.poll() is None
    os.kill(child, signal.SIGKILL)
    assert process.stdout.readline() == "up\n"  # another one
    process.send_signal(signal.SIGTERM)
    assert result(process) == 128 + signal.SIGTERM


BEATING = START + (
    "import os, time; from gateway.serving import heartbeat, supervisor\n"
    "supervisor.EVERY, supervisor.UNBEATEN_LOOKS, beats = 0.05, 10, heartbeat.Heartbeat()\n"
    "def run():\n"
    "    print(os.getpid(), flush=True)\n"
    "    while True: beats.beat(); time.sleep(0.05)\n"
    "sys.exit(supervise(run, heartbeat=beats))"
)


def test_a_child_that_hangs_is_replaced() -> None:
    process = start(BEATING)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    time.sleep(0.3)
    os.kill(child, signal.SIGSTOP)
    assert int(process.stdout.readline()) != child
    process.send_signal(signal.SIGTERM)
    assert result(process) == 128 + signal.SIGTERM


def test_a_pause_of_both_and_a_child_that_never_beats_are_no_hang() -> None:
    process = start(BEATING)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGCONT)
    assert Path(f"/proc/{child}").exists()
    process.send_signal(signal.SIGTERM)
    assert process.stdout.read() == ""
    assert result(process) == 128 + signal.SIGTERM


def test_the_supervisor_ends_if_every_child_is_killed() -> None:
    process = start(RESTLESS)
    wait_until(lambda: process.poll() is not None)
    assert result(process) == 128 + signal.SIGKILL
