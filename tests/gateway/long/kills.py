"""Kills parts of a whole Berth, and waits until they work again.

Each returns how many seconds the start of what was killed has taken, and for how many nobody was answered.
"""

import http.client
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tests.chaos.private_engine import PrivateEngine
from tests.e2e.on_engine import gateways_of
from tests.gateway.long.beside import going_on
from tests.gateway.long.people import PATIENCE, Talk
from tests.try_out import Trial
from tests.waiting import wait_until

LONG = 5.0
"""Seconds after which the gateway's log is shown, which says what its start has waited for."""

Kill = Callable[[], tuple[float, float]]


def kill_service(trial: Trial) -> tuple[float, float]:
    """Kills the service. Agents must be answered all the time."""
    trial.service.kill()
    began = time.monotonic()
    trial.service.start()
    return time.monotonic() - began, 0.0


def kill_part_or_all(trial: Trial, chance: random.Random) -> tuple[float, float]:
    is_whole = chance.random() < 0.5
    found = kill_gateway(trial, is_whole=is_whole)
    if is_whole:
        time.sleep(10)  # an engine waits longer and longer for a container that never runs for ten seconds
    return found


def kill_gateway(trial: Trial, *, is_whole: bool) -> tuple[float, float]:
    """Kills the worker process, which its supervisor replaces, or the whole container, which the engine restarts."""
    polls = trial.telegram.polls(trial.bot_token).count
    (gateway,) = gateways_of(trial.service)
    first = trial.service.engine.inspect_container(gateway)["State"]["Pid"]
    killed, killed_at = first if is_whole else last_child_of(first), time.time()
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{killed}").exists(), within=PATIENCE, every=0.002)
    start = start_of_gateway(trial, killed_at)
    wait_until(lambda: trial.telegram.polls(trial.bot_token).count > polls, within=PATIENCE, every=0.02)
    return start, time.time() - killed_at


def last_child_of(process: int) -> int:
    """Returns the worker process: the child of the supervisor, which is the child of the engine's init."""
    while children := Path(f"/proc/{process}/task/{process}/children").read_text().split():
        process = int(children[0])
    return process


def kill_engine(private: PrivateEngine | None, trial: Trial) -> tuple[float, float]:
    assert private is not None
    private.end(signal.SIGKILL)
    killed_at = time.time()
    private.start()
    polls = trial.telegram.polls(trial.bot_token).count
    start = start_of_gateway(trial, killed_at)
    wait_until(lambda: trial.telegram.polls(trial.bot_token).count > polls, within=PATIENCE, every=0.05)
    return start, time.time() - killed_at


def start_of_gateway(trial: Trial, killed_at: float) -> float:
    """Returns the seconds until the gateway answers, since the kill or since the engine restarted its container."""

    def answers() -> bool:
        (gateway,) = gateways_of(trial.service)
        networks = trial.service.engine.inspect_container(gateway)["NetworkSettings"]["Networks"]
        address = next(each["IPAddress"] for name, each in networks.items() if name.endswith("-gateway"))
        return bool(address) and ask_gateway(address)

    wait_until(answers, within=PATIENCE, every=0.01)
    answered_at = time.time()
    (gateway,) = gateways_of(trial.service)
    started = trial.service.engine.inspect_container(gateway)["State"]["StartedAt"]
    took = answered_at - max(killed_at, datetime.fromisoformat(f"{started[:26].rstrip('Z')}+00:00").timestamp())
    if took > LONG:
        sys.stderr.write(f"It was started at {started}, and answered {answered_at - killed_at:.1f} s after the kill.\n")
        sys.stderr.write(trial.service.engine.logs(gateway, tail=20, timestamps=True).decode())
    return took


def ask_gateway(address: str) -> bool:
    connection = http.client.HTTPConnection(address, 8080, timeout=1)
    try:
        connection.request("GET", "/")
        return bool(connection.getresponse().status)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def kill_in_mid_talk(trial: Trial) -> None:
    """Kills the gateway's process and then the service, which stays down. All messages must be answered."""
    talk = Talk(trial, random.Random(1))
    with going_on(lambda _: talk.say(2)):
        kill_gateway(trial, is_whole=False)
    with going_on(lambda _: talk.say(2)):
        trial.service.kill()
    assert talk.lost() == 0
    assert talk.repeated() <= 1
