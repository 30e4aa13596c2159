"""The rows of the table for commands: each verb of the API against the same by hand on the engine, some at a time."""

import statistics
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

from containers.docker.secrets import pack_secrets
from tests.benchmarks.deploy import Raw
from tests.benchmarks.harness import Client, Server, median_ratio, print_row, timed

VERBS = ("deploy", "stop", "start", "restart", "delete")


@dataclass
class Took:
    """Milliseconds of each verb, by hand and by the API, in pairs."""

    raw: dict[str, list[float]] = field(default_factory=lambda: {verb: [] for verb in VERBS})
    ours: dict[str, list[float]] = field(default_factory=lambda: {verb: [] for verb in VERBS})


def report(server: Server, raw: Raw, *, rounds: int, at_once: list[int], others: list[int]) -> None:
    """`others`: how many other containers exist. `at_once`: how many commands of the same verb run at a time."""
    raw.prepare(server)
    print_row("command", "at a time", "others", "raw ms", "API ms", "÷ raw")
    for count in others:
        raw.surround(count)
        for clients in at_once:
            took = measure(server, raw, rounds=rounds, clients=clients)
            for verb in VERBS:
                middle = (statistics.median(each[verb]) for each in (took.raw, took.ours))
                print_row(verb, clients, count, *(f"{value:.0f}" for value in middle), _ratio(took, verb))
    raw.clean_up()


def _ratio(took: Took, verb: str) -> str:
    ours, raw = took.ours[verb], took.raw[verb]
    if len(ours) < 2:
        return f"{ours[0] / raw[0]:.2f}"
    return "{1:.2f} ({0:.2f}-{2:.2f})".format(*median_ratio(ours, raw))


def measure(server: Server, raw: Raw, *, rounds: int, clients: int) -> Took:
    """In turn: all clients by hand, then all through the API."""
    took = Took()
    connected = server.connect_users(clients)
    for _ in range(rounds):
        together([partial(by_hand, raw, number, took.raw) for number in range(clients)])
        together([partial(by_api, client, took.ours) for client in connected])
    return took


def together(acts: list[Callable[[], None]]) -> None:
    """Raises the first error of them."""
    errors: list[BaseException] = []

    def run(act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - the boundary of the thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=[act]) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def by_hand(raw: Raw, number: int, took: dict[str, list[float]]) -> None:
    """Creates a new container where the API does. The credentials are delivered each time."""
    name = f"{raw.mark}-{number}"
    engine = raw.client

    def remove() -> None:
        engine.remove_container(name, force=True)
        engine.remove_volume(f"{name}-secrets", force=True)

    def deploy() -> None:
        raw.create(name)
        engine.put_archive(name, "/run/secrets", pack_secrets(raw.spec.secrets, group=raw.spec.user))
        engine.start(name)

    def stop() -> None:
        engine.stop(name, timeout=10)

    acts: dict[str, list[Callable[[], None]]] = {
        "deploy": [deploy], "stop": [stop], "start": [remove, deploy], "restart": [stop, remove, deploy],
        "delete": [stop, remove, lambda: engine.remove_volume(f"{name}-data", force=True)],
    }  # fmt: skip
    for verb in VERBS:
        took[verb].append(timed(partial(_do_all, acts[verb]))[0])


def _do_all(steps: list[Callable[[], None]]) -> None:
    for step in steps:
        step()


def by_api(client: Client, took: dict[str, list[float]]) -> None:
    client.connect_anew()
    token = f"{uuid4().int % 10**15}:bench"
    body = {"name": "bench", "type": "stub", "plan": "bench", "telegramToken": token, "apiKey": "sk-bench"}

    def ask(verb: str, method: str, path: str, body: Any, *expected: int) -> Any:
        milliseconds, answer = timed(lambda: client.ask(method, path, body, *expected))
        took[verb].append(milliseconds)
        return answer

    path = f"/api/projects/{ask('deploy', 'POST', '/api/projects', body, 201)['id']}"
    for action in VERBS[1:4]:
        ask(action, "POST", f"{path}/control", {"action": action}, 200)
    ask("delete", "DELETE", path, None, 202, 204)  # 202: the watcher goes on with it
