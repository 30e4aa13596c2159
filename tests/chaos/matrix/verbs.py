"""One request of each kind, about projects of their own, and what must be true of every answer."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from tests.chaos.database.requests import Answer, Client
from tests.chaos.matrix.installation import KEY, Installation

VERBS = ("create", "start", "stop", "restart", "delete", "patch", "read", "follow")
TARGETS = tuple(verb for verb in VERBS if verb != "create")

FORESEEN = {200, 201, 202, 204, 302, 409, 429, 502, 503}
WITHIN = 30.0
"""Seconds for an answer."""
RETRIES_WITHIN = 60.0
OVERTAKEN = {"operation_in_progress", "superseded"}
"""Codes of a 409 that says that another operation was first, such as a repair by the watcher."""


def control(client: Client, project: str, action: str) -> Answer:
    return client.send("POST", f"/api/projects/{project}/control", {"action": action})


def insist(send: Callable[[], Answer], until: float) -> Answer:
    """Repeats a refused request as clients are told to, and no longer than until that moment of the clock."""
    while may_repeat(answer := send()) and time.monotonic() < until:
        time.sleep(min(int(answer.headers.get("retry-after", "1")), 1.0))
    return answer


def may_repeat(answer: Answer) -> bool:
    return answer.status == 503 or (answer.status == 409 and answer.json.get("code") in OVERTAKEN)


def make_targets(installation: Installation, client: Client) -> dict[str, str]:
    """Returns the ids of the projects that the verbs use. The one to be started does not run."""
    made = {}
    for verb in TARGETS:
        create = partial(client.send, "POST", "/api/projects", installation.new_body(verb))
        answer = insist(create, time.monotonic() + RETRIES_WITHIN)
        assert answer.status == 201, answer
        made[verb] = str(answer.json["id"])
    stopped = control(client, made["start"], "stop")
    assert stopped.status == 200, stopped
    return made


def calls(installation: Installation, client: Client, targets: Mapping[str, str]) -> dict[str, Callable[[], Answer]]:
    path = {verb: f"/api/projects/{project}" for verb, project in targets.items()}
    change = {"name": "Renamed", "telegramToken": installation.new_body("")["telegramToken"], "apiKey": KEY}
    return {
        "create": partial(client.send, "POST", "/api/projects", installation.new_body("create")),
        **{verb: partial(control, client, targets[verb], verb) for verb in ("start", "stop", "restart")},
        "delete": partial(client.send, "DELETE", path["delete"]),
        "patch": partial(client.send, "PATCH", f"{path['patch']}?restart=true", change),
        "read": partial(client.send, "GET", path["read"]),
        "follow": partial(client.send, "GET", f"{path['follow']}/logs?follow=true"),
    }


class Sent:
    """All verbs, sent at once."""

    def __init__(self, installation: Installation, client: Client, targets: Mapping[str, str]) -> None:
        wanted = calls(installation, client, targets)
        assert set(wanted) == set(VERBS)
        self._pool = ThreadPoolExecutor(len(wanted))
        together = threading.Barrier(len(wanted))

        def send(call: Callable[[], Answer]) -> Answer:
            together.wait()
            return call()

        self._answers: dict[str, Future[Answer]] = {
            verb: self._pool.submit(send, call) for verb, call in wanted.items()
        }

    def answers(self) -> dict[str, Answer]:
        """Waits for all of them."""
        with self._pool:
            return {verb: answer.result() for verb, answer in self._answers.items()}


def find_wrong(verb: str, answer: Answer, *, mutes: bool, slower_by: float = 0.0) -> list[str]:
    """Returns what is wrong with an answer that was given during a fault."""
    wrong = []
    if answer.status not in FORESEEN and not (mutes and answer.status == 0):
        wrong.append(f"{verb}: status {answer.status} {answer.text[:300]}")
    if answer.seconds > WITHIN + slower_by:
        wrong.append(f"{verb}: {answer.seconds:.1f} s")
    if answer.status >= 400:
        wrong += _find_wrong_in_refusal(verb, answer)
    return wrong


def _find_wrong_in_refusal(verb: str, answer: Answer) -> list[str]:
    if answer.headers.get("content-type") != "application/problem+json":
        return [f"{verb}: {answer.status} without a problem document: {answer.text[:300]}"]
    problem: dict[str, Any] = answer.json
    wrong = []
    if answer.status in {429, 503} and not answer.headers.get("retry-after", "").isdecimal():
        wrong.append(f"{verb}: no Retry-After")
    if not (problem.get("code") and problem.get("detail")):
        wrong.append(f"{verb}: nothing is explained in {answer.text}")
    return wrong
