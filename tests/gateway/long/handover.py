"""Replaces one gateway after another, with kills between the steps, while agents keep working and the control side
keeps voiding and restoring a credential."""

import http.client
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.long.beside import going_on
from tests.gateway.long.scenes import Figures, answered
from tests.gateway.process import PATIENCE, Gateway
from tests.waiting import wait_until

WANTED = (401, 409)
"""The statuses that make an agent give up."""


class Places:
    """The current gateway and its successor: two containers with one state, at one address."""

    def __init__(self, first: Gateway, image: Path, folder: Path) -> None:
        self._image = image
        self._folder = folder
        self.at_work = first
        self.all = [first]
        self.faults: list[str] = []
        self.version = first.version

    def make(self, number: int) -> Gateway:
        folder = self._folder / f"gateway{number}"
        folder.mkdir()
        made = Gateway(self._image, folder)
        shared = ("GATEWAY_STATE", "GATEWAY_KEY_FILE", "GATEWAY_PORT", "GATEWAY_SUPERVISED")
        made.env |= {name: self.at_work.env[name] for name in shared}
        made.port = self.at_work.port
        self.all = [self.at_work, made]
        return made

    def say(self, agent: Agent, *, void: bool) -> None:
        """Repeats the command until the current gateway has confirmed it."""
        self.version += 1
        words = {"void": [agent.project]} if void else {"entries": [agent.entry()]}

        def is_told() -> bool:
            for gateway in self.all:
                with suppress(OSError, ValueError):
                    if gateway.ask("ping")["ready"]:
                        applied = gateway.ask("apply", version=self.version, **words)["applied"]
                        return bool(applied[agent.project] == self.version)
            return False

        wait_until(is_told, within=PATIENCE)


def end(gateway: Gateway, chance: random.Random) -> None:
    """Kills the worker process, which the supervisor replaces, or the whole container, which the engine restarts."""
    if gateway.is_gone:
        return
    child = int((Path(f"/proc/{gateway.pid}/task/{gateway.pid}/children").read_text().split() or ["0"])[0])
    is_whole = chance.random() < 0.5
    if is_whole:
        os.kill(gateway.pid, signal.SIGKILL)
    if child:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    if is_whole:
        gateway.kill()
        gateway.begin()


def hand_over(
    gateway: Gateway, image: Path, folder: Path, telegram: FakeTelegram, steady: Agent, switched: Agent, *,
    rounds: int, seed: int,
) -> Figures:  # fmt: skip
    """Returns the number of kills, and the longest time in seconds without an answer."""
    chance, places, said, kills = random.Random(seed), Places(gateway, image, folder), 0, 0
    silent: list[float] = []
    acts = [partial(_answer, steady, places, silent), partial(_switch, switched, places), partial(_watch, places)]
    try:
        with going_on(*acts):
            for number in range(rounds):
                said += 1
                telegram.say(steady.token, 5, f"message {said}")
                kills += _replace(places, number, chance)
            wait_until(lambda: len(answered(telegram, steady)) == said or bool(places.faults), within=PATIENCE)
    finally:
        for each in places.all:
            each.end()
    answers = answered(telegram, steady)
    assert not places.faults, places.faults
    assert len(answers) == said, (said, answers)
    repeated = sum(answers.values()) - said
    assert repeated <= kills + rounds
    return {
        "handovers": rounds, "killed": kills, "messages": said, "lost": said - len(answers), "repeated": repeated,
        "silent for at most": max(silent, default=0.0), "versions told": places.version,
    }  # fmt: skip


def _replace(places: Places, number: int, chance: random.Random) -> int:
    """Follows the steps of `containers/docker/gateway/replacement.py`. Returns the number of kills between them."""
    former, new, kills = places.at_work, places.make(number), 0
    steps: list[Callable[[], object]] = [
        new.begin,
        lambda: wait_until(lambda: is_ready(new) is not None, within=PATIENCE),
        former.end,
        lambda: wait_until(lambda: is_ready(new), within=PATIENCE),
    ]
    for at, step in enumerate(steps):
        step()
        if chance.random() < 0.4:
            end(new if at > 1 or chance.random() < 0.5 else former, chance)
            kills += 1
        time.sleep(chance.uniform(0, 0.1))  # wherever that hits it
    wait_until(lambda: is_ready(new), within=PATIENCE)
    places.at_work, places.all = new, [new]
    return kills


def is_ready(gateway: Gateway) -> bool | None:
    """Returns None while the gateway does not answer at all."""
    try:
        return bool(gateway.ask("ping")["ready"])
    except (OSError, ValueError):
        return None


def _answer(agent: Agent, places: Places, silent: list[float], is_over: threading.Event) -> None:
    """Runs a bot that confirms each message once it is answered. A status that would make it give up is a failure."""
    offset, last = 0, time.monotonic()
    while not is_over.is_set():
        with suppress(OSError, http.client.HTTPException, KeyError, ValueError):
            polled = agent.bot("getUpdates", timeout=1, offset=offset)
            if polled.status in WANTED:
                places.faults.append(f"a poll was answered {polled.status}")
            if polled.status == 200:
                silent.append(time.monotonic() - last - 1)
                last = time.monotonic()
            for update in polled.json()["result"]:
                sent = agent.bot("sendMessage", chat_id=5, text=update["message"]["text"])
                if sent.status != 200:
                    break
                offset = update["update_id"] + 1


def _switch(agent: Agent, places: Places, is_over: threading.Event) -> None:
    """Stops and starts the agent repeatedly, as its owner. Its credential must be void or valid at once."""
    while not is_over.is_set():
        for void in (True, False):
            places.say(agent, void=void)
            for _ in range(3):
                with suppress(OSError, http.client.HTTPException):
                    status = agent.bot("getMe").status
                    if (status == 200 and void) or (status == 401 and not void):
                        places.faults.append(f"void {void}: {status}")


def _watch(places: Places, is_over: threading.Event) -> None:
    while not is_over.wait(0.01):
        former, new = places.all[0], places.all[-1]
        # Ask again at the end, because the former gateway may have ended during the request.
        if former is not new and is_ready(former) and is_ready(new) and is_ready(former):
            places.faults.append("two were at work at a time")
