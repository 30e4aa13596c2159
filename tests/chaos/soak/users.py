"""Users who send random commands, one after another."""

import random
import threading
import time
from collections import Counter
from typing import Any

from tests.chaos.database.requests import Answer, Client
from tests.chaos.matrix.installation import Installation
from tests.chaos.matrix.verbs import control, find_wrong

PAUSE = 1.5
"""Seconds between two commands of a user, on average."""

SLEEPY = {"instructions": "sleepy"}
"""Options of stubs that rarely check what they must do, because sixty of the others would keep the machine busy."""

COMMANDS = {
    "list": 6,
    "detail": 6,
    "start": 3,
    "stop": 3,
    "restart": 3,
    "patch": 2,
    "delete": 1,
    "follow": 1,
    "events": 2,
}
"""The weights of the commands that need a project."""


class SoakUser:
    """Keeps about `agents` projects. `wrong` has the answers that must never come."""

    def __init__(self, installation: Installation, key: str, *, agents: int, seed: str, pause: float = PAUSE) -> None:
        self._installation = installation
        self.client = self._client = Client(port=installation.service.port, key=key, cookies={})
        self._agents = agents
        self._pause = pause
        self._chance = random.Random(seed)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self.sent: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.reads: list[tuple[float, float]] = []
        """When a list was requested, and the seconds that it took."""

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join(120)

    def _live(self) -> None:
        while not self._ended.wait(self._chance.uniform(0, 2 * self._pause)):
            try:
                self._act()
            except Exception as error:  # noqa: BLE001 - the tool's own faults belong to the report
                self.wrong.append(repr(error))

    def _act(self) -> None:
        began = time.monotonic()
        listed = self._note("list", self._client.send("GET", "/api/projects"))
        if listed.status != 200:
            return
        self.reads.append((began, listed.seconds))
        projects = listed.json
        # There are more projects than wanted after a creation whose answer was lost.
        if len(projects) < self._agents:
            body = self._installation.new_body("Soak", settings=SLEEPY)
            self._note("create", self._client.send("POST", "/api/projects", body))
        elif len(projects) > self._agents:
            self._do("delete", self._chance.choice(projects))
        else:
            self._do(self._chance.choices([*COMMANDS], [*COMMANDS.values()])[0], self._chance.choice(projects))

    def _do(self, command: str, project: dict[str, Any]) -> None:
        path = f"/api/projects/{project['id']}"
        if command == "list":
            return
        if command in {"start", "stop", "restart"}:
            answer = control(self._client, project["id"], command)
        elif command == "patch":
            answer = self._client.send("PATCH", path, {"name": f"Soak {self._chance.randrange(1000)}"})
        elif command == "delete":
            answer = self._client.send("DELETE", path)
        else:
            below = {"detail": "", "follow": "/logs?follow=true", "events": "/events"}[command]
            answer = self._client.send("GET", path + below)
        self._note(command, answer)

    def _note(self, command: str, answer: Answer) -> Answer:
        self.sent[command] += 1
        self.refused[command] += answer.status >= 400
        # What was read before may be gone meanwhile.
        if answer.status != 404:
            self.wrong += find_wrong(command, answer, mutes=False)
        return answer

    def leave(self) -> None:
        """Deletes everything."""
        for project in self._client.send("GET", "/api/projects").json:
            self._client.send("DELETE", f"/api/projects/{project['id']}")

    def has_nothing(self) -> bool:
        return not self._client.send("GET", "/api/projects").json
