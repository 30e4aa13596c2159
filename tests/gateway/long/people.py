"""The people who use a whole Berth while it is broken: a user who writes to an agent, and the agent's owner."""

import http.client
import random
import threading
import time
from collections import Counter
from contextlib import suppress
from itertools import count

from tests.e2e.service import EMAIL
from tests.try_out import PASSWORD, YOU, Trial
from tests.waiting import wait_until

PATIENCE = 300.0


class Talk:
    """Sends messages and waits for their answers, a few at a time."""

    def __init__(self, trial: Trial, chance: random.Random) -> None:
        self.trial = trial
        self.said = 0
        self.slowest = 0.0
        self._chance = chance
        self._others = sum(self.answers().values())

    def answers(self) -> "Counter[str]":
        return Counter(sent.text for sent in self.trial.telegram.sent(self.trial.bot_token))

    def go_on(self, is_over: threading.Event) -> None:
        while not is_over.wait(self._chance.uniform(0, 0.5)):
            self.say(self._chance.randint(1, 3))

    def say(self, messages: int) -> None:
        began = time.monotonic()
        for _ in range(messages):
            self.said += 1
            self.trial.telegram.say(self.trial.bot_token, YOU, f"message {self.said}.")
        wait_until(
            lambda: not self.lost(),
            within=PATIENCE,
            every=0.05,
            what=self._explain,
        )
        self.slowest = max(self.slowest, time.monotonic() - began)

    def _explain(self) -> str:
        """Returns where the unanswered messages were last seen."""
        trial, numbers = self.trial, self.unanswered()
        asked = [
            number for number in numbers if any(f"message {number}." in str(each) for each in trial.provider.asked())
        ]
        calls = [
            f"{call.method} {time.time() - call.at:.1f} s ago" for call in trial.telegram.calls(trial.bot_token)[-9:]
        ]
        logs = [trial.service.engine.logs(each, tail=40, timestamps=True) for each in trial.service.containers()]
        return (
            f"Unanswered: {numbers}; asked of the provider: {asked}; not fetched: "
            f"{trial.telegram.pending(trial.bot_token)}; last calls: {calls}\n"
            + "\n".join(log.decode(errors="replace") for log in logs)
        )

    def unanswered(self) -> list[int]:
        text = "\n".join(self.answers())
        return [number for number in range(1, self.said + 1) if f"message {number}." not in text]

    def excuses(self) -> int:
        """Returns the number of the agent's apologies, which it sends when its provider's answer was cut off."""
        return sum(times for text, times in self.answers().items() if "message " not in text) - self._others

    def lost(self) -> int:
        return max(0, len(self.unanswered()) - self.excuses())

    def repeated(self) -> int:
        answers = self.answers()
        return sum(
            max(0, sum(times for text, times in answers.items() if f"message {number}." in text) - 1)
            for number in range(1, self.said + 1)
        )


class Owner:
    """Keeps changing the agent's key, so that a kill may hit the gateway during any update."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        login = trial.service.call("POST", "/api/auth/login", {"email": EMAIL, "password": PASSWORD})
        self._token = login.json["token"]
        [project] = trial.service.call("GET", "/api/projects", token=self._token).json
        self._path = f"/api/projects/{project['id']}"

    def go_on(self, is_over: threading.Event) -> None:
        for number in count():
            if is_over.wait(1.5):
                return
            self.change_key(f"sk-whole-{number % 7}")

    def change_key(self, key: str) -> int:
        """Returns the status; 0 if the service does not answer."""
        self.trial.provider.add_key(key)
        with suppress(OSError, http.client.HTTPException, ValueError):
            return self.trial.service.call("PATCH", self._path, {"apiKey": key}, self._token).status
        return 0
